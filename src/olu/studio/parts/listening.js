// Listening tests, for whoever makes them: a test from its form, links for people.
import { post, tell, workspace } from "./live.js";
import { showLink } from "./people.js";
import { t } from "./t.js";

const make = document.getElementById("make");
make?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = [...make.querySelectorAll(".check input:checked")];
  if (chosen.length < (make.elements.kind.value === "ab" ? 2 : 1)) return tell(t("Choose two or more to be heard."), { error: true });
  const options = { name: make.elements.name.value, kind: make.elements.kind.value, sentences: Number(make.elements.sentences.value) };
  for (const one of chosen) {
    if (one.name === "natural") { options.natural = true; continue; }
    const step = one.closest("label").querySelector("select")?.value;
    (options[one.name] ??= []).push(step ? `${one.value}@${step}` : one.value);
  }
  const button = event.submitter;
  button.disabled = true;
  try {
    const job = await post("/api/jobs", { ws: make.dataset.ws, verb: "listening", options });
    location.href = job.address;
  } catch {
    button.disabled = false;
  }
});

const people = document.getElementById("people");
people?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const names = people.elements.names.value.split("\n").map((name) => name.trim()).filter(Boolean);
  if (!names.length) return;
  event.submitter.disabled = true;
  try {
    const address = `/api/w/${encodeURIComponent(workspace())}/listening/${encodeURIComponent(people.dataset.test)}/links`;
    const answer = await post(address, { names, days: Number(people.elements.days.value) });
    const place = document.getElementById("made");
    place.replaceChildren(...answer.links.map((made) => {
      const card = document.createElement("div");
      card.className = "card form link-made";
      card.tabIndex = -1;
      return card;
    }));
    answer.links.forEach((made, at) => showLink(place.children[at], made));
    place.focus();
    people.elements.names.value = "";
    tell(t("{n} link made. It is shown this once.", "{n} links made. They are shown this once.", { n: answer.links.length }));
  } catch { /* told */ } finally {
    event.submitter.disabled = false;
  }
});
