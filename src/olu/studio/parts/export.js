// Export: another run shows its own formats; rights are saved beside the recordings.

import { post, tell, watch, workspace } from "/parts/live.js";
import { t } from "/parts/t.js";

const ws = encodeURIComponent(workspace());
document.getElementById("run")?.addEventListener("change", ({ target }) => {
  location.search = `?run=${encodeURIComponent(target.value)}`;
});
document.getElementById("rights")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = Object.fromEntries(new FormData(event.target));
  await post(`/api/w/${ws}/rights`, said);
  tell(t("Saved in olu.toml."));
  location.reload();
});
for (const link of document.querySelectorAll(".busy a")) {
  const number = link.href.split("/").at(-1);
  watch(`job:${number}`, (kind, row) => {
    if (kind === "job" && ["done", "failed", "stopped", "lost"].includes(row.state)) location.reload();
  });
}
