// What engines share: arrays frame by frame, the chunks they are cut into, and the source of a vocoder.

const FIRST_SECONDS = 0.25, GROWTH = 3, MOST_SECONDS = 4.0, LEAST_SECONDS = 0.1;

/** Runs a network on what it asks for of `feeds`. */
export function run(session, feeds) {
  return session.run(Object.fromEntries(session.inputNames.filter((name) => feeds[name]).map((name) => [name, feeds[name]])));
}

/** Makes tensors: of numbers with a fraction, of whole ones. */
export const tensors = (ort) => ({
  floats: (data, dims) => new ort.Tensor("float32", data instanceof Float32Array ? data : Float32Array.from(data), dims),
  whole: (data, dims) => new ort.Tensor("int64", BigInt64Array.from(data, (one) => BigInt(one)), dims),
});

export function* spans(frames, frame, { context, quick, heard }) {
  const inFrames = (seconds) => Math.max(1, rounded(seconds / frame)), most = inFrames(MOST_SECONDS), least = inFrames(LEAST_SECONDS);
  let start = 0, size = quick ? inFrames(Math.min(MOST_SECONDS, Math.max(FIRST_SECONDS, (GROWTH - 1) * heard))) : most;
  while (start < frames) {
    const end = context === null || frames - (start + size) < least ? frames : start + size;
    yield [start, end];
    start = end;
    size = Math.min(size * GROWTH, most);
  }
}

export function rounded(x) { const low = Math.floor(x), rest = x - low; return rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low; } // as Python does

/** Frames left to right of every row. */
export function cut(data, rows, frames, left, right) {
  const made = new Float32Array(rows * (right - left));
  for (let row = 0; row < rows; row++) made.set(data.subarray(row * frames + left, row * frames + right), row * (right - left));
  return made;
}

export function framed(wave, hop) { // samples [F * hop] as [hop, F]
  const frames = wave.length / hop, made = new Float32Array(wave.length);
  for (let at = 0; at < wave.length; at++) made[(at % hop) * frames + Math.floor(at / hop)] = wave[at];
  return made;
}

/** Straight lines through (places, values), flat before and after; places rise. */
export function line(places, values) {
  let at = 0;
  return (x) => {
    if (x <= places[0]) return values[0];
    if (x >= places[places.length - 1]) return values[values.length - 1];
    if (x < places[at]) at = 0; // asked mostly from left to right
    while (x >= places[at + 1]) at++;
    return values[at] + (values[at + 1] - values[at]) / (places[at + 1] - places[at]) * (x - places[at]);
  };
}

export function pulses(contour, voicing, hop, rate) { // speak/source.py says what they are
  const centres = Float64Array.from(contour, (_, at) => at * hop + hop / 2), pitch = line(centres, contour), gates = line(centres, voicing);
  const made = new Float32Array(contour.length * hop);
  let turns = 0;
  for (let at = 0; at < made.length; at++) {
    const hertz = 2 ** pitch(at), gate = gates(at);
    turns += hertz / rate;
    if (!gate) continue;
    const half = Math.PI * (turns - rounded(turns)), count = Math.floor(rate / 2 / hertz), under = Math.sin(half);
    made[at] = gate * (Math.abs(under) < 1e-5 ? count : (Math.sin((2 * count + 1) * half) / under - 1) / 2) * Math.sqrt(2 / count);
  }
  return made;
}
