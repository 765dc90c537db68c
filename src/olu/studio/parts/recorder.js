// The recorder of one speaker: consent, the room, then sentence after sentence. Takes go to the outbox, which sends them.
import { Microphone } from "./microphone.js";
import { Outbox, keep, kept } from "./outbox.js";
import { t } from "./t.js";

const KEPT = "olu-recorder-1"; // as in recorder-worker.js
const PARTS = ["recorder.css", "fonts.css", "recorder.js", "microphone.js", "microphone-worklet.js", "outbox.js", "t.js", "words.js", "icon.svg"];
const WORDS = document.querySelector("script[src^='/parts/words/']")?.getAttribute("src");
const ROOM_SECONDS = 2;
const NOISY_ROOM = -50, GREEN = [-24, -6]; // dB of full scale: of the room, and of the peaks of speech
const link = location.pathname.split("/")[2];
const at = (id) => document.getElementById(id);
const sections = ["insecure", "consent", "room", "desk", "list", "over", "empty"];
const outbox = new Outbox(link);
const microphone = new Microphone();
const skipped = new Set();
const waiting = new Map(); // prompt -> the take that waits
const heardHere = new Map(); // prompt -> the sound, until the page is left
let state = null;
let place = 0;
let recording = false;
let limit = 0;

const VERDICTS = {
  good: () => t("Good."),
  quiet: () => t("Too quiet: come nearer to the microphone, or speak up."),
  loud: () => t("Too loud: move back a little."),
  clipped: () => t("Clipped: the loudest sounds are cut off. Move back a little, and read it again."),
  early: () => t("Starts too early: press Record, wait a moment, then speak."),
  late: () => t("Stopped too soon: wait a moment before you press Stop."),
  noisy: () => t("Noisy: look for a quieter place, or come nearer to the microphone."),
  silent: () => t("Hardly anything is heard: is this the right microphone?"),
  pause: () => t("Much silence in it: speak soon after Record, and stop soon after the last word."),
  offset: () => t("The microphone is not well: try another."),
  short: () => t("Very short: read the whole sentence."),
  long: () => t("Very long: read it in one go."),
};

function show(name) {
  at("wait").hidden = true;
  for (const one of sections) at(one).hidden = one !== name;
}

const tell = (sentence) => (at("told").textContent = sentence);
const prompt = () => state.prompts[place];
const verdictOf = (id) => state.takes[id]?.verdict;

// ---- what is known, from the server or from the last time

async function known() {
  try {
    const found = await fetch(`/api/r/${link}`);
    const told = await found.json();
    if (found.ok) {
      await keep(link, told);
      return told;
    }
    if (found.status === 401 || found.status === 403) {
      tell(told.error);
      return null;
    }
  } catch { /* no network: what is kept will do */ }
  const old = await kept(link);
  if (!old) tell(t("The studio cannot be reached, and this device does not know the sentences yet. Open the link once with a network."));
  return old ?? null;
}

async function begin() {
  const found = await known();
  if (!found) return (at("wait").hidden = true);
  state = found;
  for (const one of (await kept(`${link} skipped`)) ?? []) skipped.add(one);
  for (const one of await outbox.waiting()) waiting.set(one.prompt, one.take);
  at("prompt").lang = state.language;
  await net(); // before anything can be pressed: its line may move what stands below
  outbox.flush();
  keepPage();
  if (!window.isSecureContext || !navigator.mediaDevices) return show("insecure");
  if (!state.prompts.length) return show("empty");
  if (!state.consent.agreed) return askConsent();
  show("room");
}

// The page itself stays on the device, where the browser allows it.
async function keepPage() {
  try {
    const cache = await caches.open(KEPT);
    await Promise.all([location.pathname, ...(WORDS ? [WORDS] : []), ...PARTS.map((name) => `/parts/${name}`)].map((one) => cache.add(one)));
    await navigator.serviceWorker?.register("/parts/recorder-worker.js", { scope: "/r/" });
    await navigator.storage?.persist?.();
  } catch { /* a certificate of the studio's own making: an open page still goes on without a network */ }
}

function askConsent() {
  at("words").textContent = state.consent.text;
  at("words-version").textContent = t("Version {n}", { n: state.consent.version });
  show("consent");
}

async function answerConsent(agreed) {
  const body = JSON.stringify({ name: at("signed").value, agreed, sha256: state.consent.sha256 });
  const headers = { "Content-Type": "application/json", "X-Olu-Studio": "1" };
  try {
    const found = await fetch(`/api/r/${link}/consent`, { method: "POST", headers, body });
    const told = await found.json();
    if (!found.ok) return tell(told.error);
    state.consent.agreed = told.agreed;
    await keep(link, state);
    tell("");
    return told;
  } catch {
    tell(t("The studio cannot be reached: agreeing needs a network, once."));
  }
}

// ---- the room

async function listen() {
  at("listen").disabled = true;
  try {
    await microphone.open();
  } catch (wrong) {
    at("listen").disabled = false;
    return tell(wrong.name === "NotAllowedError" ? t("The microphone was refused: allow it in the browser's settings, then press again.") : t("No microphone was found."));
  }
  tell("");
  const refused = microphone.processing;
  at("processing").hidden = !refused.length;
  at("processing").textContent = t("This device changes the sound ({what}) though it was asked not to. Another browser may leave it as it is.", { what: refused.join(", ") });
  at("listen").textContent = t("Listening to the room…");
  let power = 0, count = 0;
  const sum = ({ detail }) => { power += detail.rms ** 2; count += 1; };
  microphone.addEventListener("level", sum);
  await new Promise((done) => setTimeout(done, ROOM_SECONDS * 1000));
  microphone.removeEventListener("level", sum);
  const level = decibels(Math.sqrt(power / Math.max(1, count)));
  microphone.addEventListener("level", ({ detail }) => meter(detail.peak));
  const first = state.prompts.findIndex((one) => !done(one.id) && !skipped.has(one.id));
  go(first < 0 ? 0 : first);
  show("desk");
  said(level > NOISY_ROOM
    ? { severity: "warn", words: t("The room is noisy ({n} dB): a quieter place would help.", { n: Math.round(level) }) }
    : { severity: "", words: t("The room is quiet ({n} dB). Press Record, wait a moment, read.", { n: Math.round(level) }) });
  at("record").focus();
}

const decibels = (value) => Math.max(-90, 20 * Math.log10(value + 1e-9));
const done = (id) => waiting.has(id) || id in state.takes;

let shownAt = 0;
function meter(peak) {
  const level = decibels(peak);
  at("needle").style.transform = `scaleX(${Math.max(0, Math.min(1, (level + 60) / 60))})`;
  at("needle").classList.toggle("over", level > -1);
  if (performance.now() - shownAt < 400) return;
  shownAt = performance.now();
  const words = level > -1 ? t("too loud") : level > GREEN[1] ? t("loud") : level >= GREEN[0] ? t("good") : level > -50 ? t("quiet") : t("silence");
  at("meter").setAttribute("aria-valuenow", Math.round(level));
  at("meter").setAttribute("aria-valuetext", words);
  at("loud").textContent = recording ? words : "";
}

// ---- one sentence

function go(to) {
  place = Math.max(0, Math.min(state.prompts.length - 1, to));
  const one = prompt();
  at("prompt").textContent = one.text;
  count();
  at("hear").disabled = !heardHere.has(one.id) && !(one.id in state.takes);
  at("back").disabled = place === 0;
  at("next").disabled = place === state.prompts.length - 1;
  standing(one.id);
}

function count() {
  const read = state.prompts.filter((one) => done(one.id)).length;
  at("place").textContent = t("Sentence {n} of {all}, {read} read", { n: place + 1, all: state.prompts.length, read });
  at("far").max = state.prompts.length;
  at("far").value = read;
}

// What is known of the take of a sentence: the verdict, or that it waits.
function standing(id) {
  if (waiting.has(id)) return said({ severity: "", words: t("Kept on this device. The verdict comes when the studio has it.") });
  const verdict = verdictOf(id);
  if (!verdict) return said({ severity: "", words: skipped.has(id) ? t("Skipped.") : "" });
  said({ severity: verdict.severity, words: (VERDICTS[verdict.kind] ?? (() => verdict.kind))(), more: verdict.said });
}

function said({ severity, words, more = "" }) {
  const place = at("verdict");
  place.className = severity;
  place.replaceChildren();
  const head = document.createElement(severity ? "b" : "span");
  head.textContent = words;
  place.append(head);
  if (more) place.append(Object.assign(document.createElement("span"), { className: "soft", lang: "en", textContent: more }));
}

async function record() {
  if (recording) return stop();
  at("player").pause();
  await microphone.start();
  recording = true;
  at("record").textContent = t("Stop");
  at("record").setAttribute("aria-pressed", "true");
  said({ severity: "", words: t("Recording.") });
  for (const id of ["back", "next", "skip", "hear", "open-list", "finish"]) at(id).disabled = true;
  limit = setTimeout(stop, state.seconds * 1000);
}

async function stop() {
  if (!recording) return;
  recording = false;
  clearTimeout(limit);
  const one = prompt();
  const bytes = await microphone.stop();
  at("record").textContent = t("Record again");
  at("record").removeAttribute("aria-pressed");
  for (const id of ["skip", "open-list", "finish"]) at(id).disabled = false;
  try {
    await take(one.id, bytes);
  } catch {
    tell(t("This device has no room left to keep the take: free some, and read it again."));
  }
  go(place);
}

async function take(id, bytes) {
  heardHere.set(id, bytes);
  skipped.delete(id);
  waiting.set(id, "");
  waiting.set(id, await outbox.add({ prompt: id, bytes, processing: microphone.processing.join(",") }));
}

function hear() {
  const one = prompt();
  const held = heardHere.get(one.id);
  const player = at("player");
  if (player.src.startsWith("blob:")) URL.revokeObjectURL(player.src);
  player.src = held ? URL.createObjectURL(new Blob([held], { type: "audio/wav" })) : `/api/r/${link}/takes/${state.takes[one.id].take}/sound`;
  player.play().catch(() => tell(t("The take cannot be played now.")));
}

function move(by) {
  at("record").textContent = t("Record");
  go(place + by);
  at("prompt").focus();
}

async function skip() {
  skipped.add(prompt().id);
  await keep(`${link} skipped`, [...skipped]);
  const next = state.prompts.findIndex((one, n) => n > place && !done(one.id) && !skipped.has(one.id));
  move((next < 0 ? place + 1 : next) - place);
}

// ---- the list, and the end

function list() {
  const rows = state.prompts.map((one, n) => {
    const verdict = verdictOf(one.id);
    const [kind, words] = waiting.has(one.id) ? ["", t("waits here")] : verdict ? (verdict.kind === "good" ? ["good", t("good")] : ["again", t("read again?")]) : skipped.has(one.id) ? ["", t("skipped")] : ["", ""];
    const row = document.createElement("li");
    const button = document.createElement("button");
    if (n === place) button.setAttribute("aria-current", "true");
    const number = Object.assign(document.createElement("span"), { className: "n", textContent: n + 1 });
    const text = Object.assign(document.createElement("span"), { className: "s", dir: "auto", lang: state.language, textContent: one.text });
    const mark = Object.assign(document.createElement("span"), { className: `k ${kind}`, textContent: words });
    button.append(number, text, mark);
    button.addEventListener("click", () => { show("desk"); move(n - place); });
    row.append(button);
    return row;
  });
  at("rows").replaceChildren(...rows);
  show("list");
  at("list-h").focus();
}

async function finish() {
  await outbox.flush();
  const left = (await outbox.waiting()).length;
  if (left) return tell(t("{n} take still waits on this device. Open this page with a network, then press again. It is not lost.", "{n} takes still wait on this device. Open this page with a network, then press again. They are not lost.", { n: left }));
  try {
    const found = await fetch(`/api/r/${link}/done`, { method: "POST", headers: { "Content-Type": "application/json", "X-Olu-Studio": "1" }, body: "{}" });
    const told = await found.json();
    if (!found.ok) return tell(told.error);
    tell("");
    at("over-said").textContent = t("{n} sentence is handed over. You may close this page, and come back with the same link.", "{n} sentences are handed over. You may close this page, and come back with the same link.", { n: told.clips });
    show("over");
    at("over-h").focus();
  } catch {
    tell(t("The studio cannot be reached: try again later. Nothing is lost."));
  }
}

async function net() {
  const left = (await outbox.waiting()).length;
  at("net").textContent = left ? t("{n} waits on this device", "{n} wait on this device", { n: left }) : t("all saved");
}

outbox.addEventListener("waiting", net);
outbox.addEventListener("arrived", ({ detail }) => {
  state.takes[detail.prompt] = detail;
  if (waiting.get(detail.prompt) === detail.take || waiting.get(detail.prompt) === "") waiting.delete(detail.prompt);
  keep(link, state);
  net();
  if (!at("desk").hidden && !recording && prompt().id === detail.prompt) { standing(detail.prompt); count(); }
});
outbox.addEventListener("refused", ({ detail }) => tell(detail.said));
outbox.addEventListener("closed", ({ detail }) => tell(t("{said} What you recorded stays on this device.", { said: `${detail.said}.` })));
microphone.addEventListener("ended", () => tell(t("The microphone was taken away: reload the page.")));

at("agree").addEventListener("click", async () => { if ((await answerConsent(true))?.agreed) show("room"); });
at("withdraw").addEventListener("click", async () => {
  if (confirm(t("Take your consent back?")) && (await answerConsent(false))) at("over-said").textContent = t("Your consent is taken back.");
});
at("listen").addEventListener("click", listen);
at("record").addEventListener("click", record);
at("hear").addEventListener("click", hear);
at("back").addEventListener("click", () => move(-1));
at("next").addEventListener("click", () => move(1));
at("skip").addEventListener("click", skip);
at("open-list").addEventListener("click", list);
at("close-list").addEventListener("click", () => show("desk"));
at("finish").addEventListener("click", finish);
at("go-on").addEventListener("click", () => show("desk"));
addEventListener("beforeunload", (event) => { if (recording) event.preventDefault(); });

begin();
