// Choose a file or a folder of the studio's folders, in a dialog.
import { get } from "./live.js";
import { t } from "./t.js";

const dialog = document.createElement("dialog");
dialog.className = "picker";
dialog.setAttribute("aria-labelledby", "picker-title");
const title = Object.assign(document.createElement("h2"), { id: "picker-title" });
const list = document.createElement("ul");
const row = Object.assign(document.createElement("p"), { className: "buttons" });
const take = Object.assign(document.createElement("button"), { type: "button", className: "main", textContent: t("Take this folder") });
const cancel = Object.assign(document.createElement("button"), { type: "button", textContent: t("Cancel") });
row.append(take, cancel);
dialog.append(title, list, row);
document.body.append(dialog);
let done = () => {};
let here = "";

const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`);

function entry(name, about, act) {
  const item = document.createElement("li");
  const button = Object.assign(document.createElement("button"), { type: "button" });
  const text = Object.assign(document.createElement("bdi"), { textContent: name });
  button.append(text, Object.assign(document.createElement("span"), { className: "soft", textContent: about }));
  button.addEventListener("click", act);
  item.append(button);
  list.append(item);
}

async function open(at) {
  const told = await get(`/api/files?at=${encodeURIComponent(at)}`);
  here = told.at;
  title.textContent = told.at ? told.at.split(/[\\/]/).pop() || told.at : t("Folders of the studio");
  take.disabled = !told.at;
  list.replaceChildren();
  if (told.above !== null) entry("..", t("the folder above"), () => open(told.above));
  for (const one of told.entries)
    entry(one.name, one.folder ? (one.workspace ? t("workspace") : t("folder")) : size(one.bytes), () => (one.folder ? open(one.path) : end(one.path)));
  if (!told.entries.length) list.append(Object.assign(document.createElement("li"), { className: "soft", textContent: t("Empty.") }));
  if (told.more) list.append(Object.assign(document.createElement("li"), { className: "soft", textContent: t("… and {n} more", { n: told.more }) }));
}

function end(path) {
  dialog.close();
  done(path);
}
take.addEventListener("click", () => end(here));
cancel.addEventListener("click", () => dialog.close());

// Gives the path that was chosen, or null.
export function pick(at = "") {
  return new Promise((found) => {
    let chosen = null;
    done = (path) => (chosen = path);
    dialog.addEventListener("close", () => found(chosen), { once: true });
    open(at).catch(() => open(""));
    dialog.showModal();
  });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.pick");
  if (!button) return;
  const input = document.getElementById(button.dataset.for);
  const path = await pick(input.value.startsWith("/") ? input.value.replace(/\/[^/]*$/, "") : "");
  if (path === null) return;
  input.value = path;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.focus();
});
