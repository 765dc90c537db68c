// Plan and train. A changed value is planned again, so that every line tells its own reason; what is shown is trained.

import { get, post, tell, watch, workspace } from "/parts/live.js";
import { t } from "/parts/t.js";

const by = (id) => document.getElementById(id);
const form = by("plan");
const ws = encodeURIComponent(workspace());
const changes = new Map(Object.entries(JSON.parse(form.dataset.changes || "{}"))); // key -> value as TOML
let planning = false; // a plan is on its way
let outdated = false; // something was changed since it was asked for
let going = false; // a job of this page is on its way

const plan = () => Number(document.querySelector("table.recipe")?.dataset.plan) || null;
const chosen = (name) => form.querySelector(`[name=${name}]:checked`);
const ofRun = () => chosen("base")?.dataset.run ?? "";
const listed = () => [...changes].map(([key, value]) => `${key}=${value}`);

function complain(sentence) {
  by("wrong").textContent = sentence ? sentence[0].toUpperCase() + sentence.slice(1) : "";
  by("wrong").hidden = !sentence;
}

function options() {
  const family = chosen("family").value;
  const base = chosen("base").value;
  const made = { changes: [...(family ? [`family=${family}`] : []), ...listed()] };
  if (base === "scratch") made.from_scratch = true;
  else if (base === "other" && by("other-base").value.trim()) made.base = by("other-base").value.trim();
  else if (base && base !== "other") made.base = base;
  return made;
}

// Waits for a job's end; gives its row with what it printed.
function ended(number) {
  return new Promise((done) => {
    const leave = watch(`job:${number}`, async (kind, row) => {
      if (kind !== "job") return;
      if (row.tick?.what) by("planning").textContent = t("Planning: {what}…", { what: row.tick.what });
      if (!["done", "failed", "stopped", "lost"].includes(row.state)) return;
      leave();
      done(await get(`/api/w/${ws}/jobs/${number}`));
    });
  });
}

async function replan() {
  show();
  complain("");
  if (ofRun()) return;
  outdated = true;
  if (planning) return; // it is planned once more when that one is there
  planning = true;
  by("planning").textContent = t("Planning…");
  by("planning").hidden = false;
  buttons();
  while (outdated) {
    outdated = false;
    await planned();
  }
  planning = false;
  by("planning").hidden = true;
  buttons();
}

async function planned() {
  try {
    const job = await post("/api/jobs", { ws: workspace(), verb: "plan", options: { ...options(), only_print: true } });
    const made = await ended(job.number);
    if (outdated) return;
    if (made.state !== "done") {
      complain(made.said || t("The plan could not be made: see its job."));
      return;
    }
    const answer = await fetch(`/w/${ws}/train/plan/${job.number}`);
    if (!answer.ok || outdated) return;
    const focused = document.activeElement?.name;
    by("lines").innerHTML = await answer.text();
    history.replaceState(null, "", `?plan=${job.number}`);
    if (focused) form.querySelector(`table.recipe [name="${CSS.escape(focused)}"]`)?.focus();
  } catch (wrong) {
    complain(wrong.message);
  }
}

// What was changed, each with a way back.
function show() {
  const run = ofRun();
  by("weights").hidden = !run;
  by("lines").hidden = Boolean(run);
  if (run) by("weights").querySelector("b").textContent = run;
  by("changes").replaceChildren(...[...changes].map(([key, value]) => {
    const item = document.createElement("li");
    const code = document.createElement("code");
    code.textContent = `${key} = ${value}`;
    const back = document.createElement("button");
    Object.assign(back, { type: "button", className: "small", textContent: t("Take back") });
    back.setAttribute("aria-label", t("Take back {name}", { name: key }));
    back.addEventListener("click", () => {
      changes.delete(key);
      replan();
    });
    item.append(code, " ", back);
    return item;
  }));
  buttons();
}

function buttons() {
  const busy = going || !by("planning").hidden;
  const ready = Boolean(ofRun()) || Boolean(document.querySelector("table.recipe"));
  for (const id of ["start", "try"]) by(id).disabled = busy || !ready;
  by("keep").disabled = busy || !plan() || Boolean(ofRun());
  by("again").disabled = !by("planning").hidden;
}

function state(sentence) {
  by("state").textContent = sentence;
  by("state").hidden = !sentence;
}

// Starts a training, or a try; says how far it is until its run is there.
async function begin({ dry = false, anew = false } = {}) {
  complain("");
  going = true;
  buttons();
  by("tried").hidden = true;
  const run = ofRun();
  const ask = { device: by("device").value, dry_run: dry, evaluate: !dry && by("evaluate").checked,
    new: !dry && (anew || Boolean(document.querySelector(".open-run"))) };
  if (run) Object.assign(ask, { from_run: run, changes: listed() });
  else if (plan()) ask.plan = plan();
  try {
    const job = await post(`/api/w/${ws}/train`, ask);
    state(dry ? t("Trying…") : t("Starting…"));
    await followed(job.number, dry);
  } catch (wrong) {
    complain(wrong.message);
    state("");
  } finally {
    going = false;
    buttons();
  }
}

function followed(number, dry) {
  return new Promise((done) => {
    const look = async () => {
      const row = await get(`/api/w/${ws}/train/${number}`);
      const over = ["done", "failed", "stopped", "lost"].includes(row.state);
      if (row.run && !row.fresh && !dry) location.href = `/w/${ws}/runs/${encodeURIComponent(row.run)}`;
      else if (row.state === "waiting") state(t("It waits until the device is free: it begins by itself, also when this page is closed."));
      else if (!over) state(row.tick?.what ? `${dry ? t("Trying…") : t("Getting ready…")} ${row.tick.what}` : dry ? t("Trying…") : t("Getting ready…"));
      if (!over) return;
      leave();
      state("");
      if (row.state !== "done") complain(row.said || t("It ended without a word: see its job."));
      else if (dry) tried(row.dry);
      else if (row.fresh && confirm(t("{name} was trained with these settings on this corpus already. Train again?", { name: row.run }))) begin({ anew: true });
      done();
    };
    const leave = watch(`job:${number}`, look);
  });
}

function tried(lines) {
  by("tried").querySelector("ul").replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    item.textContent = line[0].toUpperCase() + line.slice(1);
    return item;
  }));
  by("tried").hidden = false;
  by("tried").scrollIntoView({ block: "nearest" });
}

async function keep() {
  if (form.dataset.edited && !confirm(t("recipe.toml was edited by hand. Write this plan over it?"))) return;
  going = true;
  buttons();
  try {
    const job = await post("/api/jobs", { ws: workspace(), verb: "plan", options: { ...options(), force: true } });
    const made = await ended(job.number);
    if (made.state === "done") tell(t("recipe.toml is written: 'olu train' goes by it."));
    else complain(made.said);
  } finally {
    going = false;
    buttons();
  }
}

by("lines").addEventListener("change", ({ target }) => {
  const { name, value, dataset } = target;
  if (!name || value === dataset.was) return;
  changes.set(name, value);
  replan();
});
form.addEventListener("change", ({ target }) => {
  if (target.name === "family") {
    for (const key of [...changes.keys()]) if (key.startsWith("model.")) changes.delete(key); // of another network
    replan();
  } else if (target.name === "base" && target.value !== "other") replan();
  else if (target.id === "other-base") {
    form.querySelector("[name=base][value=other]").checked = true;
    replan();
  }
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("input")) {
    event.preventDefault();
    event.target.blur();
  }
});
by("set").addEventListener("click", () => {
  const key = by("key").value.trim();
  const value = by("value").value.trim();
  if (!key || !value) return tell(t("Write a setting and its value."), { error: true });
  changes.set(key, value);
  by("key").value = by("value").value = "";
  replan();
});
by("again").addEventListener("click", replan);
by("start").addEventListener("click", () => begin());
by("try").addEventListener("click", () => begin({ dry: true }));
by("keep").addEventListener("click", keep);
document.addEventListener("click", async ({ target }) => {
  const name = target.dataset?.resume;
  if (!name) return;
  target.disabled = true;
  await post("/api/jobs", { ws: workspace(), verb: "train", options: { resume: true, resumed: name } }).then(
    () => (location.href = `/w/${ws}/runs/${encodeURIComponent(name)}`), () => (target.disabled = false));
});

const asked = new URLSearchParams(location.search).get("from");
const weights = asked && form.querySelector(`[name=base][data-run="${CSS.escape(asked)}"]`);
if (weights) weights.checked = true;
show();
const recipe = document.querySelector("table.recipe");
const other = recipe && chosen("family").value && chosen("family").value !== recipe.dataset.family; // chosen before this script was there
if (!ofRun() && (!recipe || other)) replan();
