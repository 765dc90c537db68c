// The voice in a thread of its own. It is sent { id, text, wishes } or { stop: id } and answers with pieces.
import "./reading.js";
import * as ort from "./ort.js";
import { Voice } from "./voice.js";

const here = (name) => new URL(name, import.meta.url).href;
ort.env.wasm.numThreads = 1; // more would need a server that sends special headers
ort.env.wasm.wasmPaths = { mjs: here("ort-wasm.js"), wasm: here("ort.wasm") };

const opened = Voice.open(async (name) => {
  const answer = await fetch(here(name));
  if (!answer.ok) throw new Error(`${name} is not there (${answer.status}): copy the whole folder`);
  return new Uint8Array(await answer.arrayBuffer());
}, ort);
const stopped = new Set();
let turn = Promise.resolve();

opened.then(({ facts }) => postMessage({ ready: facts }), (error) => postMessage({ failed: error.message }));
onmessage = ({ data }) => {
  if (data.stop !== undefined) stopped.add(data.stop);
  else turn = turn.then(() => say(data)); // one text after the other
};

async function say({ id, text, wishes }) {
  try {
    for await (const piece of (await opened).stream(text, wishes)) {
      if (stopped.delete(id)) return postMessage({ id, ended: true });
      postMessage({ id, piece }, [piece.samples.buffer]);
    }
    postMessage({ id, ended: true });
  } catch (error) {
    postMessage({ id, failed: error.message });
  }
}
