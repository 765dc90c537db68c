// An acoustic model and a vocoder: tokens, then lengths and pitch as plain numbers, then a mel, then sound.
import { Random } from "./random.js";
import { cut, framed, line as through, pulses, rounded, run, tensors } from "./frames.js";

const MOST_LOG_FRAMES = 6, VOICED = 0.5, SLOWEST = 0.25, FASTEST = 4, PIECE_SECONDS = 8, PAUSE_SECONDS = 0.15, BARELY = 0.02, ROUNDS = 50;
const within = (x, low, high) => Math.min(high, Math.max(low, x)), plain = (x) => Number.isNaN(x) ? 0 : x;

/** Lengths of a line, and what the decoder is fed: name -> [numbers, rows a frame; 0: a plain row]. */
export async function begun({ facts, sessions, ort, rate }, line, number, manner) {
  const { hop } = facts, { floats, whole } = tensors(ort), random = new Random(manner.seed, number), size = line.ids.length, speaker = whole([manner.who], [1]);
  const asked = { ids: line.ids, tones: Array(size).fill(0), stress: Array(size).fill(0), gaps: line.ids.map((id) => facts.gaps[id]), ...line.streams };
  const read = await run(sessions.text, { ...Object.fromEntries(Object.entries(asked).map(([name, row]) => [name, whole(row, [1, size])])), speaker });
  const { durations, contour, heard, notes } = lengthsAndPitch(facts, line, read, manner), total = contour.length;
  const found = await run(sessions.mean, { hidden: read.hidden, frames: whole(durations, [1, size]), contour: floats(contour, [1, total]), speaker });
  const rows = found.mel.dims[1], steps = sessions.step ? rounded(manner.steps ?? 0) : 0;
  const mel = steps ? random.normals(rows * total).map((one) => one * Math.fround(manner.temperature ?? 1)) : Float32Array.from(found.mel.data);
  const voiced = found.voicing ? Array.from(found.voicing.data) : durations.flatMap((frames, at) => Array(frames).fill(heard[at] ? 1 : 0));
  const voicing = Float32Array.from(voiced, (one) => one >= VOICED ? 1 : 0);
  const feeds = { mel: [mel, rows], contour: [contour, 0], voicing: [voicing, 0] }, wanted = sessions.decoder.inputNames;
  if (wanted.includes("source")) feeds.source = [framed(pulses(contour, voicing, hop, rate), hop), hop];
  if (wanted.includes("noise")) feeds.noise = [random.normals(facts.noise_rows * total), facts.noise_rows];
  const ends = pieces(facts, line.ids, durations, hop / rate);
  let done = 0;
  const ready = async (frames) => { // a long sentence is refined piece by piece, as it is heard
    while (steps && done < Math.min(total, frames)) done = await refine(done, ends.shift());
  };
  const refine = async (start, end) => {
    const width = end - start, part = (tensor) => floats(cut(tensor.data, tensor.dims[1], total, start, end), [1, tensor.dims[1], width]);
    const here = { mel: part(found.mel), ...(found.states && { states: part(found.states) }), speaker };
    let piece = cut(mel, rows, total, start, end), last;
    for (let at = 0; at < steps; at++) {
      last = await run(sessions.step, { ...here, x: floats(piece, [1, rows, width]), time: floats([at / steps], [1]) });
      piece = piece.map((one, place) => one + Math.fround(last.velocity.data[place] / steps));
    }
    const kept = last.ended ? last.ended.data : piece;
    for (let row = 0; row < rows; row++) mel.set(kept.subarray(row * width, (row + 1) * width), row * total + start);
    return end;
  };
  return { durations, frames: total, feeds: Object.fromEntries(Object.entries(feeds).filter(([name]) => wanted.includes(name))), notes, ready };
}

function lengthsAndPitch(facts, { ids, words, prosody, streams }, read, manner) {
  const gap = ids.map((id) => facts.gaps[id]), pause = read.pause?.data, logs = read.log_frames.data;
  const silent = (at) => pause && gap[at] && 1 / (1 + Math.exp(-pause[at])) < facts.threshold;
  const lengths = ids.map((id, at) => silent(at) ? 0 : Math.min(Math.exp(plain(Math.min(logs[at], MOST_LOG_FRAMES))), facts.longest[id]));
  const pace = Array(ids.length).fill(manner.speed), tokens = prosody.map(([one, two, contour, faster]) => [words[one][1], words[two - 1][2], contour, faster]);
  for (const [first, last, , faster] of tokens) for (let at = first; at < last; at++) pace[at] *= faster;
  const durations = wholeFrames(lengths.map((size, at) => size / within(pace[at], SLOWEST, FASTEST)), gap.map((one) => pause && one ? 0 : 1));
  const starts = [0], heard = ids.map((id) => facts.heard[id]), notes = [];
  for (const frames of durations) starts.push(starts[starts.length - 1] + frames);
  const total = starts[ids.length];
  if (!facts.plans) return { durations, heard, notes, contour: new Float32Array(total) };
  const each = read.knots.dims[2], place = (at, knot) => starts[at] + durations[at] * (knot + 0.5) / each;
  const knots = ids.map((_, at) => Array.from({ length: each }, (_, knot) => 12 * read.knots.data[at * each + knot] + (manner.pitch ?? 0)));
  for (const [first, last, contour] of tokens) {
    const points = [...contour].sort(([a, x], [b, y]) => a - b || x - y), wide = Math.max(1, starts[last] - starts[first]);
    const higher = through(points.map(([share]) => share), points.map(([, semitones]) => semitones));
    for (let at = first; at < last; at++) for (let knot = 0; knot < each; knot++) knots[at][knot] += higher((place(at, knot) - starts[first]) / wide);
  }
  if (manner.tones === "strict") notes.push(...pushApart(facts, knots, words, streams.tones ?? [], ids.map((_, at) => heard[at] && durations[at] > 0)));
  const [low, high] = facts.ranges[manner.who], places = [], values = [], any = ids.some((_, at) => heard[at] && durations[at]);
  let kept = 0;
  for (let at = 0; at < ids.length; at++) {
    const wanted = knots[at].map((one) => 2 ** (within(plain(one), 0, 240) / 12)), hertz = wanted.map((one) => rounded(within(one, low, high) * 100) / 100);
    if (!durations[at] || (any && !heard[at])) continue;
    places.push(...hertz.map((_, knot) => place(at, knot)));
    values.push(...hertz.map(Math.log2));
    kept += heard[at] && hertz.some((one, knot) => Math.abs(Math.log2(wanted[knot] / one)) > 0.01);
  }
  if (kept) notes.push(`the pitch of ${kept} sound${kept === 1 ? "" : "s"} was kept within ${low.toFixed(0)} to ${high.toFixed(0)} Hz`);
  const pitch = through(places, values);
  return { durations, heard, notes, contour: Float32Array.from({ length: total }, (_, at) => pitch(at + 0.5)) };
}

function wholeFrames(wanted, least) { // what rounding takes or gives goes on to the next token
  let at = 0, sum = 0;
  const made = wanted.map((size, token) => {
    const end = Math.max(at + least[token], rounded(sum += size)), frames = end - at;
    at = end;
    return frames;
  });
  if (!at && made.length) made[0] = 1; // nothing at all would be heard
  return made;
}

function pieces(facts, ids, durations, frame) { // where they end: in the middle of pauses
  const most = rounded(PIECE_SECONDS / frame), found = [], cuts = [];
  let sum = 0, start = 0;
  durations.forEach((frames, at) => {
    sum += frames;
    if (facts.gaps[ids[at]] && frames * frame >= PAUSE_SECONDS) cuts.push(sum - Math.floor(frames / 2));
  });
  const inside = cuts.filter((place) => place > 0 && place < sum);
  inside.forEach((place, at) => { if ((inside[at + 1] ?? sum) - start > most) { found.push(place); start = place; } });
  return [...found, sum];
}

/** Moves knots until every written step between unequal tones is as large as it must be; both sides give way by half. */
function pushApart(facts, knots, words, tones, used) {
  const named = (token) => facts.tone_names[tones[token] - 1], steps = [];
  for (const [, first, last] of words) {
    const bearers = [];
    for (let token = first; token < last; token++) if (tones[token]) bearers.push(token);
    for (let at = 1; at < bearers.length; at++) {
      const [one, two] = [bearers[at - 1], bearers[at]], range = facts.tone_steps[`${named(one)},${named(two)}`];
      if (range) steps.push([one, two, range[0] ?? -Infinity, range[1] ?? Infinity]);
    }
  }
  const height = knots.map((row) => { const sorted = [...row].sort((a, b) => a - b), half = sorted.length >> 1; return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2; });
  const shift = height.map(() => 0), pushed = new Set(), unequal = steps.filter(([one, two, low, high]) => used[one] && used[two] && !(low < 0 && high > 0));
  for (let round = 0, moved = true; moved && round < ROUNDS; round++) {
    moved = false;
    for (const step of unequal) {
      const [one, two, low, high] = step, size = height[two] + shift[two] - height[one] - shift[one], lacks = within(size, low, high) - size;
      if (Math.abs(lacks) <= BARELY) continue;
      shift[one] -= lacks / 2;
      shift[two] += lacks / 2;
      pushed.add(step);
      moved = true;
    }
  }
  const ends = new Set(unequal.flatMap(([one, two]) => [one, two])), moved = [...shift];
  for (const [, first, last] of words) {
    const fixed = [];
    for (let token = first; token < last; token++) if (ends.has(token)) fixed.push(token);
    if (!fixed.length) continue;
    const between = through(fixed, fixed.map((token) => shift[token]));
    for (let token = first; token < last; token++) moved[token] = between(token);
  }
  knots.forEach((row, token) => row.forEach((_, knot) => { row[knot] += moved[token]; }));
  return steps.length ? [`written tone steps pushed apart: ${pushed.size} of ${steps.length}`] : [];
}
