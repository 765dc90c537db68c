// Listening, fixing and undoing: each is a job, whose progress and outcome are shown here.
import { get, post, tell, watch, workspace } from "./live.js";
import { t } from "./t.js";

const api = `/api/w/${encodeURIComponent(workspace())}`;
const work = document.getElementById("work");
const said = document.getElementById("work-said");
const bar = document.getElementById("work-bar");
const outcome = document.getElementById("outcome");
const buttons = [...document.querySelectorAll("[data-run]")];
const off = buttons.map((button) => button.disabled);

function made(tag, words, of = {}) {
  const element = Object.assign(document.createElement(tag), of);
  element.textContent = words;
  return element;
}

const clips = (number) => t("{n} clip", "{n} clips", { n: Number(number) });
const length = (seconds) => (seconds >= 3600 ? t("{n} hours", { n: (seconds / 3600).toFixed(2) }) : t("{n} minutes", { n: (seconds / 60).toFixed(1) }));

// ---- jobs

for (const button of buttons)
  button.addEventListener("click", async () => {
    const options = JSON.parse(button.dataset.run);
    if ("again" in button.dataset && document.getElementById("deep").checked) options.deep = true;
    if (!("again" in button.dataset) || !options.force) delete options.force;
    enable(false);
    try {
      follow(await post("/api/jobs", { ws: workspace(), verb: "audit", options }));
    } catch {
      enable(true);
    }
  });

function enable(yes) {
  buttons.forEach((button, at) => (button.disabled = yes ? off[at] : true));
}

function follow(job) {
  work.hidden = false;
  document.getElementById("work-link").href = job.address;
  show(job);
  const end = watch(`job:${job.number}`, (kind, data) => {
    if (kind !== "job") return;
    show(data);
    if (["done", "failed", "stopped", "lost"].includes(data.state)) { end(); finish(data.number); }
  });
}

function show(job) {
  const tick = job.tick ?? {};
  said.textContent = job.state === "waiting" ? t("Waiting for another job of this workspace.") : [tick.what || t("at work"), tick.total ? t("{n} of {all}", { n: tick.done, all: tick.total }) : ""].filter(Boolean).join(", ");
  if (tick.total) { bar.max = tick.total; bar.value = tick.done; } else bar.removeAttribute("value");
}

async function finish(number) {
  const job = await get(`${api}/jobs/${number}`);
  work.hidden = true;
  if (job.state !== "done") { tell(job.said || t("It came to no result."), { error: true }); return enable(true); }
  const result = job.result ?? {};
  if (result.fix && !result.fix.written) { planned(result.fix); return enable(true); }
  sessionStorage.setItem("told", sentence(result));
  location.reload();
}

function sentence(result) {
  if ("undone" in result) return result.undone ? t("{n} decision taken back; yours stay.", "{n} decisions taken back; yours stay.", { n: Number(result.undone) }) : t("There was nothing to take back.");
  if (result.fix) return t("Fixed. Left: {clips}, {length}.", { clips: clips(result.fix.effect.clips_after), length: length(result.fix.effect.seconds_after) });
  return t("The audit is done.");
}

// What a fix would do, as the command's own table.
function planned(fix) {
  const words = JSON.parse(outcome.dataset.words), titles = JSON.parse(outcome.dataset.titles), { effect } = fix;
  outcome.hidden = false;
  outcome.replaceChildren();
  if (effect.kinds.length) {
    const box = made("div", "", { className: "scroll" }), table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    for (const [title, kind] of [[t("What"), ""], [t("Because of"), ""], [t("Clips"), "n"], [t("Minutes less"), "n"]]) head.append(made("th", title, { className: kind }));
    for (const one of effect.kinds) {
      const row = body.insertRow();
      const check = made("a", titles[one.check] ?? one.check), held = document.createElement("td");
      check.href = `${outcome.dataset.clips}?check=${encodeURIComponent(one.check)}`;
      held.append(check);
      row.append(made("td", words[one.decision] ?? one.decision), held, made("td", one.clips.toLocaleString("en"), { className: "n" }), made("td", (one.seconds / 60).toFixed(1), { className: "n" }));
    }
    box.append(table);
    outcome.append(box);
  }
  const lines = [effect.kinds.length ? t("Before: {before}. After: {after}. Nothing is written yet.", { before: `${clips(effect.clips_before)}, ${length(effect.seconds_before)}`, after: `${clips(effect.clips_after)}, ${length(effect.seconds_after)}` }) : t("Nothing needs fixing.")];
  if (fix.overruled) lines.push(t("{n} clip would stay as you decided.", "{n} clips would stay as you decided.", { n: fix.overruled }));
  if (fix.lost) lines.push(t("{n} clip ({length}) would be left out only because of its length: read, align and cut first, and it trains in pieces.", "{n} clips ({length}) would be left out only because of their length: read, align and cut first, and they train in pieces.", { n: fix.lost, length: length(fix.lost_seconds) }));
  outcome.append(...lines.map((line) => made("p", line)));
}

// ---- at the start

const told = sessionStorage.getItem("told");
if (told) { sessionStorage.removeItem("told"); tell(told); }
get(`${api}/audit`).then(({ state }) => { document.getElementById("stale").hidden = state !== "stale"; }, () => {});
