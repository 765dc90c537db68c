// A text read while it is typed, and words of one's own tried before they are saved.
import { post, tell, workspace } from "./live.js";
import { t } from "./t.js";

const text = document.getElementById("text");
const problem = document.getElementById("problem");
const add = document.getElementById("add");
const look = document.getElementById("look");
const held = document.getElementById("held");
const api = `/api/w/${encodeURIComponent(workspace())}/lexicon`;
const STAGES = { canonical: t("Spelling"), restore: t("Marks put back"), normalise: t("Numbers and signs as words"), pronounce: t("Pronunciation") };
const PAUSE = 120; // milliseconds without a key

function made(tag, words, of = {}) {
  const element = Object.assign(document.createElement(tag), of);
  element.textContent = words;
  return element;
}

// ---- the text

let turn = 0;
async function read() {
  const mine = ++turn;
  const tried = add && add.elements.word.value.trim() && add.elements.phones.value.trim();
  const ask = { ws: workspace(), text: text.value };
  if (tried) Object.assign(ask, { word: add.elements.word.value, phones: add.elements.phones.value });
  try {
    const found = await quietly("/api/read", ask);
    if (mine === turn) show(found);
  } catch (wrong) {
    if (mine === turn) problem.textContent = wrong.message;
  }
}

// Like post, but the page has a place of its own for what is wrong.
async function quietly(url, ask) {
  try {
    return await post(url, ask);
  } catch (wrong) {
    if (wrong.status) tell("");
    throw wrong;
  }
}

function show(found) {
  problem.textContent = "";
  document.getElementById("result").hidden = false;
  document.getElementById("normal").textContent = found.normal;
  document.getElementById("symbols").textContent = found.symbols.join(" ");
  document.getElementById("words").replaceChildren(...found.words.map(word));
  const lost = Object.entries(found.dropped), dropped = document.getElementById("dropped");
  dropped.hidden = !lost.length;
  dropped.textContent = t("Not read: {signs}", { signs: lost.map(([sign, times]) => `${sign} (${times})`).join(", ") });
  steps(found.steps);
}

function word(one) {
  const item = document.createElement("li"), button = made("button", "", { type: "button" });
  const tones = new Map(one.bearers.map((place, at) => [place, one.tones[at]]));
  const said = made("span", "", { className: "said-as" });
  said.dir = "ltr";
  one.phones.forEach((phone, at) => {
    const tone = tones.get(at);
    const sound = made("span", (at === one.stress ? "ˈ" : "") + phone, { className: at === one.stress ? "phone stress" : "phone" });
    if (tone) sound.append(made("span", tone, { className: `tone t${tone[0] === "?" ? "x" : tone[0]}` }));
    said.append(sound);
  });
  button.append(made("bdi", one.text), said);
  button.title = one.sure === null ? "" : t("marks put back, right in {n} of 100 such words", { n: Math.round(100 * one.sure) });
  button.addEventListener("click", () => begin(one));
  item.append(button);
  if (one.after.trim()) item.append(made("span", one.after.trim(), { className: "soft pause" }));
  return item;
}

function steps(rows) {
  const place = document.getElementById("steps");
  document.getElementById("no-steps").hidden = rows.length > 0;
  const stages = [...new Set(rows.map((row) => row.stage))];
  place.replaceChildren(...stages.map((stage) => {
    const part = document.createElement("div");
    part.className = "scroll";
    const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    for (const title of [STAGES[stage] ?? stage, t("before"), t("after")]) head.append(made("th", title));
    for (const row of rows.filter((one) => one.stage === stage)) {
      const line = body.insertRow();
      line.append(made("td", row.rule, { className: "rule" }));
      for (const value of [row.before, row.after]) {
        const cell = document.createElement("td");
        cell.append(made("bdi", value));
        line.append(cell);
      }
    }
    part.append(table);
    return part;
  }));
}

let planned = 0;
function soon(work) {
  clearTimeout(planned);
  planned = setTimeout(work, PAUSE);
}
text.addEventListener("input", () => soon(read));
if (text.value.trim()) read();

// ---- one's own words

function begin(one) {
  if (!add) return;
  add.elements.word.value = one.text;
  add.elements.phones.value = one.symbols.join(" ");
  add.elements.phones.focus();
  consider();
}

let asked = 0;
async function consider() {
  const word = add.elements.word.value.trim(), phones = add.elements.phones.value.trim(), mine = ++asked;
  look.className = "";
  look.textContent = "";
  if (!word) return;
  try {
    const found = await quietly(`${api}/look`, { word, phones });
    if (mine !== asked) return;
    look.append(made("bdi", found.word), ": ", t("said now"), " ", made("span", found.before || t("nothing"), { className: "symbols" }));
    if (found.after && found.after !== found.before) look.append(", ", t("then"), " ", made("span", found.after, { className: "symbols" }));
    const touches = made(found.where ? "a" : "span", found.said);
    if (found.where) touches.href = `/w/${encodeURIComponent(workspace())}/clips?where=${encodeURIComponent(found.where)}`;
    look.append("; ", touches, ".");
  } catch (wrong) {
    if (mine !== asked) return;
    look.className = "error";
    look.textContent = wrong.message;
  }
}

function line(word, phones) {
  const row = document.createElement("tr"), name = made("th", ""), last = made("td", "", { className: "n" });
  row.dataset.word = word;
  name.scope = "row";
  name.append(made("bdi", word));
  const out = made("button", t("Take out"), { type: "button", className: "small" });
  out.dataset.remove = "";
  last.append(out);
  row.append(name, made("td", phones, { className: "symbols" }), last);
  return row;
}

const rowOf = (word) => [...held.querySelectorAll("tr")].find((row) => row.dataset.word === word);

function changed(said) {
  tell(said);
  document.getElementById("stale").textContent = t("Something has changed since the clips were read.");
  document.getElementById("read-again")?.classList.add("main");
  read();
}

add?.addEventListener("input", () => soon(() => { consider(); read(); }));
add?.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const done = await post(api, { word: add.elements.word.value, phones: add.elements.phones.value });
    rowOf(done.word)?.remove();
    held.querySelector("tbody").prepend(line(done.word, done.phones));
    held.hidden = false;
    add.reset();
    look.textContent = "";
    changed(done.said);
  } catch { /* it was told */ }
});
document.getElementById("phones")?.addEventListener("click", (event) => {
  const phone = event.target.closest("button");
  if (!phone) return;
  const field = add.elements.phones;
  field.value = `${field.value.trim()} ${phone.textContent}`.trim();
  consider();
});
held?.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-remove]");
  if (!button) return;
  const row = button.closest("tr");
  try {
    const done = await post(`${api}/remove`, { word: row.dataset.word });
    row.remove();
    held.hidden = !held.querySelector("tbody tr");
    changed(done.said);
  } catch { /* it was told */ }
});
