// The page of a listener: hear, answer, next. Every answer is saved as it is given, and a page opened again goes on.
import { get, post, workspace } from "./live.js";
import { t } from "./t.js";

const main = document.getElementById("listen");
const kind = main.dataset.kind;
const api = `/api/w/${encodeURIComponent(workspace())}/listen/${encodeURIComponent(main.dataset.test)}`;
const trial = document.getElementById("trial"), end = document.getElementById("end"), place = document.getElementById("place");
const text = document.getElementById("text"), far = document.getElementById("far");
const plays = [...document.querySelectorAll("[data-play]")], answers = [...document.querySelectorAll("[data-answer]")];
const typed = document.getElementById("typed");
const player = new Audio();
let now = null; // the trial that is shown
let sounding = null, busy = false;

async function show(n) {
  hush();
  now = await get(`${api}/trial${n === undefined ? "" : `?n=${n}`}`);
  far.max = now.of;
  far.value = now.done;
  const over = !now.sounds;
  trial.hidden = over;
  end.hidden = !over;
  place.textContent = over
    ? t("{done} of {all} answered", { done: now.done, all: now.of })
    : t("{n} of {all}", { n: now.n + 1, all: now.of });
  if (over) return end.focus();
  text.textContent = now.text ?? "";
  plays.forEach((one) => one.classList.remove("heard"));
  for (const one of answers) one.ariaPressed = String(now.answer === Number(one.dataset.answer) && now.answer !== null);
  if (typed) typed.elements.heard.value = now.answer ?? "";
  document.getElementById("back").disabled = now.n === 0;
  document.getElementById("on").disabled = now.answer === null;
  for (const sound of now.sounds) fetch(`${api}/sounds/${sound}`); // so that it begins at once
}

// ---- hearing

function hear(number) {
  const button = plays[number - 1];
  if (!button || !now?.sounds) return;
  const again = sounding === button;
  hush();
  if (again) return;
  sounding = button;
  button.classList.add("sounds", "heard");
  player.src = `${api}/sounds/${now.sounds[number - 1]}`;
  player.play().catch(() => hush());
}
function hush() {
  player.pause();
  sounding?.classList.remove("sounds");
  sounding = null;
}
player.addEventListener("ended", hush);

// ---- answering

async function answer(value) {
  if (busy || !now?.sounds) return;
  busy = true;
  try {
    await post(`${api}/answers`, { n: now.n, answer: value });
    const next = now.n + 1;
    await show(next);
    if (!end.hidden && now.done < now.of) await show(); // some were passed over
    plays[0]?.focus({ preventScroll: true });
  } catch { /* it was told, and the page stays */ } finally {
    busy = false;
  }
}

plays.forEach((one) => one.addEventListener("click", () => hear(Number(one.dataset.play))));
answers.forEach((one) => one.addEventListener("click", () => answer(Number(one.dataset.answer))));
typed?.addEventListener("submit", (event) => {
  event.preventDefault();
  answer(typed.elements.heard.value);
});
typed?.elements.heard.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  answer(typed.elements.heard.value);
});
document.getElementById("back").addEventListener("click", () => show(Math.max(0, now.n - 1)));
document.getElementById("on").addEventListener("click", () => show(now.n + 1));
document.getElementById("again").addEventListener("click", () => show(0));

// Keys: 1 and 2 are heard; with Shift they are chosen, and so is 0. A rating is its number, Space plays.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.closest("input, textarea, select")) return;
  const digit = /^Digit(\d)$/.exec(event.code)?.[1];
  if (event.key === " " && !event.target.closest("button, a")) { event.preventDefault(); return hear(1); }
  if (digit === undefined) return;
  const value = Number(digit);
  if (kind === "mos" && value >= 1 && value <= 5) answer(value);
  else if (kind === "ab" && (value === 0 || (event.shiftKey && value <= 2))) answer(value);
  else if (kind === "ab" && value <= 2) hear(value);
});

await show();
