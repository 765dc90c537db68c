// A look: comes to its result by itself; "take in" is the same import without the dry run.
import { post, watch, workspace } from "./live.js";
import { t } from "./t.js";

const now = document.getElementById("look-now");
if (now) {
  const bar = now.querySelector("progress");
  watch(`job:${now.dataset.number}`, (kind, job) => {
    if (kind !== "job") return;
    if (["done", "failed", "stopped", "lost"].includes(job.state)) return location.reload();
    if (bar && job.tick?.total) {
      bar.max = job.tick.total;
      bar.value = job.tick.done;
    }
    const far = now.querySelector(".far");
    if (far && job.tick) far.textContent = `${t("{n} of {all}", { n: job.tick.done, all: job.tick.total || "?" })}, ${job.tick.what}`;
    else if (!far && job.state === "running") location.reload(); // it waited, and has begun
  });
}

const take = document.querySelector("form[data-take]");
take?.addEventListener("submit", async (event) => {
  event.preventDefault();
  event.stopImmediatePropagation();
  const options = JSON.parse(take.dataset.options);
  delete options.dry_run;
  delete options.ws;
  take.querySelector("button").disabled = true;
  try {
    const job = await post("/api/jobs", { ws: workspace(), verb: "import", options });
    location.href = `/w/${encodeURIComponent(workspace())}/import/${job.number}`;
  } catch {
    take.querySelector("button").disabled = false;
  }
});
