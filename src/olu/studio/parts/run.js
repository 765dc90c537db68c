// A run as it goes: parts of the page are fetched again when something happened, curves go on by the bytes that came.

import { fewer, get, post, tell, watch, workspace } from "/parts/live.js";
import { t } from "/parts/t.js";
import { Chart, Figures, linesOf, whenColoursChange } from "/parts/curves.js";

const place = document.getElementById("run");
const name = place.dataset.run;
const base = `/api/w/${encodeURIComponent(workspace())}/runs/${encodeURIComponent(name)}`;
const page = `/w/${encodeURIComponent(workspace())}/runs/${encodeURIComponent(name)}`;
const smooth = document.getElementById("smooth");
const figures = new Figures();
const STATES = { finished: t("Finished"), unfinished: t("Unfinished"), stopped: t("Stopped by a guard"), damaged: t("Damaged") };
const charts = new Map(); // title -> Chart
let seen = null; // the row told last
let asking = null; // a look at the metrics that is on its way
let again = false;

async function look() {
  if (asking) {
    again = true;
    return asking;
  }
  asking = (async () => {
    do {
      again = false;
      const from = figures.place && !figures.full && !figures.fresh ? `?from=${figures.place}` : "";
      const told = await get(`${base}/metrics${from}`);
      if (told.rows) figures.add(told);
      else figures.fill(told);
      if (figures.fresh || figures.full) again = !told.curves;
    } while (again);
    draw();
  })().catch(() => {}).finally(() => (asking = null));
  return asking;
}

function draw() {
  const box = document.getElementById("curves");
  box.removeAttribute("aria-busy");
  const groups = figures.groups.filter((group) => group.names.some((one) => figures.curves.has(one)));
  box.dataset.step = figures.step;
  if (!groups.length) return;
  if (!charts.size) box.replaceChildren();
  for (const [title, chart] of charts) {
    if (!groups.some((group) => group.title === title)) {
      chart.remove();
      charts.delete(title);
    }
  }
  for (const group of groups) {
    if (!charts.has(group.title)) charts.set(group.title, new Chart(box, group.title));
    const banded = group.names.findLast((one) => figures.bands[one]);
    charts.get(group.title).draw({
      lines: linesOf(group, figures.curves),
      band: banded ? figures.bands[banded] : [],
      log: group.log,
      marks: figures.undone,
      smooth: Number(smooth.value),
    });
  }
}

const playing = () => [...document.querySelectorAll("audio")].some((one) => !one.paused);

async function part(which) {
  const answer = await fetch(`${page}/part/${which}`).catch(() => null);
  if (!answer?.ok) return;
  const box = document.getElementById(`part-${which}`);
  const open = new Map([...box.querySelectorAll("details[data-step]")].map((one) => [one.dataset.step, one.open]));
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.do : null;
  box.innerHTML = await answer.text();
  for (const one of box.querySelectorAll("details[data-step]")) if (open.has(one.dataset.step)) one.open = open.get(one.dataset.step);
  if (focused) box.querySelector(`[data-do="${focused}"]`)?.focus();
}

// While something plays, its list stays as it is.
async function samples() {
  if (playing()) setTimeout(samples, 2000);
  else await part("samples");
}

let parted = -Infinity;
function now(after = 0) {
  const wait = Math.max(0, after - (performance.now() - parted));
  clearTimeout(now.timer);
  now.timer = setTimeout(() => {
    parted = performance.now();
    part("now");
  }, wait);
}

// The step moves with each event; the rest of that part is fetched again every few seconds, or when it has changed.
function step(row, before) {
  const box = document.getElementById("part-now");
  const bold = box.querySelector(".lead b.n");
  if (bold) bold.textContent = row.step.toLocaleString("en");
  const bar = box.querySelector("progress");
  if (bar) bar.value = row.step;
  const same = before && ["state", "job_state", "saved"].every((key) => before[key] === row[key]) && before.best?.step === row.best?.step;
  now(same && bold ? 5000 : 0);
}

// The figures come with the events, from the place on that this page has; where it has another one, it asks for them.
let told = ""; // up to where this page was told
async function figure(row) {
  if (row.rows) told = row.place;
  if (!asking && row.rows && row.from === figures.place) {
    figures.add(row);
    if (!figures.full && !figures.fresh) return draw();
  }
  await look();
  if (told !== figures.place) follow();
}

function follow() {
  follow.end?.();
  told = figures.place;
  follow.end = watch(`run:${name}`, (kind, row) => {
    if (kind !== "run") return;
    const before = seen;
    seen = row;
    step(row, before);
    figure(row);
    if (!before) return;
    if (String(before.samples) !== String(row.samples) || before.best?.step !== row.best?.step) samples();
    if (before.events !== row.events) part("events");
    if (before.state === "running" && row.state !== "running") {
      fewer();
      tell(`${name}: ${STATES[row.state] ?? row.state}`);
    }
  }, figures.place);
}

place.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-do]");
  if (!button) return;
  button.disabled = true;
  try {
    if (button.dataset.do === "stop") {
      await post(`${base}/stop`);
      tell(t("It stops after the step in hand, and saves."));
    } else {
      const job = await post("/api/jobs", { ws: workspace(), verb: "train", options: { resume: true, resumed: name } });
      tell(job.state === "waiting" ? t("It waits for the device, then goes on.") : t("It goes on."));
    }
    now();
  } catch {
    button.disabled = false;
  }
});

document.getElementById("remove").addEventListener("click", async () => {
  if (!confirm(t("Remove {name} with all its checkpoints? This cannot be undone.", { name }))) return;
  await post(`${base}/remove`, { run: name });
  location.href = `/w/${encodeURIComponent(workspace())}/runs`;
});

smooth.addEventListener("input", draw);
whenColoursChange(() => {
  for (const chart of charts.values()) chart.shape = "";
  draw();
});
look().then(follow);

// For whoever tests what is drawn.
window.oluRun = { figures, charts };
