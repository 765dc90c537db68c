// VITS: one network reads the tokens and draws latents, another makes sound of them.
import { Random } from "./random.js";
import { framed, pulses, run, tensors } from "./frames.js";

const FRAMES_PER_TOKEN = 16, MOST_STRETCHING = 16;

/** Lengths of a line, and what the decoder is fed: name -> [numbers, rows a frame; 0: a plain row]. */
export async function begun({ facts, sessions, ort, rate }, { ids }, number, manner) {
  const { hop, channels } = facts, { floats, whole } = tensors(ort), random = new Random(manner.seed, number), size = ids.length;
  const stretch = facts.length_scale / manner.speed, room = Math.ceil(FRAMES_PER_TOKEN * size * Math.min(MOST_STRETCHING, Math.max(1, stretch)));
  const one = (value) => floats([value], []), drawn = (rows, width) => floats(random.normals(rows * width), [1, rows, width]);
  const made = await run(sessions.encoder, {
    ids: whole(ids, [1, size]), duration_noise: drawn(2, size), noise: drawn(channels, room),
    noise_scale: one(manner.noise), duration_noise_scale: one(manner.duration_noise), length_scale: one(stretch), speaker: whole([manner.who], [1]),
  });
  const feeds = { latents: [made.latents.data, channels] };
  if (made.contour) {
    const contour = Float32Array.from(made.contour.data), voicing = Float32Array.from(made.voicing.data);
    const pulse = pulses(contour, voicing, hop, rate), noise = new Random(manner.seed, number, 1).normals(pulse.length);
    Object.assign(feeds, { contour: [contour, 0], voicing: [voicing, 0], source: [framed(pulse, hop), hop], noise: [framed(noise, hop), hop] });
  }
  return { durations: Array.from(made.durations.data, Number), frames: made.latents.dims[2], feeds, notes: [], ready: async () => {} };
}
