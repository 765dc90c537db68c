// Speak with any voice that is here. Sound and words come as on the page of 'olu serve', by the same modules.

import { get, workspace } from "/parts/live.js";
import { Melody } from "/parts/melody.js";
import { Player } from "/parts/speech/player.js";
import { RATE, Trouble, file, leftOut, speech } from "/parts/speech/speech.js";
import { t } from "/parts/t.js";
import { recall, remember } from "/parts/speech/memory.js";
import { Words } from "/parts/speech/words.js";

const ADDRESS = "/api/speak";
const by = (id) => document.getElementById(id);
const form = by("form");
const text = by("text");
const FINISHED = t("Finished.");
const words = new Words({ said: by("said"), rows: by("rows"), many: by("many"), onpick: playFrom,
  counted: (n) => t("{n} word", "{n} words", { n }) });
const melody = new Melody(by("contours"), () => melodyButtons());
let voices = [];
let limits = {};
let player = null;
let work = null;

const voice = () => voices.find((one) => one.id === by("voice").value && !one.fault);
const knobs = () => [...by("knobs-here").querySelectorAll("input")];

function wish() {
  const chosen = voice();
  const asked = { voice: chosen.id, input: text.value, speed: Number(by("speed").value), pause: Number(by("pause").value),
    seed: Math.max(0, Math.round(Number(by("seed").value) || 0)), plain: by("plain").checked };
  if (chosen.speakers.length > 1) asked.speaker = by("speaker").value;
  const turned = knobs().filter((one) => Number(one.value) !== Number(one.dataset.default));
  if (turned.length) asked.knobs = Object.fromEntries(turned.map((one) => [one.dataset.knob, Number(one.value)]));
  if (chosen.melody && by("strict").checked) asked.tones = "strict";
  return asked;
}

function say(message) {
  by("status").textContent = message;
}

function complain(message) {
  by("trouble").textContent = message;
  by("trouble").hidden = !message;
}

function note(message) {
  by("unsaid").textContent = message;
  by("unsaid").hidden = !message;
}

function fail(problem) {
  if (problem?.name === "AbortError") return;
  if (!(problem instanceof Trouble)) console.error(problem);
  complain(problem.message || t("Something went wrong in this page. Please load it again."));
}

function ready() {
  complain("");
  const many = [...text.value].length;
  const missing = !voice() ? t("There is no voice to speak with yet.") : !text.value.trim() ? t("Please write a text first.")
    : many > limits.characters ? t("The text has {n} characters; {most} can be said at once.", { n: many, most: limits.characters }) : "";
  if (missing) complain(missing);
  return missing ? null : wish();
}

async function speak(more = {}) {
  stop();
  const asked = ready();
  if (!asked) return;
  player ??= new Player(RATE);
  player.onend = () => settle(FINISHED);
  player.begin();
  words.clear();
  note("");
  const mine = (work = new AbortController());
  by("heard").hidden = false;
  say(t("Waiting for the voice…"));
  show();
  draw();
  try {
    for await (const part of speech({ ...asked, ...more }, { signal: mine.signal, address: ADDRESS })) {
      if (mine.signal.aborted) return;
      if (part.count) note(leftOut(part.unsaid));
      if (part.words) words.add(part, voice()?.language ?? "");
      if (part.samples?.length && player.made === 0) say(t("Speaking…"));
      if (part.samples) player.add(part.samples);
    }
    if (work === mine) work = null;
    player.finish();
    if (player.made === 0) settle(t("There was nothing to say."));
  } catch (problem) {
    if (mine.signal.aborted) return;
    work = null;
    player.onend = () => settle(t("Ended early."));
    player.finish();
    if (player.made === 0) {
      settle("");
      by("heard").hidden = true;
    }
    fail(problem);
  }
  show();
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
  if (player?.going) settle(t("Stopped."));
  else if (busy) say(t("Stopped."));
  show();
}

function playFrom(second) {
  player.seek(second);
  say(t("Speaking…"));
  show();
  draw();
}

function show() {
  by("stop").disabled = !work && !player?.going;
  by("pause-it").disabled = !player?.going;
  by("pause-it").textContent = player?.paused ? t("Go on") : t("Pause");
  by("download").disabled = Boolean(work);
  melodyButtons();
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

const minutes = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const title = () => (text.value.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).slice(0, 6).join("-").slice(0, 60) || "speech";

async function download() {
  const asked = ready();
  if (!asked) return;
  const mine = (work = new AbortController());
  const format = by("format").value;
  say(t("Making the file…"));
  show();
  try {
    const told = melody.changed ? { melody: melody.row } : {};
    const { made, unsaid } = await file({ ...asked, ...told, response_format: format }, { signal: mine.signal, address: ADDRESS });
    save(made, `${title()}.${format === "opus" ? "ogg" : format}`);
    say(`${t("The file is saved.")} ${leftOut(unsaid)}`.trim());
  } catch (problem) {
    if (!mine.signal.aborted) {
      say("");
      fail(problem);
    }
  }
  if (work === mine) work = null;
  show();
}

// ---- the melody

async function plan() {
  const asked = ready();
  if (!asked) return;
  by("plan").disabled = true;
  say(t("Planning the melody…"));
  try {
    const headers = { "Content-Type": "application/json", "X-Olu-Studio": "1" };
    const answer = await fetch(`${ADDRESS}/plan`, { method: "POST", headers, body: JSON.stringify(asked) });
    const told = await answer.json();
    if (!answer.ok) throw new Trouble(told.error?.message ?? told.error);
    melody.show(told.melody);
    by("faults").textContent = told.faults.length ? t("Not as written: {faults}.", { faults: told.faults.join("; ") }) : "";
    by("faults").hidden = !told.faults.length;
    say("");
  } catch (problem) {
    say("");
    fail(problem);
  }
  by("plan").disabled = false;
  melodyButtons();
}

function melodyButtons() {
  by("say-it").disabled = !melody.row || Boolean(work);
  by("as-planned").disabled = !melody.changed;
  by("save-melody").disabled = !melody.row;
}

// A melody is of one text, voice and manner: when these change, it is no more.
function forget() {
  if (melody.row) melody.clear();
  by("faults").hidden = true;
  melodyButtons();
}

// ---- the voices

function slider({ name, what, low, high, default: usual }) {
  const box = document.createElement("div");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const step = high - low > 20 ? 1 : Number.isInteger(usual) && Number.isInteger(low) && high - low > 4 && name === "steps" ? 1 : (high - low) / 100;
  Object.assign(input, { id: `knob-${name}`, type: "range", min: low, max: high, step: step || 0.01, value: usual });
  Object.assign(input.dataset, { knob: name, default: String(input.value) });
  label.htmlFor = input.id;
  label.title = what ?? "";
  const caption = document.createElement("span");
  caption.textContent = name.replaceAll("_", " ")[0].toUpperCase() + name.replaceAll("_", " ").slice(1);
  const output = document.createElement("output");
  output.id = `knob-${name}-out`;
  label.append(caption, " ", output);
  box.append(label, input);
  if (what) {
    const said = document.createElement("p");
    said.className = "soft hint";
    said.textContent = what;
    box.append(said);
  }
  return box;
}

const told = (input) => {
  const out = by(`${input.id}-out`);
  if (out) out.textContent = `${Number(Number(input.value).toPrecision(3))}${input.dataset.suffix ?? ""}`;
};

function picked() {
  const chosen = voice();
  by("knobs-here").replaceChildren(...(chosen?.knobs ?? []).map(slider));
  knobs().forEach(told);
  const speakers = chosen?.speakers ?? [];
  by("speaker-field").hidden = speakers.length < 2;
  by("speaker").replaceChildren(...speakers.map((name) => new Option(name, name)));
  by("melody").hidden = !chosen?.melody;
  by("strict-field").hidden = !chosen?.melody;
  text.lang = by("example").lang = chosen?.language ? Intl.getCanonicalLocales(chosen.language)[0] : ""; // sw, not swa
  by("example").textContent = chosen?.sample ?? "";
  by("example-line").hidden = !chosen?.sample;
  const bad = voices.filter((one) => one.fault).map((one) => `${one.title}: ${one.fault}`);
  by("voice-note").textContent = [chosen ? `${chosen.language_name}, ${(chosen.rate / 1000).toFixed(1)} kHz, ${chosen.size < 1e6 ? `${Math.ceil(chosen.size / 1e3)} kB` : `${(chosen.size / 1e6).toFixed(1)} MB`}` : "", ...bad].filter(Boolean).join(" · ");
  forget();
}

async function look() {
  say(t("Looking for voices…"));
  try {
    ({ voices, limits } = await get("/api/voices"));
  } finally {
    say("");
  }
  const groups = new Map([[workspace(), []]]);
  for (const one of voices) groups.set(one.ws, [...(groups.get(one.ws) ?? []), one]);
  by("voice").replaceChildren(...[...groups].filter(([, held]) => held.length).map(([name, held]) => {
    const group = document.createElement("optgroup");
    group.label = name || t("Comes with Olu");
    for (const one of held) {
      const option = new Option(one.fault ? `${one.title} (${t("damaged")})` : one.title, one.id);
      option.disabled = Boolean(one.fault);
      group.append(option);
    }
    return group;
  }));
  const wanted = form.dataset.chosen || recall(`olu.studio.voice.${workspace()}`);
  const kept = voices.find((one) => one.id === wanted && !one.fault) ?? voices.find((one) => one.ws === workspace() && !one.fault) ?? voices.find((one) => !one.fault);
  by("voice").value = kept?.id ?? "";
  by("none").hidden = voices.some((one) => one.ws === workspace());
  picked();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  speak();
});
form.addEventListener("input", ({ target }) => {
  if (target.type === "range") told(target);
  if (target.id !== "format") forget();
});
by("voice").addEventListener("change", () => {
  remember(`olu.studio.voice.${workspace()}`, by("voice").value);
  picked();
});
by("example").addEventListener("click", () => {
  text.value = by("example").textContent;
  forget();
  text.focus();
});
by("pause-it").addEventListener("click", () => {
  if (player.paused) player.resume();
  else player.pause();
  say(player.paused ? t("Paused.") : t("Speaking…"));
  show();
});
by("stop").addEventListener("click", stop);
by("download").addEventListener("click", download);
by("srt").addEventListener("click", () => save(new Blob([words.srt()], { type: "application/x-subrip" }), `${title()}.srt`));
by("plan").addEventListener("click", plan);
by("say-it").addEventListener("click", () => speak({ melody: melody.row }));
by("as-planned").addEventListener("click", () => melody.restore());
by("save-melody").addEventListener("click", () => save(new Blob([JSON.stringify(melody.row)], { type: "application/json" }), `${title()}.melody.json`));
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) speak();
  if (event.key === "Escape") stop();
});
[by("speed"), by("pause")].forEach(told);
look();
