const at = id => document.getElementById(id);
const store = "olu-texts-" + data.id;
let texts = {};  // clip id -> {text, done}
try { texts = JSON.parse(localStorage.getItem(store) || "{}"); } catch { texts = {}; }
function keep() { try { localStorage.setItem(store, JSON.stringify(texts)); } catch { /* private windows */ } }
function done() { return data.rows.filter(row => texts[row.id] && texts[row.id].done && texts[row.id].text.trim()); }
function tell() {
  const ready = done().length;
  at("place").textContent = `${ready} of ${data.rows.length} done` + (ready === data.rows.length ? ": save them below." : "");
  at("bar").style.width = 100 * ready / data.rows.length + "%";
  at("save").disabled = ready === 0;
}
function element(kind, made) { return Object.assign(document.createElement(kind), made || {}); }
function words(row) {
  const line = element("p", { className: "said", lang: data.language, dir: "auto" });
  row.draft.split(" ").forEach((word, place) => {
    const sure = row.sure[place], unsure = sure < data.unsure;
    line.append(place ? " " : "", element(unsure ? "mark" : "span", { textContent: word, title: `${Math.round(100 * sure)} %` }));
  });
  return line;
}
function add(row, number) {
  const held = texts[row.id] || { text: row.draft, done: false };
  const item = element("div", { className: "item" });
  const sure = row.confidence === null ? "" : `; draft, ${Math.round(100 * row.confidence)} % sure of a word`;
  item.append(element("h4", { textContent: `${number + 1}. ${row.seconds.toFixed(1)} s${sure}` }));
  const player = element("audio", { controls: true, preload: "none", src: row.mp3 });
  item.append(player);
  if (row.draft) item.append(words(row));
  const box = element("textarea", { value: held.text, rows: 2, lang: data.language, dir: "auto", spellcheck: false });
  box.setAttribute("aria-label", `Text ${number + 1}`);
  box.style.width = "100%";
  const tick = element("input", { type: "checkbox", checked: held.done });
  const label = element("label");
  label.append(tick, " done");
  item.append(box, label);
  function change() {
    texts[row.id] = { text: box.value.replace(/\s+/g, " "), done: tick.checked };
    keep();
    tell();
  }
  box.addEventListener("input", change);
  tick.addEventListener("change", change);
  box.addEventListener("keydown", event => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      tick.checked = true;
      change();
      const next = document.querySelectorAll("textarea")[number + 1];
      if (next) next.focus();
    } else if (event.code === "Space" && event.ctrlKey) {
      event.preventDefault();
      if (player.paused) player.play().catch(() => {}); else player.pause();
    }
  });
  at("rows").append(item);
}
function cell(text) { return /[",\n;]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text; }
function table() {
  const rows = done().map(row => [row.id, texts[row.id].text.trim()].map(cell).join(","));
  return "\ufeff" + ["id,text", ...rows].join("\n") + "\n";
}
at("save").addEventListener("click", () => {
  const link = element("a", { href: URL.createObjectURL(new Blob([table()], { type: "text/csv" })), download: "texts.csv" });
  link.click();
  at("note").textContent = `${done().length} texts saved as texts.csv: olu correct WS texts.csv takes them.`;
});
data.rows.forEach(add);
tell();
