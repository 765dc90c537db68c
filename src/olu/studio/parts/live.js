// What a page shares with the others: watching what happens, sending what a person asks for, saying what went wrong.
import { t } from "./t.js";

const watched = new Map(); // "job:17" -> handlers
let source = null;
let planned = 0;
const places = new Map(); // "job:17" -> how far its files were told

// Say a sentence in the page's live region; an error stays until the next sentence.
export function tell(sentence, { error = false } = {}) {
  const place = document.getElementById("told");
  place.classList.toggle("error", error);
  place.textContent = sentence;
  clearTimeout(tell.timer);
  if (!error && sentence) tell.timer = setTimeout(() => (place.textContent = ""), 6000);
}

async function answered(answer) {
  const text = await answer.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { /* not ours */ }
  if (answer.ok) return value;
  const sentence = (value && value.error) || t("The studio answered {n}.", { n: answer.status });
  tell(sentence, { error: true });
  throw Object.assign(new Error(sentence), { status: answer.status });
}

async function asked(url, init) {
  try {
    return await answered(await fetch(url, init));
  } catch (wrong) {
    if (wrong instanceof TypeError) tell(t("The studio cannot be reached. Is it still running?"), { error: true });
    throw wrong;
  }
}

// Send JSON with our header; gives the answer, or tells what went wrong and throws.
export function post(url, json = {}) {
  const headers = { "Content-Type": "application/json", "X-Olu-Studio": "1" };
  return asked(url, { method: "POST", headers, body: JSON.stringify(json) });
}

export const get = (url) => asked(url, {});

export const workspace = () => document.body.dataset.ws || "-";

// handler(kind, data) for each event of what is watched, from a place on where one is known. Gives a function that ends it.
export function watch(name, handler, place = "") {
  if (!watched.has(name)) watched.set(name, new Set());
  watched.get(name).add(handler);
  if (place) places.set(name, place);
  reopen();
  return () => {
    watched.get(name)?.delete(handler);
    if (!watched.get(name)?.size) {
      watched.delete(name);
      places.delete(name);
    }
    reopen();
  };
}

// One connection a page, and none while nobody looks: a browser has six for a host.
function reopen() {
  clearTimeout(planned);
  planned = setTimeout(open, 20);
}

function open() {
  source?.close();
  source = null;
  if (!watched.size || document.hidden) return;
  const names = [...watched.keys()].join(",");
  const after = [...places].map((one) => one.join("=")).join(",");
  const ask = new URLSearchParams({ ws: workspace(), watch: names, after });
  source = new EventSource(`/api/events?${ask}`);
  source.onerror = () => {
    if (source?.readyState === EventSource.CLOSED) planned = setTimeout(open, 3000); // else it tries again by itself
  };
  for (const kind of ["job", "note", "run", "reset", "changed"])
    source.addEventListener(kind, (event) => {
      for (const part of event.lastEventId.split(",")) {
        const cut = part.lastIndexOf("=");
        if (cut > 0 && watched.has(part.slice(0, cut))) places.set(part.slice(0, cut), part.slice(cut + 1));
      }
      const { watch: name, data } = JSON.parse(event.data);
      for (const handler of watched.get(name) ?? []) handler(kind, data);
    });
}
document.addEventListener("visibilitychange", reopen);

// Fetch a part of the page again, as the server makes it.
export async function load(place, url) {
  let answer;
  try {
    answer = await fetch(url);
  } catch {
    return tell(t("The studio cannot be reached. Is it still running?"), { error: true });
  }
  const text = await answer.text();
  if (!answer.ok) return tell(t("The studio answered {n}.", { n: answer.status }), { error: true });
  const held = document.activeElement?.id;
  place.innerHTML = text; // made by our own templates, which escape
  if (held) document.getElementById(held)?.focus();
}
for (const place of document.querySelectorAll("[data-load]")) load(place, place.dataset.load);

// On a narrow screen the tabs scroll: the open one is in view.
const tabs = document.querySelector(".tabs");
const tab = tabs?.querySelector("[aria-current]");
if (tab) tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;

// A job that this page watched has ended: one less runs.
export function fewer() {
  const count = document.getElementById("busy");
  if (!count) return;
  if (Number(count.textContent) > 1) count.textContent = Number(count.textContent) - 1;
  else count.remove();
}

// Copy a command.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const code = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = t("Copied");
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = t("Selected");
  }
  setTimeout(() => (button.textContent = t("Copy")), 3000);
});

// One sound at a time.
document.addEventListener("play", (event) => {
  for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
}, true);

// A form with data-job="VERB" starts a job from its fields and goes to it; with data-go="look" to what an import shows.
export function fields(form) {
  const options = {};
  for (const one of form.elements) {
    if (!one.name || one.disabled || (one.type === "radio" && !one.checked)) continue;
    const kind = one.dataset.kind || (one.type === "checkbox" ? "flag" : one.type === "number" ? "number" : "text");
    if (kind === "flag") { if (one.checked) options[one.name] = true; }
    else if (one.value === "" && !one.required) continue;
    else if (kind === "number") options[one.name] = Number(one.value);
    else if (kind === "list") options[one.name] = one.value.split("\n").map((line) => line.trim()).filter(Boolean);
    else options[one.name] = one.value;
  }
  return options;
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-job]");
  if (!form) return;
  event.preventDefault();
  const button = event.submitter;
  if (button) button.disabled = true;
  try {
    const ws = form.dataset.ws || workspace();
    const options = { ...JSON.parse(form.dataset.options || "{}"), ...fields(form) };
    const job = await post("/api/jobs", { ws, verb: form.dataset.job, options });
    location.href = form.dataset.go === "look" ? `/w/${encodeURIComponent(ws)}/import/${job.number}` : job.address;
  } catch {
    if (button) button.disabled = false;
  }
});
