// The voices to choose from, by language, and the speakers of the chosen one.

import { recall, remember } from "./memory.js";

const REMEMBERED = "olu.voice";

export class Shelf {
  constructor({ voice, speaker, field, note }) {
    Object.assign(this, { list: voice, speakers: speaker, field, note, voices: [], seen: "" });
    voice.addEventListener("change", () => {
      remember(REMEMBERED, voice.value);
      this.chosen();
    });
  }

  get voice() {
    return this.voices.find((one) => one.id === this.list.value && !one.fault);
  }

  get speaker() {
    return this.field.hidden ? "" : this.speakers.value;
  }

  fill(voices) {
    const seen = JSON.stringify(voices);
    if (seen === this.seen) return; // nobody wants a list to change under the finger
    this.seen = seen;
    const before = this.list.value || recall(REMEMBERED);
    this.voices = voices.map((one) => ({ ...one, lang: tag(one.language) }));
    const groups = new Map();
    for (const one of this.voices) {
      const name = language(one);
      groups.set(name, [...(groups.get(name) ?? []), one]);
    }
    const sorted = [...groups].sort(([a], [b]) => a.localeCompare(b));
    this.list.replaceChildren(...sorted.map(([name, held]) => group(name, held)));
    const kept = this.voices.find((one) => one.id === before && !one.fault) ?? this.voices.find((one) => !one.fault);
    this.list.value = kept?.id ?? "";
    this.list.disabled = !kept;
    this.chosen();
  }

  chosen() {
    const { voice } = this;
    const speakers = voice?.speakers ?? [];
    this.field.hidden = speakers.length < 2;
    this.speakers.replaceChildren(...speakers.map((name) => new Option(name, name)));
    this.note.textContent = this.words(voice);
  }

  words(voice) {
    const bad = this.voices.filter((one) => one.fault).map((one) => one.id);
    const damaged = bad.length ? `Damaged, so not to be chosen: ${bad.join(", ")}.` : "";
    if (!voice) return `No voice is here yet. One that is put on the server appears by itself. ${damaged}`.trim();
    return `Language: ${language(voice)}. ${damaged}`.trim();
  }
}

function language(voice) {
  const name = voice.language_name;
  return name && name !== voice.language ? `${name} (${voice.language})` : voice.language;
}

function group(name, voices) {
  const element = document.createElement("optgroup");
  element.label = name;
  for (const one of voices) {
    const option = new Option(one.fault ? `${one.id} (damaged)` : one.id, one.id);
    option.disabled = Boolean(one.fault);
    element.append(option);
  }
  return element;
}

// "swa" as browsers know it: "sw".
function tag(code) {
  try {
    return Intl.getCanonicalLocales(code)[0] ?? "";
  } catch {
    return "";
  }
}
