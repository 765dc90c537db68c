// A waveform from pairs of signed bytes, lowest and highest, as the studio makes them of a clip.
import { t } from "./t.js";

const held = new Map(); // address -> promise of peaks
const KEPT = 400;

export function peaks(address) {
  if (!held.has(address)) {
    if (held.size >= KEPT) held.delete(held.keys().next().value);
    held.set(address, fetch(address).then(async (answer) => {
      if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || t("This clip cannot be heard."));
      return new Int8Array(await answer.arrayBuffer());
    }).catch((wrong) => { held.delete(address); throw wrong; }));
  }
  return held.get(address);
}

// Draw it as wide as the canvas is; what lies outside from..to, in parts of the whole, is faint: training leaves it out.
export function draw(canvas, values, { from = 0, to = 1 } = {}) {
  const scale = globalThis.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * scale));
  const height = Math.max(1, Math.round(canvas.clientHeight * scale));
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d");
  const look = getComputedStyle(canvas);
  const ink = look.color, clipped = look.getPropertyValue("--error").trim();
  const count = values.length / 2, middle = height / 2;
  for (let x = 0; x < width; x++) {
    const first = Math.floor((x / width) * count), last = Math.max(first + 1, Math.floor(((x + 1) / width) * count));
    let low = 127, high = -127;
    for (let at = first; at < last && at < count; at++) {
      low = Math.min(low, values[2 * at]);
      high = Math.max(high, values[2 * at + 1]);
    }
    const top = middle - (high / 127) * middle, bottom = middle - (low / 127) * middle;
    pen.globalAlpha = x / width < from || x / width >= to ? 0.25 : 1;
    pen.fillStyle = high >= 127 || low <= -127 ? clipped : ink;
    pen.fillRect(x, Math.min(top, middle - scale / 2), 1, Math.max(bottom - top, scale));
  }
}
