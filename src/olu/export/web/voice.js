// A voice that speaks: text to ids by reading.js, ids to sound by onnxruntime-web. It runs in a worker, or in node.
import { begun } from "./engine.js"; // latents.js or mel.js, by the voice
import { cut, run, spans, tensors } from "./frames.js";

const FADE_SECONDS = 0.01, LIMITS = { speed: [0.25, 4], pause: [0, 60] };
export const WISHES = ["speed", "pause", "seed", "speaker", "plain", "quick"]; // of every voice; facts.knobs has its own

export class Voice {
  /** `files`: async (name) -> bytes; `ort`: onnxruntime-web; reading.js has been run before. */
  static async open(files, ort) {
    const json = async (name) => JSON.parse(new TextDecoder().decode(await files(name)));
    const [facts, reading] = await Promise.all([json("voice.json"), json("reading.json")]);
    if (facts.format !== "olu-web/1") throw new Error(`this voice is of the format ${facts.format}, and olu-web/1 is known here: export it again`);
    const sessions = {};
    for (const [name, file] of Object.entries(facts.graphs)) sessions[name] = await ort.InferenceSession.create(await files(file), { executionProviders: ["wasm"], graphOptimizationLevel: name === "decoder" ? "all" : "basic" });
    return new Voice(facts, globalThis.OluReading.open(reading), sessions, ort);
  }

  constructor(facts, reading, sessions, ort) { Object.assign(this, { facts, reading, sessions, ort, rate: facts.rate }); }

  settled(wishes) {
    const { knobs, tones, speakers } = this.facts, numbers = { ...LIMITS, ...Object.fromEntries(Object.entries(knobs).map(([name, { low, high }]) => [name, [low, high]])) };
    const known = [...WISHES, ...Object.keys(knobs), ...(tones.length > 1 ? ["tones"] : [])];
    for (const name of Object.keys(wishes)) if (!known.includes(name)) throw new Error(`a voice cannot be asked for ${name}: choose ${known.join(", ")}`);
    const made = { speed: 1, pause: 0.25, seed: 0, plain: false, quick: true, tones: tones[0], speaker: speakers[0] };
    for (const [name, knob] of Object.entries(knobs)) made[name] = knob.default;
    for (const [name, value] of Object.entries(wishes)) if (value !== undefined && value !== null) made[name] = value;
    for (const [name, [low, high]] of Object.entries(numbers)) {
      if (typeof made[name] !== "number") throw new Error(`${name} ${made[name]} is no number: choose ${low} to ${high}`);
      if (!(made[name] >= low && made[name] <= high)) throw new Error(`${name} ${made[name]} is out of reach: choose ${low} to ${high}`);
    }
    if (!tones.includes(made.tones)) throw new Error(`tones ${made.tones} are not known: choose ${tones.join(" or ")}`);
    if (!Number.isSafeInteger(made.seed) || made.seed < 0) throw new Error(`seed ${made.seed} is no whole number: choose 0 or more`);
    made.who = speakers.indexOf(made.speaker);
    if (made.who < 0) throw new Error(`no speaker ${made.speaker} in this voice; it has: ${speakers.join(", ")}`);
    return made;
  }

  /** Pieces of sound as soon as they are made: { samples, sentence, last, final }. */
  async *stream(text, wishes = {}) {
    const manner = this.settled(wishes), lines = this.reading.read(text, manner.plain);
    let line = lines.next().value, number = 0, clock = 0;
    if (!line || !line.ids.length) throw new Error("nothing in the text can be said by this voice: check text and language");
    while (line && line.ids.length) {
      const before = new Float32Array(number === 0 ? Math.round((line.pause ?? 0) * this.rate) : 0), start = (clock + before.length) / this.rate;
      const following = lines.next().value, pause = following ? following.pause ?? manner.pause : 0;
      let begins = true;
      for await (const { wave, sentence, ends } of this.say(line, number, start, manner)) {
        const sound = faded(wave, this.rate, begins, ends), after = new Float32Array(ends ? Math.round(pause * this.rate) : 0);
        const samples = joined(begins ? [before, sound, after] : [sound, after]);
        clock += samples.length;
        begins = false;
        yield { samples: samples.map((one) => Math.min(1, Math.max(-1, one))), sentence, last: ends, final: ends && !(following && following.ids.length) };
      }
      line = following;
      number++;
    }
  }

  async speak(text, wishes = {}) {
    const parts = [];
    for await (const piece of this.stream(text, { quick: false, ...wishes })) parts.push(piece.samples);
    return joined(parts);
  }

  async *say(line, number, start, manner) {
    const { ort } = this, { hop, context } = this.facts, { floats, whole } = tensors(ort), frame = hop / this.rate;
    const { durations, frames, feeds, notes, ready } = await begun(this, line, number, manner), ends = [0];
    for (const one of durations) ends.push(ends[ends.length - 1] + one);
    const words = line.words.filter(([, first, last]) => last > first).map(([text, first, last]) => ({ text, start: start + ends[first] * frame, end: start + ends[last] * frame }));
    const sentence = { number, text: line.text, start, end: start + frames * frame, words, dropped: line.dropped, notes };
    for (const [from, to] of spans(frames, frame, { context, quick: manner.quick, heard: number ? start : 0 })) {
      const left = Math.max(0, from - context), right = Math.min(frames, to + context), size = right - left, given = { speaker: whole([manner.who], [1]) };
      await ready(right);
      for (const [name, [data, rows]] of Object.entries(feeds)) given[name] = floats(cut(data, Math.max(1, rows), frames, left, right), rows ? [1, rows, size] : [1, size]);
      const { data } = Object.values(await run(this.sessions.decoder, given))[0];
      yield { wave: Float32Array.from(data.subarray((from - left) * hop, (to - left) * hop)), sentence, ends: to === frames };
    }
  }
}

function faded(samples, rate, begins, ends) {
  const size = Math.min(Math.round(FADE_SECONDS * rate), samples.length);
  for (let at = 0; at < size; at++) {
    const ramp = Math.fround((at + 0.5) / size);
    if (begins) samples[at] *= ramp;
    if (ends) samples[samples.length - 1 - at] *= ramp;
  }
  return samples;
}

function joined(parts) {
  const made = new Float32Array(parts.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const one of parts) { made.set(one, at); at += one.length; }
  return made;
}
