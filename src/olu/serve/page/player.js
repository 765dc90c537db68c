// Plays samples as they come in. Buffer sources and no worklet: browsers keep worklets to https, and a phone at home has http.

const AHEAD = 8; // seconds handed to the browser in advance
const LEAD = 0.12; // seconds before the first sample: what a busy browser may need to begin in time
const SAFE = 0.06; // seconds: what is given later than this before its turn would be played over what follows
const FIRST = 0.4; // seconds of sound to begin with: the first piece alone may end before the second is there
const REFILL = 0.4; // seconds of sound to wait for once it ran dry
const TAIL = 0.1; // seconds after the last sample before the sound counts as ended, so that its end is not cut
const LOOK = 100; // milliseconds between looks at the clock

export class Player {
  // Made when somebody presses a button: before that, browsers keep sound off.
  constructor(rate) {
    this.rate = rate;
    this.context = newContext(rate);
    this.onend = () => {};
    this.clear();
  }

  clear() {
    this.halt();
    this.chunks = []; // {samples, at}: `at` is the frame of the whole sound it begins with
    this.frames = 0;
    this.whole = false; // nothing more will come
    this.paused = false;
    this.going = false;
  }

  // Ready for a new sound.
  begin() {
    this.clear();
    this.next = { chunk: 0, skip: 0 };
    this.start();
  }

  add(samples) {
    if (!samples.length) return;
    this.chunks.push({ samples, at: this.frames });
    this.frames += samples.length;
    this.look();
  }

  finish() {
    this.whole = true;
    this.look();
  }

  // Plays on from a second of the sound, as far as it is made.
  seek(seconds) {
    const frame = Math.max(0, Math.min(Math.round(seconds * this.rate), this.frames - 1));
    const chunk = this.chunks.findLastIndex((one) => one.at <= frame);
    if (chunk < 0) return;
    this.halt();
    this.next = { chunk, skip: frame - this.chunks[chunk].at };
    this.paused = false;
    this.start();
    this.look();
  }

  pause() {
    this.paused = true;
    return this.context.suspend();
  }

  resume() {
    this.paused = false;
    return this.context.resume();
  }

  stop() {
    this.halt();
    this.going = this.paused = false;
    this.context.suspend();
  }

  get made() {
    return this.frames / this.rate;
  }

  // The second of the sound that is heard now.
  get time() {
    const now = this.context.currentTime - (this.context.outputLatency || 0);
    let at = this.parts.length ? this.parts[0].at : 0;
    for (const part of this.parts) {
      if (part.when > now) break;
      at = part.at + Math.min(now - part.when, part.seconds);
    }
    return at;
  }

  start() {
    this.going = true;
    this.waits = FIRST;
    this.context.resume();
    this.timer = setInterval(() => this.look(), LOOK);
  }

  halt() {
    clearInterval(this.timer);
    for (const part of this.parts ?? []) {
      part.source.onended = null;
      part.source.stop();
      part.source.disconnect();
    }
    this.parts = []; // what the browser was given: {source, when, seconds, at}
    this.until = 0; // the context's second at which that ends
  }

  look() {
    if (!this.going || this.paused) return;
    const now = this.context.currentTime;
    while (this.parts.length > 2 && this.parts[1].when + this.parts[1].seconds < now - 1) this.parts.shift();
    if (this.next.chunk < this.chunks.length && this.until < now + SAFE) {
      if (this.until > 0) this.waits = REFILL; // it ran dry
      const { chunk, skip } = this.next;
      const there = (this.frames - this.chunks[chunk].at - skip) / this.rate;
      if (there < this.waits && !this.whole) return;
      this.until = Math.ceil((now + LEAD) * this.rate) / this.rate;
    }
    while (this.next.chunk < this.chunks.length && this.until < now + AHEAD) this.give();
    const heard = now - (this.context.outputLatency || 0) - TAIL;
    if (this.whole && this.next.chunk >= this.chunks.length && heard > this.until) {
      this.stop();
      this.onend();
    }
  }

  give() {
    const { chunk, skip } = this.next;
    const { samples, at } = this.chunks[chunk];
    const buffer = this.context.createBuffer(1, samples.length - skip, this.rate);
    const channel = buffer.getChannelData(0);
    for (let i = skip; i < samples.length; i++) channel[i - skip] = samples[i] / 32768;
    const source = new AudioBufferSourceNode(this.context, { buffer });
    source.connect(this.context.destination);
    source.start(this.until);
    this.parts.push({ source, when: this.until, seconds: buffer.duration, at: (at + skip) / this.rate });
    this.until += buffer.duration;
    this.next = { chunk: chunk + 1, skip: 0 };
  }
}

function newContext(rate) {
  if (navigator.audioSession) navigator.audioSession.type = "playback"; // iPhones: also with the ringer off
  try {
    return new AudioContext({ sampleRate: rate }); // so that pieces join without a seam
  } catch {
    return new AudioContext();
  }
}
