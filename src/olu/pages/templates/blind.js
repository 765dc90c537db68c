const at = id => document.getElementById(id);
const store = "olu-choices-" + data.id;
let choices = {}, place = 0;
try { choices = JSON.parse(localStorage.getItem(store) || "{}"); } catch { choices = {}; }
const first = data.trials.findIndex(trial => !(trial.id in choices));
place = first < 0 ? 0 : first;
function keep() { try { localStorage.setItem(store, JSON.stringify(choices)); } catch { /* private windows */ } }
function show() {
  const trial = data.trials[place], done = Object.keys(choices).length;
  at("text").textContent = trial.text;
  at("text").lang = data.language;
  for (const [id, sound] of [["one", 0], ["two", 1]])
    if (at(id).dataset.trial !== trial.id) { at(id).src = trial.sounds[sound]; at(id).dataset.trial = trial.id; }
  for (const button of document.querySelectorAll("[data-choice]"))
    button.classList.toggle("on", choices[trial.id] === Number(button.dataset.choice));
  at("place").textContent = `Sentence ${place + 1} of ${data.trials.length}; ${done} chosen`
    + (done === data.trials.length ? ". All done: save your choices below." : "");
  at("save").classList.toggle("on", done === data.trials.length);
  at("bar").style.width = 100 * done / data.trials.length + "%";
  at("back").disabled = place === 0;
  at("next").disabled = place === data.trials.length - 1;
}
function go(step) {
  place = Math.min(Math.max(place + step, 0), data.trials.length - 1);
  for (const player of document.querySelectorAll("audio")) player.pause();
  show();
}
function choose(choice) { choices[data.trials[place].id] = choice; keep(); go(1); }
function play(id) { at(id).currentTime = 0; at(id).play().catch(() => {}); }
function saved() {
  return JSON.stringify({ kind: data.kind, schema: data.schema, listener: at("listener").value.trim(), test: data.id,
    choices, of: data.trials.length, saved: new Date().toISOString() });
}
document.addEventListener("keydown", event => {
  if (event.target === at("listener") || event.ctrlKey || event.metaKey || event.altKey) return;
  const digit = (/^(?:Digit|Numpad)([0-2])$/.exec(event.code) || [])[1];  // the key itself, whatever Shift makes of it
  if (digit === "0") choose(0);
  else if (digit && event.shiftKey) choose(Number(digit));
  else if (digit) play(digit === "1" ? "one" : "two");
  else if (event.key === "ArrowLeft") go(-1);
  else if (event.key === "ArrowRight") go(1);
});
for (const button of document.querySelectorAll("[data-choice]"))
  button.addEventListener("click", () => choose(Number(button.dataset.choice)));
at("back").addEventListener("click", () => go(-1));
at("next").addEventListener("click", () => go(1));
at("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([saved()], { type: "application/json" }));
  link.download = "choices.json";
  link.click();
  at("note").textContent = `${Object.keys(choices).length} choices saved as choices.json: give it to whoever asked.`;
});
at("forget").addEventListener("click", () => { choices = {}; keep(); place = 0; show(); });
show();
