// The five doors of the import: each ends in a source, and then a look.
import { fields, post, tell, workspace } from "./live.js";
import { chosen, dropped, send } from "./uploads.js";
import "./picker.js";
import { t } from "./t.js";

const form = document.getElementById("import");
const tabs = [...document.querySelectorAll("[role=tab]")];
const home = `/w/${encodeURIComponent(workspace())}`;
let sent = null; // the folder of what was uploaded

function show(tab) {
  for (const one of tabs) {
    const on = one === tab;
    one.setAttribute("aria-selected", String(on));
    one.tabIndex = on ? 0 : -1;
    document.getElementById(one.getAttribute("aria-controls")).hidden = !on;
  }
  history.replaceState(null, "", `?door=${door()}`);
}
const door = () => tabs.find((one) => one.getAttribute("aria-selected") === "true").id.slice(5);
for (const tab of tabs) tab.addEventListener("click", () => show(tab));
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = tabs[(tabs.findIndex((one) => one.tabIndex === 0) + step + tabs.length) % tabs.length];
  show(next);
  next.focus();
});

async function upload(files) {
  const folder = await send(files, document.getElementById("sending"));
  if (folder === null) return;
  const one = files.length === 1 && /\.(zip|tar|tgz|tar\.(gz|bz2|xz))$/i.test(files[0].path);
  const tops = new Set(files.map(({ path }) => path.split("/")[0]));
  sent = one ? `${folder}/${files[0].path}` : tops.size === 1 && files[0].path.includes("/") ? `${folder}/${[...tops][0]}` : folder;
  tell(t("All files are here."));
  await look();
}

for (const place of document.querySelectorAll("[data-drop]")) {
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", async (event) => {
    event.preventDefault();
    place.classList.remove("over");
    await upload(await dropped(event.dataTransfer));
  });
}
for (const input of document.querySelectorAll("[data-files]"))
  input.addEventListener("change", () => input.files.length && upload(chosen(input)));

function source() {
  const panel = document.getElementById(`panel-${door()}`);
  if (door() === "hub") {
    const name = panel.querySelector("[data-hub-source]").value.trim();
    return name && (name.startsWith("hf:") ? name : `hf:${name}`);
  }
  return panel.querySelector("[data-source]")?.value.trim() || sent;
}

async function look() {
  const from = source();
  if (!from) return tell(door() === "computer" ? t("Drop or choose files first.") : t("Say where the recordings are first."), { error: true });
  const options = { ...fields(form), source: from, dry_run: true };
  if (door() !== "hub") for (const name of ["config", "split"]) delete options[name];
  const subtitles = form.querySelector("[data-subtitles]").value.trim();
  if (door() === "film" && subtitles) options.subtitles = subtitles;
  if (options.layout === "auto") delete options.layout;
  const job = await post("/api/jobs", { ws: workspace(), verb: "import", options });
  location.href = `${home}/import/${job.number}`;
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  look().catch(() => {});
});

document.addEventListener("click", async (event) => {
  const use = event.target.closest("[data-use]");
  const remove = event.target.closest("[data-remove]");
  if (use) {
    sent = use.dataset.use;
    show(tabs[0]);
    await look().catch(() => {});
  }
  if (remove && confirm(t("Remove this upload from the studio's disk?"))) {
    const answer = await fetch(remove.dataset.remove, { method: "DELETE", headers: { "X-Olu-Studio": "1" } });
    const told = await answer.json();
    if (answer.ok) location.reload();
    else tell(told.error, { error: true });
  }
});

document.getElementById("sample").addEventListener("click", async () => {
  const job = await post("/api/jobs", { ws: workspace(), verb: "sample", options: { folder: `sample-recordings-${Date.now().toString(36)}` } });
  location.href = job.address;
});
