// Hands on what the microphone gives, and how loud it is, about twenty times a second.
const EVERY = 2048; // samples

registerProcessor("olu-microphone", class extends AudioWorkletProcessor {
  constructor() {
    super();
    this.held = new Float32Array(EVERY);
    this.count = 0;
    this.on = false;
    this.port.onmessage = ({ data }) => {
      this.send(data === "stop");
      this.on = data === "start";
    };
  }

  send(last) {
    const samples = this.held.slice(0, this.count);
    let peak = 0, power = 0;
    for (const one of samples) {
      peak = Math.max(peak, Math.abs(one));
      power += one * one;
    }
    const rms = Math.sqrt(power / Math.max(1, samples.length));
    this.port.postMessage({ samples: this.on ? samples : null, peak, rms, last });
    this.count = 0;
  }

  process([[samples]]) {
    for (let at = 0; samples && at < samples.length; ) {
      const room = Math.min(samples.length - at, EVERY - this.count);
      this.held.set(samples.subarray(at, at + room), this.count);
      this.count += room;
      at += room;
      if (this.count === EVERY) this.send(false);
    }
    return true;
  }
});
