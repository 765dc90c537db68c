// The sentences as they are said, each word with its times.

const WORD = /[\p{L}\p{M}\p{N}'’ʼ-]+/gu;
const LOOK = 4; // words of the text in which one that is said is looked for after a number

export class Words {
  constructor({ said, rows, many, onpick, counted = (n) => (n === 1 ? "1 word" : `${n} words`) }) {
    Object.assign(this, { said, rows, many, counted });
    said.addEventListener("click", ({ target }) => {
      const start = target.closest("[data-start]")?.dataset.start;
      if (start) onpick(Number(start));
    });
    rows.addEventListener("click", ({ target }) => target.dataset.start && onpick(Number(target.dataset.start)));
    this.clear();
  }

  clear() {
    this.said.replaceChildren();
    this.rows.replaceChildren();
    this.shown = []; // {start, end, element}, in the text
    this.listed = []; // {word, start, end, element}, in the table
    this.count();
  }

  count() {
    this.many.textContent = this.counted(this.listed.length);
  }

  add({ text, words, unsaid }, lang) {
    const paragraph = document.createElement("p");
    Object.assign(paragraph, { lang, dir: "auto" });
    const silent = silentIn(text, unsaid ?? {});
    for (const part of placed(text, words)) {
      if (part.start === undefined) {
        paragraph.append(...struck(part.text, silent));
        continue;
      }
      const element = document.createElement("span");
      element.append(...struck(part.text, silent));
      element.title = `${part.start.toFixed(2)} to ${part.end.toFixed(2)} s`;
      element.dataset.start = part.start;
      paragraph.append(element);
      this.shown.push({ start: part.start, end: part.end, element });
    }
    this.said.append(paragraph);
    for (const [word, start, end] of words) this.rows.append(this.row(word, start, end, lang));
    this.count();
  }

  row(word, start, end, lang) {
    const element = document.createElement("tr");
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: word, lang, dir: "auto" });
    button.dataset.start = start;
    for (const content of [button, start.toFixed(2), end.toFixed(2)]) element.insertCell().append(content);
    this.listed.push({ word, start, end, element });
    return element;
  }

  // Marks what is heard at this second; none is marked in a pause, and after `null`.
  at(second) {
    this.marked = mark(this.shown, second, this.marked, this.said);
    this.marked_row = mark(this.listed, second, this.marked_row, null);
  }

  srt() {
    const cues = this.listed.map(({ word, start, end }, i) => `${i + 1}\n${clock(start)} --> ${clock(end)}\n${word}\n`);
    return cues.join("\n");
  }
}

function mark(items, second, before, box) {
  const found = second === null ? undefined : items.findLast((item) => item.start <= second);
  const now = found && second < found.end ? found.element : undefined;
  if (now === before) return now;
  before?.classList.remove("now");
  now?.classList.add("now");
  if (now && box) keepInSight(now, box);
  return now;
}

// Scrolls the box and never the page: somebody may be reading elsewhere.
function keepInSight(element, box) {
  const inner = element.getBoundingClientRect();
  const outer = box.getBoundingClientRect();
  if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + inner.height;
  else if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top + inner.height;
}

// Cuts a text at its words and gives each the times of what is said for it: "12" may be said as three words.
export function placed(text, words) {
  const tokens = [...text.matchAll(WORD)].map((one) => ({ from: one.index, to: one.index + one[0].length, key: folded(one[0]) }));
  const times = new Map(); // number of the token -> [start, end]
  let at = 0;
  let waiting = []; // words that are said and were not found as they stand
  const settle = (until) => {
    const last = Math.min(until, tokens.length) - 1;
    if (waiting.length && last >= 0) {
      const first = Math.min(at, last);
      const start = times.get(first)?.[0] ?? waiting[0][1];
      for (let i = first; i <= last; i++) times.set(i, [start, waiting.at(-1)[2]]);
    }
    waiting = [];
  };
  for (const word of words) {
    const key = folded(word[0]);
    const near = tokens.slice(at, at + (waiting.length ? LOOK : 1)).findIndex((token) => token.key === key);
    if (near < 0) {
      waiting.push(word);
      continue;
    }
    settle(at + near);
    at += near;
    times.set(at, [word[1], word[2]]);
    at += 1;
  }
  settle(tokens.length);
  return pieces(text, tokens, times);
}

function pieces(text, tokens, times) {
  const found = [];
  let from = 0;
  tokens.forEach((token, i) => {
    const [start, end] = times.get(i) ?? [];
    if (start === undefined) return;
    if (token.from > from) found.push({ text: text.slice(from, token.from) });
    found.push({ text: text.slice(token.from, token.to), start, end });
    from = token.to;
  });
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

// What finds the letters that are not said; one that is said elsewhere in the sentence is not among them.
function silentIn(text, unsaid) {
  const found = Object.entries(unsaid)
    .map(([letter, count]) => ({ pattern: letter.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), count }))
    .filter(({ pattern, count }) => [...text.matchAll(new RegExp(pattern, "giu"))].length === count);
  return found.length ? new RegExp(`(${found.map(({ pattern }) => pattern).join("|")})`, "giu") : null;
}

function struck(text, silent) {
  if (!silent) return [text];
  return text.split(silent).map((piece, i) => {
    if (i % 2 === 0) return piece;
    const element = document.createElement("s");
    element.textContent = piece;
    element.title = "left out";
    return element;
  });
}

function folded(word) {
  return word.normalize("NFC").toLowerCase();
}

function clock(seconds) {
  const millis = Math.round(seconds * 1000);
  const two = (value) => String(Math.floor(value)).padStart(2, "0");
  const rest = String(millis % 1000).padStart(3, "0");
  return `${two(millis / 3_600_000)}:${two((millis / 60_000) % 60)}:${two((millis / 1000) % 60)},${rest}`;
}
