// The command that a form stands for, as it is filled; and a chooser for paths.
import { fields, workspace } from "./live.js";
import "./picker.js";

const form = document.querySelector("form[data-live]");
const shown = form.querySelector("[data-command]");
let timer = 0;

async function show() {
  const headers = { "Content-Type": "application/json", "X-Olu-Studio": "1" };
  const body = JSON.stringify({ ws: workspace(), verb: form.dataset.job, options: fields(form) });
  const answer = await fetch("/api/command", { method: "POST", headers, body });
  const told = await answer.json();
  shown.textContent = told.command ?? told.error;
  shown.classList.toggle("soft", !answer.ok);
}
form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(show, 250);
});
show();
