import { recall, remember } from "./memory.js";
import { Player } from "./player.js";
import { RATE, Trouble, file, leftOut, speech, voices } from "./speech.js";
import { Shelf } from "./shelf.js";
import { Words } from "./words.js";

const by = (id) => document.getElementById(id);
const [form, text, speed, keyField] = ["form", "text", "speed", "key"].map(by);
const FINISHED = "Finished.";
const memory = { speed: "olu.speed", key: "olu.key" };
const shelf = new Shelf({ voice: by("voice"), speaker: by("speaker"), field: by("speaker-field"), note: by("voice-note") });
const words = new Words({ said: by("said"), rows: by("rows"), many: by("many"), onpick: playFrom });
let player = null; // made by the first press of a button
let work = null; // what can be stopped: an AbortController
let limits = {};
let unheard = false; // the voices could not be asked for, or not without a key

function wish() {
  const asked = {
    model: "olu",
    voice: shelf.voice?.id,
    input: text.value,
    speed: Number(speed.value),
    plain: by("plain").checked,
  };
  return shelf.speaker ? { ...asked, speaker: shelf.speaker } : asked;
}

function say(message) {
  by("status").textContent = message;
}

function note(message) {
  by("unsaid").textContent = message;
  by("unsaid").hidden = !message;
}

function complain(message) {
  by("trouble").textContent = message;
  by("trouble").hidden = !message;
}

function fail(problem) {
  if (problem?.name === "AbortError") return;
  if (!(problem instanceof Trouble)) console.error(problem);
  complain(problem instanceof Trouble ? problem.message : "Something went wrong in this page. Please load it again.");
  if (problem.status === 401 || problem.status === 403) {
    unheard = true;
    by("key-field").hidden = false;
    keyField.focus();
  }
}

// The text as it can be asked for, or null after a word about what is missing.
function ready() {
  complain("");
  const missing = !shelf.voice
    ? "There is no voice to speak with yet."
    : !text.value.trim()
      ? "Please write a text first."
      : limits.characters && count() > limits.characters
        ? `The text has ${count()} characters; this server takes ${limits.characters} at once.`
        : "";
  if (!missing) return wish();
  complain(missing);
  if (shelf.voice) text.focus();
  return null;
}

async function speak() {
  stop();
  const asked = ready();
  if (!asked) return;
  player ??= new Player(RATE);
  player.onend = () => settle(FINISHED);
  player.begin();
  words.clear();
  note("");
  const mine = (work = new AbortController());
  const lang = shelf.voice.lang;
  by("heard").hidden = false;
  say("Waiting for the voice…");
  show();
  requestAnimationFrame(draw);
  try {
    for await (const part of speech(asked, { key: keyField.value, signal: mine.signal })) {
      if (mine.signal.aborted) return;
      if (part.count) note(leftOut(part.unsaid));
      if (part.words) {
        words.add(part, lang);
        if (player.made === 0) by("heard").scrollIntoView({ block: "nearest" }); // on a phone it is below the buttons
      }
      if (part.samples?.length && player.made === 0) say("Speaking…");
      if (part.samples) player.add(part.samples);
    }
    if (work === mine) work = null;
    player.finish();
    show();
    if (player.made === 0) settle("There was nothing to say.");
  } catch (problem) {
    if (mine.signal.aborted) return;
    work = null;
    player.onend = () => settle("Ended early.");
    player.finish(); // what has come is still played
    show();
    if (player.made === 0) {
      settle("");
      by("heard").hidden = true; // nothing was said
    }
    fail(problem);
  }
}

function settle(message) {
  player.stop();
  words.at(null);
  if (message === FINISHED) by("progress").value = 1;
  say(message);
  show();
}

function stop() {
  const busy = Boolean(work) || player?.going;
  work?.abort();
  work = null;
  if (player?.going) settle("Stopped.");
  else if (busy) say("Stopped.");
  show();
}

function pause() {
  if (player.paused) player.resume();
  else player.pause();
  say(player.paused ? "Paused." : "Speaking…");
  show();
}

function playFrom(second) {
  player.seek(second);
  say("Speaking…");
  show();
  requestAnimationFrame(draw);
}

async function download() {
  const asked = ready();
  if (!asked) return;
  const mine = (work = new AbortController());
  const format = by("format").value;
  say("Making the file…");
  show();
  try {
    const { made, unsaid } = await file({ ...asked, response_format: format }, { key: keyField.value, signal: mine.signal });
    save(made, `${title()}.${format === "opus" ? "ogg" : format}`);
    say(`The file is saved. ${leftOut(unsaid)}`.trim());
  } catch (problem) {
    if (mine.signal.aborted) return;
    say("");
    fail(problem);
  }
  if (work === mine) work = null;
  show();
}

function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function title() {
  const letters = text.value.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return letters.slice(0, 6).join("-").slice(0, 60) || "speech";
}

// Which buttons can be pressed.
function show() {
  by("stop").disabled = !work && !player?.going;
  by("pause").disabled = !player?.going;
  by("pause").textContent = player?.paused ? "Resume" : "Pause";
  by("download").disabled = Boolean(work);
}

let drawing = false;
function draw() {
  if (drawing || !player.going) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (!player.going) return;
    const time = player.time;
    words.at(player.made ? time : null);
    by("progress").value = player.made ? time / player.made : 0;
    by("clock").textContent = `${minutes(time)} / ${minutes(player.made)}${player.whole ? "" : "…"}`;
    draw();
  });
}

function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

function count() {
  return [...text.value].length;
}

function counted() {
  const most = limits.characters;
  const many = count();
  by("count").textContent = most && many > most / 2 ? `${many} of at most ${most} characters` : "";
}

function sped() {
  by("speed-shown").textContent = `${Number(speed.value).toFixed(2)} ×`;
  remember(memory.speed, speed.value);
}

// The language of the field, and a sentence for who cannot type in it.
function chosen() {
  const { voice } = shelf;
  text.lang = by("example").lang = voice?.lang ?? "";
  by("example").textContent = voice?.sample ?? "";
  by("example-line").hidden = !voice?.sample;
}

function example() {
  text.value = by("example").textContent;
  counted();
  text.focus();
}

async function look() {
  try {
    const there = await voices(keyField.value);
    limits = there.limits ?? {};
    shelf.fill(there.data);
    chosen();
    remember(memory.key, keyField.value, { tab: true });
    if (unheard) complain("");
    unheard = false;
    counted();
  } catch (problem) {
    unheard = true;
    fail(problem);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  speak();
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  speak();
});
keyField.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault(); // Enter takes the key, it does not speak
  look();
});
keyField.addEventListener("change", look);
document.addEventListener("keydown", (event) => event.key === "Escape" && stop());
document.addEventListener("visibilitychange", () => document.hidden || work || look()); // a new voice may have come
by("voice").addEventListener("change", chosen);
by("example").addEventListener("click", example);
by("pause").addEventListener("click", pause);
by("stop").addEventListener("click", stop);
by("download").addEventListener("click", download);
by("srt").addEventListener("click", () => save(new Blob([words.srt()], { type: "application/x-subrip" }), `${title()}.srt`));
text.addEventListener("input", counted);
speed.addEventListener("input", sped);

speed.value = recall(memory.speed) ?? "1";
keyField.value = recall(memory.key, { tab: true }) ?? "";
sped();
look();
