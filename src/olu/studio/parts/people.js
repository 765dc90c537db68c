// Links: made, shown once with their code, taken back.
import { fields, post, tell } from "./live.js";
import { t } from "./t.js";

// The address of a new link, in a field to copy from, and its code for a camera.
export function showLink(place, made) {
  place.replaceChildren();
  const head = document.createElement("h3");
  head.textContent = t("The link of {name}", { name: made.name });
  const line = document.createElement("div");
  line.className = "command";
  const code = document.createElement("code");
  code.textContent = made.address;
  const copy = Object.assign(document.createElement("button"), { type: "button", className: "small copy", textContent: t("Copy") });
  line.append(code, copy);
  const once = document.createElement("p");
  once.className = "soft";
  once.textContent = made.far
    ? t("It is shown this once: copy it, or let the phone read the code.")
    : t("It is shown this once. It opens on this machine alone: for phones, start the studio with --host 0.0.0.0 --https, or behind a proxy.");
  const picture = document.createElement("div");
  picture.className = "qr-place";
  picture.innerHTML = made.qr; // made by the studio, which escapes
  place.append(head, line, once, picture);
  place.hidden = false;
  place.focus();
}

const form = document.getElementById("link-form");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  try {
    const ask = fields(form);
    if (ask.role === "owner") delete ask.ws;
    showLink(document.getElementById("link-made"), await post("/api/links", ask));
    form.reset();
  } catch { /* told */ } finally {
    button.disabled = false;
  }
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.revoke");
  if (!button || !confirm(t("Take this link back? Who has it cannot come in any more. What was done stays."))) return;
  const row = button.closest("[data-link]");
  try {
    const done = await post(`/api/links/${row.dataset.link}/revoke`);
    row.querySelector(".tag").textContent = t(done.state);
    row.querySelector(".tag").className = "tag info";
    button.remove();
    tell(t("The link of {name} is taken back.", { name: done.name }));
  } catch { /* told */ }
});
