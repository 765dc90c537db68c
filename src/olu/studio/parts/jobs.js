// The list of jobs, as it changes; and stopping one.
import { load, post, watch } from "./live.js";

const place = document.getElementById("jobs");
let planned = 0;
const again = () => {
  clearTimeout(planned);
  planned = setTimeout(async () => {
    const open = place.querySelector("details")?.open;
    await load(place, place.dataset.loadFrom);
    const now = place.querySelector("details");
    if (now && open) now.open = true;
  }, 150);
};
watch("jobs", again);

place.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-stop]");
  if (!button) return;
  button.disabled = true;
  try {
    await post(button.dataset.stop);
  } finally {
    again();
  }
});
