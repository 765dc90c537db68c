// Curves of runs, drawn by uPlot: as many points as a screen shows, brought up to date step by step.

import { t } from "/parts/t.js";

const COLOURS = ["--c0", "--c1", "--c2", "--c3", "--info", "--warn"];
const HEIGHT = 190;
const SYNC = "olu-curves";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faint = (colour, share) => `color-mix(in srgb, ${colour} ${share}%, transparent)`;

// The figures of one run by name, as steps and values. What a rewind undid is cut off.
export class Figures {
  constructor() {
    this.clear();
  }

  clear() {
    Object.assign(this, { curves: new Map(), place: "", rewinds: 0, step: 0, most: 1200, groups: [], bands: {}, undone: [] });
  }

  // The whole, as the server thinned it.
  fill(told) {
    this.clear();
    for (const [name, { steps, values }] of Object.entries(told.curves)) this.curves.set(name, { steps, values });
    const { place, rewinds, step, most, groups, bands, undone } = told;
    Object.assign(this, { place, rewinds, step, most, groups, bands, undone });
  }

  // Steps since then, one by one.
  add({ place, rows }) {
    for (const { step, rewinds, figures } of rows) {
      if (rewinds > this.rewinds) {
        this.rewinds = rewinds;
        for (const held of this.curves.values()) cut(held, step);
      }
      this.step = step;
      for (const [name, value] of Object.entries(figures)) {
        if (!this.curves.has(name)) this.curves.set(name, { steps: [], values: [] });
        const held = this.curves.get(name);
        held.steps.push(step);
        held.values.push(value);
      }
    }
    this.place = place;
  }

  get full() {
    return [...this.curves.values()].some(({ steps }) => steps.length > this.most);
  }

  // Whether a figure is there that no group shows yet: the server says where it belongs.
  get fresh() {
    const known = new Set(this.groups.flatMap(({ names }) => names));
    return [...this.curves.keys()].some((name) => !known.has(name));
  }
}

function cut(held, step) {
  const at = held.steps.findIndex((one) => one >= step);
  if (at >= 0) {
    held.steps.length = at;
    held.values.length = at;
  }
}

// An exponential mean that begins without a lean towards its first value.
export function smoothed(values, share) {
  if (!share) return values;
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    if (value === null || value === undefined) return value;
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    return sum / weight;
  });
}

// Lines with steps of their own on one axis: a table with holes.
export function joined(lines) {
  const steps = [...new Set(lines.flatMap(({ steps }) => steps))].sort((a, b) => a - b);
  const at = new Map(steps.map((step, i) => [step, i]));
  return [steps, ...lines.map((line) => {
    const held = new Array(steps.length).fill(null);
    line.steps.forEach((step, i) => (held[at.get(step)] = line.values[i]));
    return held;
  })];
}

// The band at a step: between its points it goes straight.
function bandAt(points, step) {
  if (!points.length || step < points[0][0] || step > points.at(-1)[0]) return [null, null];
  const next = points.findIndex(([at]) => at >= step);
  if (next <= 0) return points[Math.max(next, 0)].slice(1);
  const [from, low, high] = points[next - 1];
  const [to, lower, higher] = points[next];
  const share = (step - from) / Math.max(to - from, 1e-9);
  return [low + share * (lower - low), high + share * (higher - high)];
}

const short = (value) => (value === null || value === undefined ? "–"
  : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(Number(value.toPrecision(4))));
const whole = (step) => (step >= 1e6 ? `${step / 1e6}M` : step >= 1e4 ? `${step / 1e3}k` : String(step));

// One picture. Lines: {label, colour, steps, values, noisy, dots}; band: [[step, low, high]...].
export class Chart {
  constructor(parent, title) {
    this.figure = document.createElement("figure");
    this.figure.className = "curve";
    const caption = document.createElement("figcaption");
    caption.textContent = t(title);
    this.box = document.createElement("div");
    this.legend = document.createElement("p");
    this.legend.className = "legend";
    this.figure.append(caption, this.box, this.legend);
    parent.append(this.figure);
    this.plot = null;
    this.shape = "";
    this.seen = new ResizeObserver(() => requestAnimationFrame(() => {
      if (this.plot && this.plot.width !== this.width) this.plot.setSize({ width: this.width, height: HEIGHT });
    }));
    this.seen.observe(this.box);
  }

  get width() {
    return Math.max(200, Math.floor(this.box.clientWidth));
  }

  draw({ lines, band = [], log = false, marks = [], smooth = 0 }) {
    const table = joined(lines);
    const edges = band.length ? table[0].map((step) => bandAt(band, step)) : null;
    const raw = table.slice(1);
    const data = [table[0], ...(edges ? [edges.map(([, high]) => high), edges.map(([low]) => low)] : [])];
    lines.forEach((line, i) => {
      if (line.noisy && smooth) data.push(raw[i]);
      data.push(line.noisy ? smoothed(raw[i], smooth) : raw[i]);
    });
    const shape = JSON.stringify([lines.map(({ label, colour, noisy, dots }) => [label, colour, noisy && smooth > 0, dots]), Boolean(edges), log]);
    this.marks = marks;
    this.data = data;
    if (this.plot && shape === this.shape) {
      this.plot.setData(data);
    } else {
      this.shape = shape;
      this.plot?.destroy();
      this.label(lines);
      this.plot = new uPlot(this.options(lines, Boolean(edges), log, smooth), data, this.box);
    }
    this.read(this.plot.cursor.idx ?? null);
  }

  // A name and a number for each line, under the picture.
  label(lines) {
    const parts = lines.map(({ label, colour }) => {
      const one = document.createElement("span");
      one.className = `key k${colour % COLOURS.length}`;
      const number = document.createElement("b");
      one.append(`${label} `, number);
      return one;
    });
    const at = document.createElement("span");
    at.className = "soft at";
    this.legend.replaceChildren(...parts, at);
  }

  // The numbers at a place of the table, or the newest.
  read(place) {
    if (!this.plot) return;
    const shown = this.plot.series.map((one, i) => [one, i]).filter(([one]) => one.read);
    shown.forEach(([, i], n) => {
      const values = this.data[i];
      const value = place === null ? values.findLast((one) => one !== null && one !== undefined) : values[place];
      const box = this.legend.children[n]?.querySelector("b");
      if (box) box.textContent = short(value);
    });
    const last = this.legend.querySelector(".at");
    if (last) last.textContent = place === null ? "" : t("step {n}", { n: short(this.data[0][place]) });
  }

  options(lines, banded, log, smooth) {
    const soft = css("--soft");
    const grid = { stroke: css("--line"), width: 1 };
    const axis = { stroke: soft, grid, ticks: grid, font: "12px system-ui" };
    const series = [{}];
    if (banded) series.push({ stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } });
    for (const { label, colour, noisy, dots } of lines) {
      const stroke = css(COLOURS[colour % COLOURS.length]);
      if (noisy && smooth) series.push({ stroke: faint(stroke, 28), width: 1, spanGaps: true, points: { show: false } });
      series.push({ label, stroke, width: 1.8, spanGaps: true, read: true, points: dots ? { show: true, size: 6, fill: stroke } : { show: false } });
    }
    return {
      width: this.width,
      height: HEIGHT,
      series,
      legend: { show: false },
      bands: banded ? [{ series: [1, 2], fill: faint(soft, 22) }] : [],
      cursor: { sync: { key: SYNC }, drag: { x: true, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: log ? { distr: 3 } : {} },
      axes: [
        { ...axis, size: 30, values: (_, steps) => steps.map((step) => (Number.isInteger(step) ? whole(step) : "")) },
        { ...axis, size: 54, values: (_, values) => values.map((one) => (one === null ? "" : short(one))) },
      ],
      hooks: { draw: [(plot) => this.mark(plot)], setCursor: [(plot) => this.read(plot.cursor.idx ?? null)] },
    };
  }

  // Where a guard sent the run back.
  mark(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = css("--error");
    ctx.setLineDash([4, 3]);
    for (const step of this.marks ?? []) {
      const x = Math.round(plot.valToPos(step, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  remove() {
    this.seen.disconnect();
    this.plot?.destroy();
    this.figure.remove();
  }
}

// The lines of a group of one run.
export function linesOf(group, curves) {
  return group.names.filter((name) => curves.has(name)).map((name, colour) => {
    const [part, figure] = name.split("/");
    const engine = ["grad_norm", "lr", "ratio"].includes(figure);
    const label = engine ? part : part === "valid" ? "validation" : group.names.length > 2 ? name : "training";
    const noisy = part !== "valid" && figure !== "lr" && figure !== "ratio";
    return { label, colour, noisy, dots: part === "valid", ...curves.get(name) };
  });
}

// Colours change with the light of the room.
export function whenColoursChange(then) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", then);
}
