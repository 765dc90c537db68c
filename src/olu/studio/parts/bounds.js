// Boundaries of one clip: chosen, dragged or moved by 5 ms, heard, saved at once. Phones always touch.
import { get, post, tell, watch, workspace } from "./live.js";
import { t } from "./t.js";
import { draw, peaks } from "./wave.js";

const STEP = 0.005, LEAST = 0.005, PAUSE = 0.05, WAIT = 400;
const ZOOMS = [90, 150, 250, 400, 640, 1000]; // pixels a second
const strip = document.getElementById("strip");
const lane = document.getElementById("lane");
const undo = document.getElementById("undo");
const by = document.getElementById("by");
const state = document.getElementById("state");
const made = document.getElementById("made");
const head = document.getElementById("head");
const places = { words: document.getElementById("words"), phones: document.getElementById("phones"), tones: document.getElementById("tones") };
const edges = document.getElementById("edges");
const spectrum = document.getElementById("spectrum");
const api = `/api/w/${encodeURIComponent(workspace())}`;
const id = strip.dataset.id, seconds = Number(strip.dataset.seconds);
const NAME = "olu-name";
let clip = null; // as the server told it last
let phones = []; // [label, start, end], as it is seen
let sizes = []; // how many phones each word has
let chosen = 0; // the boundary behind phone number `chosen`
let zoom = matchMedia("(hover: none)").matches ? 3 : 2;
let dirty = false, saving = null, timer = 0, dragging = false;

if (by) {
  by.value = localStorage.getItem(NAME) ?? "";
  by.addEventListener("change", () => localStorage.setItem(NAME, by.value.trim()));
}
const name = () => by?.value.trim() || null;
const round = (at) => Math.round(at / STEP) * STEP;
const exact = (at) => Number(at.toFixed(4));
const share = (at) => `${(100 * at) / seconds}%`;

const unseen = () => { spectrum.hidden = true; }; // why is told by the sound, which is missing too
spectrum.addEventListener("error", unseen);
if (spectrum.complete && !spectrum.naturalWidth) unseen();

// ---- what the server has

function take(told) {
  clip = told;
  phones = told.phones.map((one) => [...one]);
  sizes = counted(told);
  chosen = Math.min(chosen, phones.length - 2);
  undo.disabled = !clip.batch;
  made.textContent = clip.by ? t("set by hand: {name}", { name: clip.by }) : t("found by {method}", { method: clip.method });
  show();
}

function counted({ words, phones }) {
  const found = words.map(() => 0);
  let at = 0;
  for (const [label, start, end] of phones) {
    if (!label || !found.length) continue;
    while (at + 1 < found.length && words[at][2] < (start + end) / 2) at++;
    found[at]++;
  }
  return found;
}

function spans() { // the words, from their first phone to their last
  const heard = phones.filter(([label]) => label);
  let at = 0;
  return clip.words.map(([label], place) => {
    const own = heard.slice(at, (at += sizes[place]));
    return own.length ? [label, own[0][1], own.at(-1)[2]] : null;
  });
}

async function load() {
  take(await get(`${api}/bounds?id=${encodeURIComponent(id)}`));
}

// ---- saving

function changed(wait = WAIT) {
  dirty = true;
  state.textContent = t("not saved yet");
  clearTimeout(timer);
  timer = setTimeout(save, wait);
}

const ask = () => ({ id, phones: phones.map(([label, start, end]) => [label, exact(start), exact(end)]), expect: clip.batch, by: name() });

async function save() {
  clearTimeout(timer);
  if (saving) { await saving; return dirty ? save() : undefined; }
  if (!dirty) return;
  dirty = false;
  saving = post(`${api}/bounds`, ask()).then((answer) => {
    Object.assign(clip, { batch: answer.batch, by: answer.by, at: answer.at, method: answer.by ? "hand" : clip.method, words: answer.words });
    if (!dirty && !dragging) take({ ...clip, phones: answer.phones });
    undo.disabled = !clip.batch;
    state.textContent = t("saved");
  }, (wrong) => {
    if (wrong.status) return load(); // it was refused, and told why
    dirty = true;
    state.textContent = t("not saved: trying again");
    timer = setTimeout(save, 3000);
  }).finally(() => (saving = null));
  return saving;
}
addEventListener("pagehide", () => {
  if (!dirty) return;
  const headers = { "Content-Type": "application/json", "X-Olu-Studio": "1" };
  fetch(`${api}/bounds`, { method: "POST", headers, body: JSON.stringify(ask()), keepalive: true });
});

async function takeBack() {
  await save();
  if (!clip.batch) return;
  const answer = await post(`${api}/undo`, { batch: clip.batch, by: name() }).catch(() => null);
  await load();
  if (answer) tell(answer.said);
}

// ---- seeing

function part(place, label, start, end, { quiet = false, button = true } = {}) {
  const one = document.createElement(button ? "button" : "span");
  if (button) { one.type = "button"; one.tabIndex = -1; }
  one.textContent = label;
  one.style.left = share(start);
  one.style.width = share(end - start);
  if (quiet) { one.classList.add("quiet"); one.ariaLabel = t("silence"); }
  place.append(one);
  return one;
}

function show() {
  const focused = document.activeElement?.classList.contains("edge");
  places.phones.replaceChildren();
  phones.forEach(([label, start, end], at) => {
    const one = part(places.phones, label, start, end, { quiet: !label });
    one.dataset.phone = at;
    one.classList.toggle("beside", at === chosen || at === chosen + 1);
  });
  places.words.replaceChildren();
  spans().forEach((word, at) => { if (word) part(places.words, ...word).dataset.word = at; });
  places.tones.replaceChildren();
  places.tones.hidden = !clip.tones.length;
  if (clip.tones.length)
    phones.filter(([label]) => label).forEach(([, start, end], at) => part(places.tones, clip.tones[at], start, end, { button: false }));
  while (edges.children.length > phones.length - 1) edges.lastChild.remove();
  while (edges.children.length < phones.length - 1) edges.append(handle());
  [...edges.children].forEach((one, at) => {
    const here = phones[at][2];
    one.dataset.edge = at;
    one.style.left = share(here);
    one.tabIndex = at === chosen ? 0 : -1;
    one.classList.toggle("chosen", at === chosen);
    one.ariaLabel = t("boundary between {one} and {other}", { one: phones[at][0] || t("silence"), other: phones[at + 1][0] || t("silence") });
    one.ariaValueMin = exact(phones[at][1]);
    one.ariaValueMax = exact(phones[at + 1][2]);
    one.ariaValueNow = exact(here);
    one.ariaValueText = `${here.toFixed(3)} s`;
  });
  if (focused) edges.children[chosen]?.focus({ preventScroll: true });
  const [left, right] = [phones[chosen], phones[chosen + 1]];
  document.getElementById("chosen").textContent = right
    ? `${left[0] || t("silence")} | ${right[0] || t("silence")} · ${left[2].toFixed(3)} s`
    : "";
}

function handle() {
  const one = document.createElement("div");
  one.className = "edge";
  one.setAttribute("role", "slider");
  one.ariaOrientation = "horizontal";
  return one;
}

async function widen() {
  lane.style.width = `${Math.max(strip.clientWidth, Math.round(seconds * ZOOMS[zoom]))}px`;
  draw(document.getElementById("peaks"), await peaks(`${strip.dataset.at}/fine`));
}

function choose(at, { focus = true } = {}) {
  chosen = Math.max(0, Math.min(phones.length - 2, at));
  show();
  const one = edges.children[chosen];
  if (focus) one?.focus({ preventScroll: true });
  const x = (phones[chosen][2] / seconds) * lane.clientWidth;
  if (x < strip.scrollLeft + 40 || x > strip.scrollLeft + strip.clientWidth - 40) strip.scrollLeft = x - strip.clientWidth / 2;
}

// ---- moving

function put(at, time) {
  const low = phones[at][1] + LEAST, high = phones[at + 1][2] - LEAST;
  if (high < low) return false;
  const here = exact(Math.max(low, Math.min(high, time)));
  if (here === phones[at][2]) return false;
  phones[at][2] = phones[at + 1][1] = here;
  show();
  return true;
}

const nudge = (steps) => { if (put(chosen, round(phones[chosen][2]) + steps * STEP)) changed(); };

function addPause() { // between the two sides of the boundary
  const [left, right] = [phones[chosen], phones[chosen + 1]];
  if (!left || !right || !left[0] || !right[0]) return tell(t("There is a pause here already."));
  const size = Math.min(PAUSE, (left[2] - left[1]) / 2 , (right[2] - right[1]) / 2) / 2;
  const at = left[2];
  left[2] = exact(at - size);
  right[1] = exact(at + size);
  phones.splice(chosen + 1, 0, ["", left[2], right[1]]);
  show();
  changed();
}

function removePause() {
  const at = [chosen, chosen + 1].find((place) => phones[place] && !phones[place][0]);
  if (at === undefined) return tell(t("There is no pause beside this boundary."));
  const [, start, end] = phones[at], before = phones[at - 1], after = phones[at + 1];
  if (before && after) { before[2] = after[1] = exact((start + end) / 2); }
  else if (before) before[2] = end;
  else if (after) after[1] = start;
  else return;
  phones.splice(at, 1);
  choose(Math.max(0, at - 1));
  changed();
}

edges.addEventListener("pointerdown", (event) => {
  const one = event.target.closest(".edge");
  if (!one || event.button) return;
  event.preventDefault();
  const at = Number(one.dataset.edge), box = lane.getBoundingClientRect();
  const offset = event.clientX - box.left - (phones[at][2] / seconds) * box.width;
  choose(at);
  dragging = true;
  let moved = false;
  one.setPointerCapture(event.pointerId);
  const move = (to) => {
    const now = lane.getBoundingClientRect();
    moved = put(at, round(((to.clientX - offset - now.left) / now.width) * seconds)) || moved;
  };
  const end = () => {
    dragging = false;
    one.removeEventListener("pointermove", move);
    if (moved) { changed(0); hear(phones[at][1], phones[at + 1][2]); }
  };
  one.addEventListener("pointermove", move);
  one.addEventListener("pointerup", end, { once: true });
  one.addEventListener("pointercancel", end, { once: true });
});

// ---- hearing

let sound = null, context = null, source = null;
async function hear(from, to) {
  hush();
  try {
    context ??= new AudioContext();
    sound ??= fetch(`${strip.dataset.at}/sound`).then((answer) => {
      if (!answer.ok) throw new Error(t("This clip cannot be heard."));
      return answer.arrayBuffer();
    }).then((data) => context.decodeAudioData(data));
    const buffer = await sound;
    await context.resume();
    source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    const own = source, begun = context.currentTime;
    source.start(0, from, to - from);
    lane.dataset.heard = `${from.toFixed(3)} ${to.toFixed(3)}`;
    head.hidden = false;
    const follow = () => {
      if (source !== own) return;
      const at = from + context.currentTime - begun;
      if (at >= to) return hush();
      head.style.left = share(at);
      requestAnimationFrame(follow);
    };
    follow();
  } catch (wrong) {
    sound = null;
    tell(wrong.message, { error: true });
  }
}
function hush() {
  try { source?.stop(); } catch { /* it has ended */ }
  source = null;
  head.hidden = true;
}
const heard = (span) => span && hear(span[1], span[2]);
const wordAt = (time) => spans().find((word) => word && word[1] - 1e-6 <= time && time < word[2]);
const phoneAt = () => (phones[chosen + 1]?.[0] ? phones[chosen + 1] : phones[chosen]);

places.phones.addEventListener("click", (event) => {
  const one = event.target.closest("[data-phone]");
  if (!one) return;
  const at = Number(one.dataset.phone);
  choose(Math.max(0, at - 1));
  heard(phones[at]);
});
places.words.addEventListener("click", (event) => {
  const one = event.target.closest("[data-word]");
  if (one) heard(spans()[Number(one.dataset.word)]);
});

// ---- by keys and by hand

const doing = {
  back: () => choose(chosen - 1),
  forth: () => choose(chosen + 1),
  left: () => nudge(-1),
  right: () => nudge(1),
  around: () => hear(phones[chosen][1], phones[chosen + 1][2]),
  phone: () => heard(phoneAt()),
  word: () => heard(wordAt((phoneAt()[1] + phoneAt()[2]) / 2)),
  all: () => hear(0, seconds),
  pause: addPause,
  close: removePause,
  larger: () => { zoom = Math.min(ZOOMS.length - 1, zoom + 1); widen(); choose(chosen, { focus: false }); },
  smaller: () => { zoom = Math.max(0, zoom - 1); widen(); choose(chosen, { focus: false }); },
};
document.getElementById("panel").addEventListener("click", (event) => {
  const pressed = event.target.closest("[data-do]");
  if (pressed && clip) doing[pressed.dataset.do]();
});
undo.addEventListener("click", takeBack);

async function go(rel) {
  const link = document.querySelector(`.pager a[rel=${rel}]`);
  if (!link) return;
  await save();
  location.href = link.href;
}
for (const link of document.querySelectorAll(".pager a"))
  link.addEventListener("click", (event) => { if (dirty || saving) { event.preventDefault(); go(link.rel); } });

const keys = {
  j: doing.forth, k: doing.back, " ": doing.around, p: doing.phone, w: doing.word, a: doing.all, i: doing.pause, x: doing.close,
  z: takeBack, n: () => go("next"), b: () => go("prev"), "+": doing.larger, "=": doing.larger, "-": doing.smaller,
  Home: () => choose(0), End: () => choose(phones.length - 2),
};
document.addEventListener("keydown", (event) => {
  if (!clip || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    event.preventDefault();
    return nudge((event.key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 5 : 1));
  }
  if (event.key === " " && event.target.closest("button, a, summary") && !event.target.closest(".tier")) return;
  const act = keys[event.key] ?? keys[event.key.toLowerCase()];
  if (!act || (event.repeat && !"jkJK".includes(event.key))) return;
  event.preventDefault();
  act();
});

// ---- following

watch("bounds", async () => {
  if (dirty || saving || dragging) return;
  const now = await get(`${api}/bounds?id=${encodeURIComponent(id)}`).catch(() => null);
  if (now && now.batch !== clip.batch && !dirty && !saving && !dragging) take(now);
});
addEventListener("resize", widen);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", widen);
await load();
widen().catch((wrong) => tell(wrong.message, { error: true }));
choose(0, { focus: document.activeElement === document.body });
