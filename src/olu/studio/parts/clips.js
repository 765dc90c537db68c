// The list of clips: one is chosen, heard, seen, decided of or corrected, by keys or by hand.
import { get, post, tell, watch, workspace } from "./live.js";
import { t } from "./t.js";
import { draw, peaks } from "./wave.js";

const list = document.getElementById("clips");
const player = document.getElementById("player");
const by = document.getElementById("by");
const undo = document.getElementById("undo");
const dialog = document.getElementById("all");
const where = document.getElementById("where");
const api = `/api/w/${encodeURIComponent(workspace())}`;
const page = `/w/${encodeURIComponent(workspace())}/clips`;
const NAME = "olu-name";
let heard = null; // the row that sounds

const rows = () => [...(list?.children ?? [])];
const chosen = () => list?.querySelector(".chosen") ?? null;
const rowOf = (id) => rows().find((row) => row.dataset.id === id);
const name = () => by?.value.trim() || null; // a link has its own name

if (by) {
  by.value = localStorage.getItem(NAME) ?? "";
  by.addEventListener("change", () => {
    localStorage.setItem(NAME, by.value.trim());
    lookBack();
  });
}

// ---- choosing

function choose(row, { focus = true, scroll = focus } = {}) {
  if (!row) return;
  const before = chosen();
  if (before && before !== row) close(before);
  row.classList.add("chosen");
  row.setAttribute("aria-current", "true");
  const more = row.querySelector(".more");
  more.hidden = false;
  const picture = more.querySelector(".spectrum");
  if (!picture.src) {
    picture.addEventListener("load", () => (picture.hidden = false));
    picture.src = picture.dataset.src;
  }
  wave(row);
  if (focus) row.focus({ preventScroll: true });
  if (scroll) row.scrollIntoView({ block: "nearest" });
}

function close(row) {
  row.classList.remove("chosen");
  row.removeAttribute("aria-current");
  row.querySelector(".more").hidden = true;
  wave(row);
}

function step(by) {
  const every = rows(), at = every.indexOf(chosen()) + by;
  if (at >= 0 && at < every.length) {
    choose(every[at]);
    return by > 0 ? stopped() : undefined;
  }
  const link = document.querySelector(`.pager a[rel="${by > 0 ? "next" : "prev"}"]`);
  if (link && chosen()) location.href = link.href + (by > 0 ? "#first" : "#last");
}

// ---- seeing

async function wave(row) {
  const canvas = row.querySelector(".peaks"), seconds = Number(row.dataset.seconds);
  try {
    const values = await peaks(`${row.dataset.at}/peaks`);
    draw(canvas, values, { from: row.dataset.from / seconds, to: row.dataset.to / seconds });
  } catch (wrong) {
    row.classList.add("silent");
    row.querySelector(".unheard").textContent = wrong.message;
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries)
    if (isIntersecting) { seen.unobserve(target); wave(target); }
}, { rootMargin: "100px" });
const redraw = () => rows().forEach((row) => seen.observe(row));
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// ---- hearing

function hear(row, { from = 0 } = {}) {
  if (heard === row && !player.paused && !from) return hush();
  hush();
  heard = row;
  const address = `${row.dataset.at}/sound`;
  if (!player.src.endsWith(address)) player.src = address;
  const begin = () => { player.currentTime = from; };
  if (player.readyState) begin(); else player.addEventListener("loadedmetadata", begin, { once: true });
  row.classList.add("sounds");
  player.play().then(follow).catch(async (wrong) => {
    if (wrong.name === "AbortError") return;
    hush();
    await get(`${row.dataset.at}/peaks`).catch(() => {}); // says why
  });
}

function hush() {
  player.pause();
  heard?.classList.remove("sounds");
  const head = heard?.querySelector(".head");
  if (head) head.hidden = true;
  heard = null;
}

function follow() {
  if (!heard || player.paused) return;
  const head = heard.querySelector(".head");
  head.hidden = false;
  head.style.left = `${Math.min(100, (100 * player.currentTime) / Number(heard.dataset.seconds))}%`;
  requestAnimationFrame(follow);
}
player.addEventListener("ended", hush);

// ---- changing

async function renew(id) {
  const old = rowOf(id);
  if (!old) return null;
  const answer = await fetch(`${page}/row?id=${encodeURIComponent(id)}`);
  if (!answer.ok) return old;
  const row = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("li");
  if (!old.isConnected || old.querySelector(".edit:not([hidden])")) return old; // somebody began to write in it
  const was = old.classList.contains("chosen"), focused = old.contains(document.activeElement);
  row.querySelector("[name=reason]").value = old.querySelector("[name=reason]").value;
  if (heard === old) hush();
  old.replaceWith(row);
  if (was) choose(row, { focus: focused });
  seen.observe(row);
  grey(row);
  return row;
}

// Bring counts, chips and rows up to date, whoever changed them; rows stay where they are, and one that is written in waits.
let planned = 0;
function refresh(pause = 300) {
  clearTimeout(planned);
  planned = setTimeout(async () => {
    const answer = await fetch(location.href).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const counts = page.getElementById("counts");
    if (counts) document.getElementById("counts").replaceWith(counts);
    for (const row of rows()) {
      if (row.querySelector(".edit:not([hidden])")) continue;
      const other = page.querySelector(`.clip-row[data-id="${CSS.escape(row.dataset.id)}"]`);
      const same = other && ["about", "more"].every((part) => said(other, part) === said(row, part));
      if (!same) await renew(row.dataset.id);
    }
  }, pause);
}
const said = (row, part) =>
  [...row.querySelector(`.${part}`).children].filter((one) => !one.matches(".unheard, .edit, .hands")).map((one) => one.textContent).join(" ").replace(/\s+/g, " ");

function undoable({ batch = "", said = "" } = {}) {
  undo.dataset.batch = batch;
  undo.disabled = !batch;
  undo.title = said ? t("Takes back: {what}", { what: said }) : "";
}

async function lookBack() { // what Z would take back, after a page was opened or a name given
  undoable(await get(`${api}/undo${name() ? `?by=${encodeURIComponent(name())}` : ""}`).catch(() => ({})));
}

async function done(answer) {
  if (answer.batch) undoable({ batch: answer.batch, said: answer.said });
  tell(answer.said);
  for (const clip of answer.clips ?? []) await renew(clip.id);
  refresh(answer.clips?.length || !answer.changed ? 300 : 0);
}

async function decide(row, decision) {
  if (!row) return;
  const reason = row.querySelector("[name=reason]").value;
  const ids = [row.dataset.id];
  const answer = await post(`${api}/decisions`, { ids, decision, reason, by: name() }).catch(() => null); // it was told
  if (!answer) return;
  await done(answer);
  const now = rowOf(ids[0]);
  if (now) now.querySelector("[name=reason]").value = "";
  if (chosen()?.dataset.id === ids[0]) step(1);
}

async function takeBack() {
  if (undo.disabled) return;
  const answer = await post(`${api}/undo`, { batch: undo.dataset.batch, by: name() }).catch(() => null);
  if (!answer) return lookBack();
  undoable(answer.next);
  await done({ ...answer, batch: "" });
  if (answer.clips.length) choose(rowOf(answer.clips[0].id));
}

async function decideAll(decision, count) {
  const number = { n: Number(count) };
  document.getElementById("all-title").textContent = decision === "drop" ? t("Drop {n} clip?", "Drop all {n} clips?", number) : t("Keep {n} clip?", "Keep all {n} clips?", number);
  const field = dialog.querySelector("[name=reason]");
  field.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
  if (dialog.returnValue !== "yes") return;
  const ask = { query: location.search, expect: Number(count), decision, reason: field.value, by: name() };
  const answer = await post(`${api}/decisions`, ask).catch(() => null);
  if (!answer) return;
  sessionStorage.setItem("told", answer.said);
  location.reload();
}

// ---- several people at once: a clip that somebody writes in is grey for the others

const tab = crypto.randomUUID?.() ?? String(Math.random()).slice(2).padEnd(16, "0");
let inHands = {}; // clip -> { name, tab }
let renewing = 0;

function grey(row) {
  const holder = inHands[row.dataset.id], other = holder && holder.tab !== tab;
  const said = row.querySelector(".hands");
  row.classList.toggle("held", Boolean(other));
  said.hidden = !other;
  said.textContent = other ? t("{name} is writing here", { name: holder.name }) : "";
}

async function hold(row) { // whether it is mine now; asked again while I write
  const answer = await post(`${api}/hands`, { id: row.dataset.id, tab, by: name() }).catch(() => null);
  if (row.querySelector(".edit").hidden) { letGo(row); return true; } // saved or left meanwhile
  if (!answer || answer.yours) {
    clearInterval(renewing);
    renewing = setInterval(() => post(`${api}/hands`, { id: row.dataset.id, tab, by: name() }).catch(() => {}), 7000);
    return true;
  }
  inHands[row.dataset.id] = { name: answer.name, tab: "" };
  grey(row);
  return false;
}

function letGo(row) {
  clearInterval(renewing);
  send("hands", { id: row.dataset.id, tab, hold: false });
}

function send(what, ask) { // also while the page goes
  const headers = { "Content-Type": "application/json", "X-Olu-Studio": "1" };
  fetch(`${api}/${what}`, { method: "POST", headers, body: JSON.stringify(ask), keepalive: true }).catch(() => {});
}
addEventListener("pagehide", () => {
  const row = list?.querySelector(".edit:not([hidden])")?.closest(".clip-row");
  if (row) letGo(row);
  tellStopped();
});

let stopping = 0;
function stopped() { // the next person goes on here; told twice in a second at most
  stopping ||= setTimeout(tellStopped, 500);
}
function tellStopped() {
  const row = chosen();
  if (stopping && row) send("stopped", { id: row.dataset.id, query: location.search, by: name() });
  clearTimeout(stopping);
  stopping = 0;
}

// ---- writing

async function edit(row) {
  if (!row) return;
  if (row.classList.contains("held")) return tell(row.querySelector(".hands").textContent);
  open(row);
  if (await hold(row)) return;
  const text = row.querySelector(".hands").textContent;
  shut(row);
  tell(text);
}

function open(row) {
  const form = row.querySelector(".edit"), field = form.elements.text;
  form.hidden = false;
  row.querySelector(".deciding").hidden = true;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
  read(row);
}

function leave(row) {
  letGo(row);
  shut(row);
}

function shut(row) {
  const form = row.querySelector(".edit");
  form.reset();
  form.hidden = true;
  row.querySelector(".deciding").hidden = false;
  row.focus();
}

let asked = 0;
async function read(row) {
  const form = row.querySelector(".edit"), place = form.querySelector(".reading"), turn = ++asked;
  try {
    const answer = await post("/api/read", { ws: workspace(), text: form.elements.text.value });
    if (turn !== asked) return;
    place.replaceChildren(...answer.words.flatMap((word, at) => {
      const said = document.createElement("span");
      said.textContent = word.symbols.join(" ");
      return at ? [" | ", said] : [said];
    }));
  } catch (wrong) {
    if (turn === asked) place.textContent = wrong.message;
    tell("");
  }
}

async function save(row) {
  const text = row.querySelector(".edit").elements.text.value, id = row.dataset.id;
  const answer = await post(`${api}/texts`, { id, text, by: name() }).catch(() => null);
  if (!answer) return;
  leave(row);
  await done(answer);
  step(1);
}

// Keys that come while something is saved wait for it, so that none falls on the wrong clip.
let busy = false;
const waiting = [];
async function inTurn(act) {
  if (busy) return void waiting.push(act);
  busy = true;
  try { await act(); } finally {
    busy = false;
    if (waiting.length) inTurn(waiting.shift());
  }
}

// ---- by hand

const doing = {
  hear: (row) => { choose(row); hear(row); },
  drop: (row) => decide(row, "drop"),
  keep: (row) => decide(row, "keep"),
  edit,
  leave,
};

list?.addEventListener("click", (event) => {
  const row = event.target.closest(".clip-row"), pressed = event.target.closest("[data-do]");
  if (!row) return;
  if (pressed?.dataset.do === "seek") {
    const box = pressed.getBoundingClientRect();
    choose(row);
    return hear(row, { from: Math.max(0.001, ((event.clientX - box.left) / box.width) * Number(row.dataset.seconds)) });
  }
  if (pressed) return doing[pressed.dataset.do](row);
  if (!event.target.closest("button, input, textarea, label, a") && !String(getSelection())) choose(row);
});
list?.addEventListener("input", (event) => {
  if (event.target.name === "text") read(event.target.closest(".clip-row"));
});
list?.addEventListener("submit", (event) => {
  event.preventDefault();
  save(event.target.closest(".clip-row"));
});
undo.addEventListener("click", takeBack);
document.getElementById("counts").parentElement.addEventListener("click", (event) => {
  const all = event.target.closest("[data-all]");
  if (all) decideAll(all.dataset.all, all.dataset.count);
});
document.getElementById("sort").addEventListener("change", (event) => event.target.form.requestSubmit());

// ---- by keys

const keys = {
  j: () => step(1),
  k: () => step(-1),
  d: () => decide(chosen(), "drop"),
  a: () => decide(chosen(), "keep"),
  e: () => edit(chosen()),
  z: takeBack,
  g: () => document.querySelector("#go-on a")?.click(),
  " ": () => chosen() && hear(chosen()),
  "/": () => { where.focus(); where.select(); },
};
document.addEventListener("keydown", (event) => {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open) return;
  const row = at.closest(".clip-row");
  if (at.name === "text" && event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    return void inTurn(() => save(row));
  }
  if (event.key === "Escape" && at.closest(".edit")) return void leave(row);
  if (event.key === "Escape" && at.matches("input")) return void (chosen() ? choose(chosen()) : at.blur());
  if (at.name === "reason" && event.key === "Enter") return void (event.preventDefault(), choose(row));
  if (at.closest("input, textarea, select") || (event.key === " " && at.closest("button, a, summary"))) return;
  const act = keys[event.key.toLowerCase()];
  if (!act || event.repeat) { if (!act || !"jk".includes(event.key)) return; }
  event.preventDefault();
  inTurn(act);
});

// ---- following

watch("clips", (kind, data) => {
  if (!data?.hands) return refresh();
  inHands = data.hands;
  rows().forEach(grey);
});

// ---- at the start

redraw();
const told = sessionStorage.getItem("told");
if (told) { sessionStorage.removeItem("told"); tell(told); }
if (name()) lookBack();
const wanted = /^#clip=(.*)$/.exec(location.hash)?.[1];
if (wanted && rowOf(decodeURIComponent(wanted))) choose(rowOf(decodeURIComponent(wanted)));
else if (location.hash === "#last") choose(rows().at(-1));
else if (rows().length) choose(rows()[0], { focus: document.activeElement === document.body, scroll: location.hash === "#first" });
if (location.hash === "#first") stopped();
