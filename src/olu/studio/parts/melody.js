// The melody of a text as curves whose dots can be dragged: a dot moves its sound, and what lies between two dots follows.

import { t } from "/parts/t.js";

const SVG = "http://www.w3.org/2000/svg";
const SECOND = 180; // pixels at least
const WIDEST = 700;
const HEIGHT = 230;
const TOP = 18;
const BOTTOM = 58;
const LEFT = 44;
const STEP = 0.5; // semitones of an arrow key
const LOWEST = 20;
const HIGHEST = 4000;

const semitones = (hertz) => 12 * Math.log2(hertz);
const hertz = (height) => Math.min(HIGHEST, Math.max(LOWEST, 2 ** (height / 12)));

function shape(kind, given, text) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export class Melody {
  constructor(box, changed) {
    Object.assign(this, { box, told: changed });
    this.clear();
  }

  clear() {
    this.row = null; // as the server knows it, with what was moved
    this.planned = null;
    this.contours = [];
    this.box.replaceChildren();
  }

  get changed() {
    return this.contours.some((one) => one.changed);
  }

  show(row) {
    this.clear();
    this.planned = structuredClone(row);
    this.row = row;
    this.contours = row.sentences.map((sentence) => new Contour(this.box, sentence, row.frame_seconds, () => this.told()));
  }

  restore() {
    const place = this.contours.map((one) => one.scroll.scrollLeft);
    this.show(structuredClone(this.planned));
    this.contours.forEach((one, i) => (one.scroll.scrollLeft = place[i]));
    this.told();
  }
}

class Contour {
  constructor(parent, sentence, frame, told) {
    Object.assign(this, { sentence, told });
    this.before = sentence.tokens.map(({ knots }) => knots.map(semitones));
    this.moved = new Map(); // token -> semitones
    this.place(frame, parent.clientWidth);
    this.scroll = document.createElement("div");
    this.scroll.className = "melody-box";
    this.svg = shape("svg", { width: this.width, height: HEIGHT, role: "group", "aria-label": t("Pitch of: {text}", { text: sentence.text }) });
    this.scroll.append(this.svg);
    parent.append(this.scroll);
    this.frame();
    this.path = shape("polyline", { class: "path" });
    this.svg.append(shape("polyline", { class: "before", points: this.points(this.before) }), this.path);
    this.dots = this.bearers.map((token) => this.dot(token));
    this.draw();
  }

  get changed() {
    return this.moved.size > 0;
  }

  // Where each sound lies, which of them are of a word, and which carry a dot.
  place(frame, room) {
    const { tokens, words } = this.sentence;
    let at = 0;
    this.spans = tokens.map(({ frames }) => {
      const span = [at, at + frames * frame];
      at = span[1];
      return span;
    });
    this.second = Math.min(WIDEST, Math.max(SECOND, (room - LEFT - 12) / Math.max(at, 0.1)));
    this.width = Math.max(320, LEFT + at * this.second + 12);
    const inside = new Set(words.flatMap(({ first, last }) => Array.from({ length: last - first }, (_, i) => first + i)));
    this.heard = tokens.map((token, i) => i).filter((i) => inside.has(i) && tokens[i].frames > 0 && tokens[i].knots.length);
    const toned = this.heard.filter((i) => tokens[i].tone);
    this.bearers = toned.length ? toned : this.heard;
    const heights = this.heard.flatMap((i) => this.before[i]);
    this.low = Math.min(...heights) - 4;
    this.high = Math.max(...heights) + 4;
  }

  x(second) {
    return LEFT + second * this.second;
  }

  y(height) {
    return TOP + ((this.high - height) / (this.high - this.low)) * (HEIGHT - TOP - BOTTOM);
  }

  points(heights) {
    return this.heard.flatMap((i) => {
      const [from, to] = this.spans[i];
      return heights[i].map((one, k) => `${this.x(from + ((k + 0.5) / heights[i].length) * (to - from)).toFixed(1)},${this.y(one).toFixed(1)}`);
    }).join(" ");
  }

  frame() {
    const { words, tokens } = this.sentence;
    for (let height = Math.ceil(this.low / 4) * 4; height <= this.high; height += 4) {
      const y = this.y(height);
      this.svg.append(shape("line", { x1: LEFT, x2: this.width, y1: y, y2: y }), shape("text", { x: 2, y: y + 4 }, `${Math.round(hertz(height))} Hz`));
    }
    for (const { text, first, last } of words) {
      if (last <= first) continue;
      const x = this.x(this.spans[first][0]);
      this.svg.append(shape("line", { x1: x, x2: x, y1: TOP, y2: HEIGHT - 24 }), shape("text", { x: x + 3, y: HEIGHT - 28, class: "word" }, text));
    }
    for (const i of this.heard) {
      const [from, to] = this.spans[i];
      this.svg.append(shape("text", { x: this.x((from + to) / 2), y: HEIGHT - 8, "text-anchor": "middle" }, tokens[i].symbol));
    }
  }

  dot(token) {
    const { symbol, tone } = this.sentence.tokens[token];
    const [from, to] = this.spans[token];
    const x = this.x((from + to) / 2);
    const label = shape("text", { x, class: "tone", "text-anchor": "middle" }, tone || "");
    const circle = shape("circle", { cx: x, r: 8, class: "dot", tabindex: 0, role: "slider", "aria-orientation": "vertical",
      "aria-valuemin": Math.round(hertz(this.low)), "aria-valuemax": Math.round(hertz(this.high)), "data-token": token,
      "aria-label": tone ? t("{sound}, tone {tone}", { sound: symbol, tone }) : symbol });
    circle.addEventListener("pointerdown", (event) => {
      circle.setPointerCapture(event.pointerId);
      this.from = { y: event.clientY, moved: this.moved.get(token) ?? 0 };
    });
    circle.addEventListener("pointermove", (event) => {
      if (!this.from || !circle.hasPointerCapture(event.pointerId)) return;
      const scale = (this.high - this.low) / (HEIGHT - TOP - BOTTOM);
      this.move(token, this.from.moved + (this.from.y - event.clientY) * scale);
    });
    for (const end of ["pointerup", "pointercancel"]) circle.addEventListener(end, () => (this.from = null));
    circle.addEventListener("keydown", (event) => {
      const way = { ArrowUp: STEP, ArrowDown: -STEP, PageUp: 4 * STEP, PageDown: -4 * STEP }[event.key];
      if (!way) return;
      event.preventDefault();
      this.move(token, (this.moved.get(token) ?? 0) + way);
    });
    this.svg.append(label, circle);
    return { token, circle, label };
  }

  move(token, by) {
    const middle = median(this.before[token]);
    const kept = Math.min(this.high - middle, Math.max(this.low - middle, by));
    if (Math.abs(kept) < 0.01) this.moved.delete(token);
    else this.moved.set(token, kept);
    this.draw();
    this.told();
  }

  // How far each sound is moved: between the dots of a word it goes straight from one to the next.
  shifts() {
    const found = new Array(this.sentence.tokens.length).fill(0);
    for (const { first, last } of this.sentence.words) {
      const fixed = this.bearers.filter((i) => i >= first && i < last).map((i) => [i, this.moved.get(i) ?? 0]);
      if (!fixed.length) continue;
      for (let i = first; i < last; i++) found[i] = between(fixed, i);
    }
    return found;
  }

  draw() {
    const shifts = this.shifts();
    const heights = this.before.map((knots, i) => knots.map((one) => one + shifts[i]));
    this.sentence.tokens.forEach((token, i) => {
      if (shifts[i]) token.knots = heights[i].map(hertz);
      else token.knots = this.before[i].map(hertz);
    });
    this.path.setAttribute("points", this.points(heights));
    for (const { token, circle, label } of this.dots) {
      const middle = median(heights[token]);
      const y = this.y(middle);
      circle.setAttribute("cy", y);
      label.setAttribute("y", y - 13);
      circle.setAttribute("aria-valuenow", Math.round(hertz(middle)));
      circle.setAttribute("aria-valuetext", t("{n} hertz", { n: Math.round(hertz(middle)) }));
      circle.classList.toggle("moved", this.moved.has(token));
    }
  }
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function between(fixed, at) {
  if (at <= fixed[0][0]) return fixed[0][1];
  if (at >= fixed.at(-1)[0]) return fixed.at(-1)[1];
  const next = fixed.findIndex(([place]) => place >= at);
  const [from, low] = fixed[next - 1];
  const [to, high] = fixed[next];
  return low + ((at - from) / (to - from)) * (high - low);
}
