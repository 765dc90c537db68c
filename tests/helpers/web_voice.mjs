// node web_voice.mjs PAGE < { runs: { graph: [[feeds, made], …] }, text, wishes }: speaks with recorded networks and
// writes what voice.js fed them, and what it made of their answers.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const page = process.argv[2], here = (name) => `${page}/${name}`, asked = JSON.parse(readFileSync(0, "utf8"));
await import(pathToFileURL(here("reading.js")));
const { Voice } = await import(pathToFileURL(here("voice.js")));
const arrays = { float32: Float32Array, int64: BigInt64Array };
const plain = (tensor) => [tensor.dims, Array.from(tensor.data, Number)];
const fed = {};

class Tensor {
  constructor(type, data, dims) {
    if (!(data instanceof arrays[type]) || data.length !== dims.reduce((a, b) => a * b, 1)) throw new Error(`no ${type} of ${dims}`);
    Object.assign(this, { type, data, dims });
  }
}
const ort = {
  Tensor,
  InferenceSession: {
    async create(name) {
      const runs = asked.runs[name], left = [...runs];
      fed[name] = [];
      return {
        inputNames: Object.keys(runs[0]?.[0] ?? {}),
        async run(feeds) {
          fed[name].push(Object.fromEntries(Object.entries(feeds).map(([key, tensor]) => [key, plain(tensor)])));
          return Object.fromEntries(Object.entries(left.shift()[1]).map(([key, [dims, data]]) => [key, new Tensor("float32", Float32Array.from(data), dims)]));
        },
      };
    },
  },
};
const voice = await Voice.open(async (name) => name.endsWith(".onnx") ? name.slice(0, -5) : readFileSync(here(name)), ort);
const pieces = [];
let failed = null;
try {
  for await (const piece of voice.stream(asked.text, asked.wishes)) pieces.push({ ...piece, samples: Array.from(piece.samples) });
} catch (error) { failed = error.message; }
process.stdout.write(JSON.stringify({ fed, pieces, failed }));
