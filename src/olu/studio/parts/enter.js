// The passphrase: sent once, and then a cookie opens the studio.
import { fields, post } from "./live.js";

const form = document.getElementById("enter");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    await post("/enter", fields(form));
    location.replace("/");
  } catch {
    button.disabled = false;
    form.passphrase.select();
  }
});
