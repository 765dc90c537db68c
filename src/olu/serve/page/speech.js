// What the page asks of the server. Addresses are relative: the page also works under a proxy's prefix.

export const RATE = 24000; // of pcm
const WAV_HEAD = 44; // bytes
const MOST_NAMED = 20; // kinds of letters
const ADDRESS = "v1/audio/speech";
const BAD_KEY = "The server does not take this key. Please check it.";

// A sentence for people, and what the page may do about it.
export class Trouble extends Error {
  constructor(message, { status = 0 } = {}) {
    super(message);
    this.status = status;
  }
}

export async function voices(key) {
  const answer = await ask("v1/audio/voices", { key });
  return await answer.json();
}

export async function file(wish, { key, signal, address = ADDRESS }) {
  const answer = await ask(address, { key, signal, wish });
  const whole = await answer.blob();
  const unsaid = JSON.parse(answer.headers.get("X-Olu-Unsaid") ?? "{}");
  return { made: wish.response_format === "wav" ? await measured(whole) : whole, unsaid };
}

// A streamed wav says nothing of its length; the file that is kept shall.
async function measured(wav) {
  const head = new DataView(await wav.slice(0, WAV_HEAD).arrayBuffer());
  head.setUint32(4, wav.size - 8, true);
  head.setUint32(WAV_HEAD - 4, wav.size - WAV_HEAD, true);
  return new Blob([head, wav.slice(WAV_HEAD)], { type: wav.type });
}

// The letters the voice does not have, in words; nothing where it has all.
export function leftOut(unsaid) {
  const rows = Object.entries(unsaid).sort(([, a], [, b]) => b - a);
  if (!rows.length) return "";
  const named = rows.slice(0, MOST_NAMED).map(([letter, count]) => (count > 1 ? `${letter} (${count} times)` : letter));
  const more = rows.length > MOST_NAMED ? ` and ${rows.length - MOST_NAMED} others` : "";
  return `Left out, because this voice has no sound for it: ${named.join(", ")}${more}.`;
}

// Yields {unsaid, count}, {samples} and {words, text, start, end, unsaid} as they come.
export async function* speech(wish, { key, signal, address = ADDRESS }) {
  const more = { response_format: "pcm", stream_format: "sse", timings: true };
  const answer = await ask(address, { key, signal, wish: { ...wish, ...more } });
  const whole = new Samples();
  for await (const event of events(answer.body, signal)) {
    if (event.error) throw new Trouble(sentence(event.error.message));
    if (event.type === "speech.audio.delta") yield { samples: whole.of(event.audio) };
    if (event.type === "speech.audio.words" || event.type === "speech.audio.unsaid") yield event;
    if (event.type === "speech.audio.done") return;
  }
  throw new Trouble("The sound broke off: the server ended the answer too early. Please try again.");
}

async function ask(address, { key, signal, wish }) {
  if (/[^\x20-\x7e]/.test(key ?? "")) throw new Trouble(BAD_KEY, { status: 401 }); // no header can hold it
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const options = { headers, signal, cache: "no-store" };
  if (wish) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(wish) });
  }
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Trouble("The server does not answer. Is it still running, and is this device in its network?");
  }
  if (answer.ok) return answer;
  throw new Trouble(await reason(answer, Boolean(key)), { status: answer.status });
}

async function reason(answer, keyed) {
  const told = await answer.json().catch(() => null);
  const message = told?.error?.message ?? (typeof told?.error === "string" ? told.error : "");
  if (answer.status === 401 || answer.status === 403)
    return keyed ? BAD_KEY : "This server wants a key. Please enter it above.";
  if (answer.status === 429) {
    const wait = Math.ceil(Number(answer.headers.get("Retry-After")) || 0);
    return `The server has too much to do. Please try again in ${wait > 1 ? `${wait} seconds` : "a moment"}.`;
  }
  if (message) return sentence(message);
  if (answer.status === 413) return "The text is too long for this server.";
  return `The server could not do this (error ${answer.status}). Please try again.`;
}

function sentence(message) {
  const text = String(message || "the server met an error").trim();
  return text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

async function* events(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (held + value).split(/\r?\n\r?\n/);
      held = blocks.pop();
      for (const block of blocks) {
        const event = data(block);
        if (event) yield event;
      }
    }
  } catch (problem) {
    if (signal?.aborted || problem instanceof Trouble) throw problem;
    throw new Trouble("The sound broke off: the connection to the server was lost. Please try again.");
  } finally {
    reader.cancel().catch(() => {});
  }
}

function data(block) {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  const text = lines.map((line) => line.slice(5).trimStart()).join("\n");
  return text && text !== "[DONE]" ? JSON.parse(text) : null;
}

// Bytes to samples; a sample may lie across two pieces.
class Samples {
  odd = new Uint8Array();

  of(base64) {
    const text = atob(base64);
    const bytes = new Uint8Array(this.odd.length + text.length);
    bytes.set(this.odd);
    for (let i = 0; i < text.length; i++) bytes[this.odd.length + i] = text.charCodeAt(i);
    const even = bytes.length - (bytes.length % 2);
    this.odd = bytes.slice(even);
    const view = new DataView(bytes.buffer);
    return Int16Array.from({ length: even / 2 }, (_, i) => view.getInt16(2 * i, true));
  }
}
