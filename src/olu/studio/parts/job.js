// One job: its progress, its log, stop, run again.
import { fewer, get, load, post, tell, watch } from "./live.js";
import { t } from "./t.js";

const now = document.getElementById("now");
const log = document.getElementById("log");
let next = 0;
let over = now.dataset.over === "1";
let timer = 0;

async function readLog() {
  const told = await get(`${now.dataset.api}/log?from=${next}`);
  if (told.cut) log.textContent = "…\n";
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
  log.append(told.text);
  next = told.next;
  if (atEnd) log.scrollTop = log.scrollHeight;
  if (over && !log.textContent) log.textContent = t("It wrote nothing.");
}

async function again() {
  timer = 0;
  await load(now, now.dataset.from);
  await readLog();
}

const leave = watch(`job:${now.dataset.number}`, (kind, data) => {
  if (kind !== "job") return;
  const before = over;
  over = ["done", "failed", "stopped", "lost"].includes(data.state);
  if (over && !before) fewer();
  if (over) clearTimeout(timer);
  if (over || !timer) timer = setTimeout(again, over ? 0 : 500); // what comes meanwhile is shown with it
  if (over) leave();
});
readLog();

now.addEventListener("click", async (event) => {
  const what = event.target.closest("[data-do]")?.dataset.do;
  if (!what) return;
  if (what === "kill" && !confirm(t("End it at once? What it has not saved is lost."))) return;
  event.target.disabled = true;
  try {
    if (what === "again") location.href = (await post(`${now.dataset.api}/again`)).address;
    else await post(`${now.dataset.api}/stop`, { at_once: what === "kill" });
    if (what !== "again") tell(t("Asked to end."));
  } catch {
    event.target.disabled = false;
  }
});
