// Prompts, speakers and the consent text of a workspace, for the owner.
import { fields, post, tell, workspace } from "./live.js";
import { showLink } from "./people.js";
import { t } from "./t.js";

const api = `/api/w/${encodeURIComponent(workspace())}`;

function sends(id, work) {
  document.getElementById(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter;
    button.disabled = true;
    try {
      await work(fields(event.target));
    } catch { /* told */ } finally {
      button.disabled = false;
    }
  });
}

sends("prompts-form", async (ask) => (location.href = (await post(`${api}/prompts`, ask)).address));
sends("speaker-form", async (ask) => {
  const made = await post("/api/links", { ...ask, role: "speaker", ws: workspace() });
  showLink(document.getElementById("link-made"), made);
});
sends("consent-form", async (ask) => {
  const made = await post(`${api}/consent`, ask);
  document.querySelector("label[for=consent-text]").textContent = t("Version {n}", { n: made.version });
  tell(t("Version {n} is in force: everybody is asked again.", { n: made.version }));
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.take-in");
  if (!button) return;
  const told = await post(`${api}/speakers/${button.dataset.speaker}/import`);
  location.href = `/w/${encodeURIComponent(workspace())}/jobs/${told.job}`;
});
