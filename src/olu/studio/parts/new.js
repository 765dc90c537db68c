import { fields, post } from "./live.js";

const form = document.getElementById("new");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const made = await post("/api/workspaces", fields(form));
    location.href = `${made.address}/import`;
  } catch {
    button.disabled = false;
  }
});
