// Takes wait on the device until the server has their hash. A take has a name of its own, so that sending it twice is
// sending it once; it is let go only when the server has named the same hash.

const NAME = "olu-recorder";
const FIRST_PAUSE = 1000, LONGEST_PAUSE = 20000; // milliseconds
let opened = null;

function database() {
  opened ??= new Promise((done, failed) => {
    const ask = indexedDB.open(NAME, 1);
    ask.onupgradeneeded = () => {
      ask.result.createObjectStore("takes", { keyPath: "take" });
      ask.result.createObjectStore("kept");
    };
    ask.onsuccess = () => done(ask.result);
    ask.onerror = () => failed(ask.error);
  });
  return opened;
}

async function inStore(store, mode, work) {
  const held = (await database()).transaction(store, mode, { durability: "strict" });
  const asked = work(held.objectStore(store));
  return new Promise((done, failed) => {
    held.oncomplete = () => done(asked?.result);
    held.onabort = held.onerror = () => failed(held.error ?? new Error("the device kept nothing"));
  });
}

// What was last known of a link, to go on with offline.
export const keep = (name, value) => inStore("kept", "readwrite", (store) => store.put(value, name));
export const kept = (name) => inStore("kept", "readonly", (store) => store.get(name));

export async function sha256(bytes) {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return [...new Uint8Array(digest)].map((one) => one.toString(16).padStart(2, "0")).join("");
}

export function newName() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");
}

export class Outbox extends EventTarget {
  constructor(link) {
    super();
    this.link = link;
    this.pause = FIRST_PAUSE;
    this.timer = 0;
    this.running = null;
    this.again = false;
    this.number = 0;
    addEventListener("online", () => this.flush());
    addEventListener("pageshow", () => this.flush());
  }

  // Keep a take: when this returns, it is on the device for good. Sending goes on by itself.
  async add({ prompt, bytes, processing = "" }) {
    this.number = Math.max(Date.now(), this.number + 1);
    const row = { take: newName(), link: this.link, prompt, bytes, processing, number: this.number, sha256: await sha256(bytes), refused: "" };
    await inStore("takes", "readwrite", (store) => store.add(row));
    this.told("waiting");
    this.flush();
    return row.take;
  }

  async waiting() {
    const all = (await inStore("takes", "readonly", (store) => store.getAll())) ?? [];
    return all.filter((one) => one.link === this.link).sort((a, b) => a.number - b.number);
  }

  // Send what waits, one by one, in its order; after a failure again, later. One sender at a time, over all tabs.
  flush() {
    if (this.running) {
      this.again = true;
      return this.running;
    }
    clearTimeout(this.timer);
    this.running = this.locked(() => this.send()).finally(() => {
      this.running = null;
      if (this.again) {
        this.again = false;
        this.flush();
      }
    });
    return this.running;
  }

  locked(work) {
    return navigator.locks ? navigator.locks.request("olu-outbox", work) : work();
  }

  async send() {
    for (const row of await this.waiting()) {
      const answer = await this.put(row);
      if (answer === null) return this.later();
      if (answer.gone) return this.told("closed", answer);
      if (answer.sha256 === row.sha256) {
        await inStore("takes", "readwrite", (store) => store.delete(row.take));
        this.pause = FIRST_PAUSE;
        this.told("arrived", answer);
      } else {
        this.told("refused", { ...row, said: answer.said });
      }
    }
    this.told("waiting");
  }

  // The server's answer; null where there was none worth the name: then the take stays, and is sent again.
  async put(row) {
    const ask = new URLSearchParams({ prompt: row.prompt, sha256: row.sha256, number: row.number, processing: row.processing });
    try {
      const found = await fetch(`/api/r/${this.link}/takes/${row.take}?${ask}`, {
        method: "PUT",
        headers: { "X-Olu-Studio": "1", "Content-Type": "audio/wav" },
        body: row.bytes,
      });
      const told = await found.json();
      if (found.ok) return told;
      if (found.status === 401 || found.status === 403) return { gone: true, said: told.error };
      if (found.status === 409 || found.status === 422) return { said: told.error };
      return null;
    } catch {
      return null;
    }
  }

  later() {
    this.told("waiting");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), this.pause);
    this.pause = Math.min(LONGEST_PAUSE, this.pause * 1.7);
  }

  told(kind, detail = {}) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
