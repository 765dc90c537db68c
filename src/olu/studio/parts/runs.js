// Runs beside each other: which are shown, their curves in one picture each, and one sentence of all in a row.

import { get, post, tell, watch, workspace } from "/parts/live.js";
import { t } from "/parts/t.js";
import { Chart, Figures, whenColoursChange } from "/parts/curves.js";

const box = document.getElementById("curves");
const form = document.getElementById("chosen");
const ws = encodeURIComponent(workspace());
const smooth = document.getElementById("smooth");
const held = new Map(); // run -> Figures
const charts = new Map();
const names = (box?.dataset.runs ?? "").split(",").filter(Boolean);

async function look(name) {
  if (!held.has(name)) held.set(name, new Figures());
  const figures = held.get(name);
  if (figures.asking) return;
  figures.asking = true;
  const from = figures.place && !figures.full && !figures.fresh ? `?from=${figures.place}` : "";
  try {
    const told = await get(`/api/w/${ws}/runs/${encodeURIComponent(name)}/metrics${from}`);
    if (told.rows) figures.add(told);
    else figures.fill(told);
    draw();
  } finally {
    figures.asking = false;
  }
}

// One picture a figure: losses by their validation where there is one, else as they are trained.
function draw() {
  const shown = new Map();
  for (const [run, { curves }] of held)
    for (const name of curves.keys()) if (!/\/(lr|ratio)$/.test(name)) shown.set(name, [...(shown.get(name) ?? []), run]);
  const order = [...shown.keys()].sort((a, b) => Number(b.startsWith("valid/")) - Number(a.startsWith("valid/")));
  for (const name of order) {
    if (!charts.has(name)) charts.set(name, new Chart(box, name.replace("valid/", `${t("validation")}: `).replace("/", ": ")));
    const lines = shown.get(name).map((run) => ({ label: run, colour: names.indexOf(run), noisy: !name.startsWith("valid/"),
      dots: name.startsWith("valid/"), ...held.get(run).curves.get(name) }));
    charts.get(name).draw({ lines, log: name.endsWith("grad_norm"), smooth: Number(smooth.value) });
  }
}

form?.addEventListener("change", () => {
  const chosen = [...form.querySelectorAll("[name=show]:checked")].map((one) => one.value);
  if (chosen.length > 6) tell(t("Six runs fit beside each other: the first six are shown."));
  location.search = `?show=${chosen.map(encodeURIComponent).join(",") || "none"}`;
});

document.addEventListener("click", async ({ target }) => {
  const name = target.dataset.resume;
  if (name) {
    target.disabled = true;
    await post("/api/jobs", { ws: workspace(), verb: "train", options: { resume: true, resumed: name } }).then(
      () => (location.href = `/w/${ws}/runs/${encodeURIComponent(name)}`), () => (target.disabled = false));
  }
  if (target.closest("[data-row]")) row(target.closest(".item"));
});

// One after the other, with a breath between; a second press stops.
async function row(item) {
  const players = [...item.querySelectorAll("audio")];
  const busy = players.find((one) => !one.paused);
  if (busy) {
    item.dataset.stopped = "1";
    busy.pause();
    return;
  }
  delete item.dataset.stopped;
  for (const player of players) {
    player.currentTime = 0;
    player.closest("div").classList.add("now");
    await player.play().catch(() => {});
    await new Promise((done) => {
      for (const end of ["ended", "pause", "error"]) player.addEventListener(end, done, { once: true });
    });
    player.closest("div").classList.remove("now");
    if (item.dataset.stopped) return;
    await new Promise((done) => setTimeout(done, 350));
  }
}

// The steps in the table go on; another state has other buttons, so the page is loaded again unless something plays.
function told(name, row) {
  const line = document.querySelector(`tr[data-watch="${CSS.escape(name)}"]`);
  const steps = line?.querySelector("[data-steps]");
  if (steps) steps.textContent = t("{n} of {all}", { n: row.step.toLocaleString("en"), all: row.steps.toLocaleString("en") });
  if (line && line.dataset.state !== row.state && [...document.querySelectorAll("audio")].every((one) => one.paused)) location.reload();
}

for (const name of names) {
  look(name);
  watch(`run:${name}`, (kind, row) => {
    look(name);
    told(name, row);
  });
}
smooth?.addEventListener("input", draw);
whenColoursChange(() => {
  for (const chart of charts.values()) chart.shape = "";
  draw();
});
