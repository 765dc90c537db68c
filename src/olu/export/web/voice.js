// A voice that speaks: text to ids by reading.js, ids to sound by onnxruntime-web. It runs in a worker, or in node.
import { Random } from "./random.js";

const FIRST_SECONDS = 0.25, GROWTH = 3, MOST_SECONDS = 4.0, LEAST_SECONDS = 0.1, FADE_SECONDS = 0.01;
const FRAMES_PER_TOKEN = 16, MOST_STRETCHING = 16;
const LIMITS = { speed: [0.25, 4], pause: [0, 60], noise: [0, 2], duration_noise: [0, 2] };
export const KNOBS = ["speed", "pause", "noise", "duration_noise", "seed", "speaker", "plain", "quick"];

export class Voice {
  /** `files`: async (name) -> bytes; `ort`: onnxruntime-web; reading.js has been run before. */
  static async open(files, ort) {
    const json = async (name) => JSON.parse(new TextDecoder().decode(await files(name)));
    const [facts, reading] = await Promise.all([json("voice.json"), json("reading.json")]);
    if (facts.format !== "olu-web/1") throw new Error(`this voice is of the format ${facts.format}, and olu-web/1 is known here: export it again`);
    const sessions = {};
    for (const [name, file] of Object.entries(facts.graphs)) sessions[name] = await ort.InferenceSession.create(await files(file), { executionProviders: ["wasm"], graphOptimizationLevel: name === "encoder" ? "basic" : "all" });
    return new Voice(facts, globalThis.OluReading.open(reading), sessions, ort);
  }

  constructor(facts, reading, sessions, ort) { Object.assign(this, { facts, reading, sessions, ort, rate: facts.rate }); }

  settled(wishes) {
    for (const name of Object.keys(wishes)) if (!KNOBS.includes(name)) throw new Error(`a voice cannot be asked for ${name}: choose ${KNOBS.join(", ")}`);
    const made = { speed: 1, pause: 0.25, noise: this.facts.noise, duration_noise: this.facts.duration_noise, seed: 0, plain: false, quick: true, speaker: this.facts.speakers[0] };
    for (const [name, value] of Object.entries(wishes)) if (value !== undefined && value !== null) made[name] = value;
    for (const [name, [low, high]] of Object.entries(LIMITS)) if (!(made[name] >= low && made[name] <= high)) throw new Error(`${name} ${made[name]} is out of reach: choose ${low} to ${high}`);
    if (!Number.isSafeInteger(made.seed) || made.seed < 0) throw new Error(`seed ${made.seed} is no whole number: choose 0 or more`);
    made.who = this.facts.speakers.indexOf(made.speaker);
    if (made.who < 0) throw new Error(`no speaker ${made.speaker} in this voice; it has: ${this.facts.speakers.join(", ")}`);
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
    const { facts, ort } = this, { hop, channels, context } = facts;
    const made = await this.encode(line.ids, number, manner), latents = made.latents, frames = latents.dims[2];
    const durations = Array.from(made.durations.data, Number), frame = hop / this.rate, ends = [0];
    for (const one of durations) ends.push(ends[ends.length - 1] + one);
    const words = line.words.filter(([, first, last]) => last > first).map(([text, first, last]) => ({ text, start: start + ends[first] * frame, end: start + ends[last] * frame }));
    const sentence = { number, text: line.text, start, end: start + frames * frame, words, dropped: line.dropped };
    const feeds = { latents: [latents.data, channels] };
    if (made.contour) {
      const contour = Float32Array.from(made.contour.data), voicing = Float32Array.from(made.voicing.data);
      const pulse = pulses(contour, voicing, hop, this.rate), noise = new Random(manner.seed, number, 1).normals(pulse.length);
      Object.assign(feeds, { contour: [contour, 0], voicing: [voicing, 0], source: [framed(pulse, hop), hop], noise: [framed(noise, hop), hop] });
    }
    for (const [from, to] of spans(frames, frame, { context, quick: manner.quick, heard: number ? start : 0 })) {
      const left = Math.max(0, from - context), right = Math.min(frames, to + context), size = right - left, given = { };
      for (const [name, [data, rows]] of Object.entries(feeds)) given[name] = new ort.Tensor("float32", cut(data, Math.max(1, rows), frames, left, right), rows ? [1, rows, size] : [1, size]);
      if (this.sessions.decoder.inputNames.includes("speaker")) given.speaker = new ort.Tensor("int64", BigInt64Array.of(BigInt(manner.who)), [1]);
      const { data } = Object.values(await this.sessions.decoder.run(given))[0];
      yield { wave: Float32Array.from(data.subarray((from - left) * hop, (to - left) * hop)), sentence, ends: to === frames };
    }
  }

  async encode(ids, number, manner) {
    const { facts, ort } = this, random = new Random(manner.seed, number), size = ids.length;
    const stretch = facts.length_scale / manner.speed, frames = Math.ceil(FRAMES_PER_TOKEN * size * Math.min(MOST_STRETCHING, Math.max(1, stretch)));
    const one = (value) => new ort.Tensor("float32", Float32Array.of(value), []);
    const duration_noise = random.normals(2 * size), noise = random.normals(facts.channels * frames);
    const given = {
      ids: new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, size]),
      duration_noise: new ort.Tensor("float32", duration_noise, [1, 2, size]),
      noise: new ort.Tensor("float32", noise, [1, facts.channels, frames]),
      noise_scale: one(manner.noise), duration_noise_scale: one(manner.duration_noise), length_scale: one(stretch),
      speaker: new ort.Tensor("int64", BigInt64Array.of(BigInt(manner.who)), [1]),
    };
    const { encoder } = this.sessions;
    return encoder.run(Object.fromEntries(encoder.inputNames.map((name) => [name, given[name]])));
  }
}

function* spans(frames, frame, { context, quick, heard }) {
  const inFrames = (seconds) => Math.max(1, rounded(seconds / frame)), most = inFrames(MOST_SECONDS), least = inFrames(LEAST_SECONDS);
  let start = 0, size = quick ? inFrames(Math.min(MOST_SECONDS, Math.max(FIRST_SECONDS, (GROWTH - 1) * heard))) : most;
  while (start < frames) {
    const end = context === null || frames - (start + size) < least ? frames : start + size;
    yield [start, end];
    start = end;
    size = Math.min(size * GROWTH, most);
  }
}

function rounded(x) { const low = Math.floor(x), rest = x - low; return rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low; } // as Python does

function cut(data, rows, frames, left, right) {
  const made = new Float32Array(rows * (right - left));
  for (let row = 0; row < rows; row++) made.set(data.subarray(row * frames + left, row * frames + right), row * (right - left));
  return made;
}

function framed(wave, hop) { // samples [F * hop] as [hop, F]
  const frames = wave.length / hop, made = new Float32Array(wave.length);
  for (let at = 0; at < wave.length; at++) made[(at % hop) * frames + Math.floor(at / hop)] = wave[at];
  return made;
}

function pulses(contour, voicing, hop, rate) { // speak/source.py says what they are
  const frames = contour.length, made = new Float32Array(frames * hop);
  const between = (row, place) => { if (place <= 0) return row[0]; if (place >= frames - 1) return row[frames - 1]; const low = Math.floor(place); return row[low] + (row[low + 1] - row[low]) * (place - low); };
  let turns = 0;
  for (let at = 0; at < made.length; at++) {
    const place = (at - hop / 2) / hop, hertz = 2 ** between(contour, place), gate = between(voicing, place);
    turns += hertz / rate;
    if (!gate) continue;
    const half = Math.PI * (turns - rounded(turns)), count = Math.floor(rate / 2 / hertz), under = Math.sin(half);
    made[at] = gate * (Math.abs(under) < 1e-5 ? count : (Math.sin((2 * count + 1) * half) / under - 1) / 2) * Math.sqrt(2 / count);
  }
  return made;
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
