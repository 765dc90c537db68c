// Files to the studio, in pieces. What broke off goes on where it was: the server says how much it has.
import { post, tell, workspace } from "./live.js";
import { t } from "./t.js";

const PIECE = 8 * 2 ** 20;
const PAUSES = [500, 1000, 2000, 4000, 8000, 15000]; // milliseconds before the next try

const wait = (time) => new Promise((done) => setTimeout(done, time));
const encoded = (path) => path.split("/").map(encodeURIComponent).join("/");

// All files of a drop, those in folders too: [{ path, file }].
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ path: file.name, file }));
  const found = [];
  const visit = async (entry, before) => {
    const path = before + entry.name;
    if (entry.isFile) found.push({ path, file: await new Promise((done, failed) => entry.file(done, failed)) });
    else {
      const reader = entry.createReader();
      for (;;) {
        const part = await new Promise((done, failed) => reader.readEntries(done, failed));
        if (!part.length) break;
        for (const inner of part) await visit(inner, `${path}/`);
      }
    }
  };
  for (const entry of entries) await visit(entry, "");
  return found;
}

export const chosen = (input) => [...input.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

// Hidden files of systems are nobody's recordings.
const wanted = ({ path }) => !path.split("/").some((part) => part.startsWith(".") || part === "Thumbs.db");

export class Sending {
  constructor(files, told) {
    this.files = files.filter(wanted);
    this.bytes = this.files.reduce((sum, one) => sum + one.file.size, 0);
    this.told = told; // (sent, bytes, hint)
    this.paused = false;
    this.sent = 0;
  }

  get name() {
    const first = this.files[0]?.path ?? "";
    return first.includes("/") ? first.split("/")[0] : this.files.length === 1 ? first : t("{n} file", "{n} files", { n: this.files.length });
  }

  // Gives the folder on the server that holds them all.
  async run() {
    if (!this.files.length) throw new Error(t("There is no file in it."));
    const ask = { name: this.name, files: this.files.length, bytes: this.bytes };
    const { id, folder, here } = await post(`/api/w/${encodeURIComponent(workspace())}/uploads`, ask);
    for (const { path, file } of this.files) {
      const held = here[path];
      if (held?.whole) this.sent += file.size;
      else await this.file(id, path, file, held?.offset ?? 0);
      this.told(this.sent, this.bytes, "");
    }
    return folder;
  }

  async file(id, path, file, offset) {
    const before = this.sent;
    let tries = 0;
    this.sent = before + offset;
    do {
      while (this.paused) await wait(200);
      const url = `/api/w/${encodeURIComponent(workspace())}/uploads/${id}/${encoded(path)}?offset=${offset}&total=${file.size}`;
      let answer;
      try {
        answer = await fetch(url, { method: "PUT", headers: { "X-Olu-Studio": "1" }, body: file.slice(offset, offset + PIECE) });
      } catch {
        this.told(this.sent, this.bytes, t("The line is broken; it goes on by itself."));
        await wait(PAUSES[Math.min(tries++, PAUSES.length - 1)]);
        continue;
      }
      const value = await answer.json().catch(() => ({}));
      if (answer.status === 409) offset = value.offset; // a piece arrived whose answer did not
      else if (!answer.ok) throw new Error(value.error ?? t("The studio answered {n}.", { n: answer.status }));
      else offset = value.offset;
      if (value.whole) offset = file.size;
      tries = 0;
      this.sent = before + offset;
      this.told(this.sent, this.bytes, "");
      if (value.whole) return;
    } while (offset < file.size || file.size === 0);
  }
}

// Send files and show how far it is; gives the folder, or null where it failed.
export async function send(files, place) {
  const sending = new Sending(files, (sent, bytes, hint) => {
    place.querySelector("progress").value = bytes ? sent / bytes : 1;
    place.querySelector("[data-how]").textContent = t("{sent} of {all} MB", { sent: (sent / 1e6).toFixed(1), all: (bytes / 1e6).toFixed(1) });
    place.querySelector("[data-hint]").textContent = hint;
  });
  place.hidden = false;
  place.querySelector("[data-what]").textContent = sending.name;
  const button = place.querySelector("[data-pause]");
  button.onclick = () => {
    sending.paused = !sending.paused;
    button.textContent = sending.paused ? t("Go on") : t("Pause");
  };
  const stay = (event) => event.preventDefault();
  addEventListener("beforeunload", stay);
  try {
    return await sending.run();
  } catch (wrong) {
    tell(wrong.message, { error: true });
    return null;
  } finally {
    removeEventListener("beforeunload", stay);
  }
}
