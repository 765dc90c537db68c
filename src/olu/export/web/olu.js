// A page's side of the voice: const voice = await openVoice(); await voice.speak("...").

export async function openVoice(folder = new URL("./", import.meta.url)) {
  const worker = new Worker(new URL("worker.js", folder), { type: "module" });
  const waiting = new Map();
  let number = 0;
  const facts = await new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || "the voice's worker could not be loaded"));
    worker.onmessage = ({ data }) => {
      if (data.ready) resolve(data.ready);
      else if (data.id === undefined) reject(new Error(data.failed));
      else waiting.get(data.id)?.(data);
    };
  });

  /** Pieces of sound, { samples, sentence: { text, start, end, words }, last, final }, as soon as they are made. */
  async function* stream(text, wishes = {}) {
    const id = number++, pieces = [];
    let wake, done = false, failed = null;
    waiting.set(id, ({ piece, ended, failed: why }) => {
      if (piece) pieces.push(piece);
      done = done || !!ended || !!why;
      failed = why ?? failed;
      wake?.();
    });
    worker.postMessage({ id, text, wishes });
    try {
      for (;;) {
        if (pieces.length) yield pieces.shift();
        else if (failed) throw new Error(failed);
        else if (done) return;
        else await new Promise((resolve) => { wake = resolve; });
      }
    } finally {
      waiting.delete(id);
      if (!done) worker.postMessage({ stop: id });
    }
  }

  /** Plays a text and calls `onWord` as each word is heard; ends when the sound does. */
  async function speak(text, { onWord, context = new AudioContext(), ...wishes } = {}) {
    await context.resume();
    let at = 0, begun = 0;
    const timers = [];
    for await (const { samples, sentence, last } of stream(text, wishes)) {
      const buffer = new AudioBuffer({ length: Math.max(1, samples.length), sampleRate: facts.rate }), source = new AudioBufferSourceNode(context, { buffer });
      buffer.copyToChannel(samples, 0);
      if (!begun) begun = at = context.currentTime + 0.05;
      at = Math.max(at, context.currentTime);
      source.connect(context.destination);
      source.start(at);
      at += samples.length / facts.rate;
      if (onWord && last) for (const word of sentence.words) timers.push(setTimeout(onWord, Math.max(0, (begun + word.start - context.currentTime) * 1000), word));
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, (at - context.currentTime) * 1000)));
    return timers.length;
  }

  return { facts, stream, speak, close: () => worker.terminate() };
}
