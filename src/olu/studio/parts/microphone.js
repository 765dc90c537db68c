// The microphone: plain samples, one channel, with nothing done to them where the device lets us. 48 kHz; a device that
// runs at 44.1 kHz keeps that, so that no sample is made anew.

const RATE = 48000, OTHER_RATE = 44100;
const UNTOUCHED = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

export class Microphone extends EventTarget {
  // What the device does to the sound though it was asked not to.
  get processing() {
    const now = this.stream.getAudioTracks()[0].getSettings();
    return Object.keys(UNTOUCHED).filter((name) => now[name]);
  }

  async open() {
    this.stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, sampleRate: RATE, ...UNTOUCHED } });
    const own = this.stream.getAudioTracks()[0].getSettings().sampleRate;
    this.context = new AudioContext({ sampleRate: own === OTHER_RATE ? own : RATE });
    await this.context.audioWorklet.addModule("/parts/microphone-worklet.js");
    this.node = new AudioWorkletNode(this.context, "olu-microphone", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
    this.node.port.onmessage = ({ data }) => this.heard(data);
    this.context.createMediaStreamSource(this.stream).connect(this.node);
    await this.context.resume();
    this.stream.getAudioTracks()[0].addEventListener("ended", () => this.dispatchEvent(new Event("ended")));
  }

  heard({ samples, peak, rms, last }) {
    if (samples && this.parts) this.parts.push(samples);
    this.dispatchEvent(new CustomEvent("level", { detail: { peak, rms } }));
    if (last) this.stopped?.();
  }

  async start() {
    if (this.context.state !== "running") await this.context.resume();
    this.parts = [];
    this.node.port.postMessage("start");
  }

  // A WAV file of what was said since the start.
  async stop() {
    const done = new Promise((tell) => (this.stopped = tell));
    this.node.port.postMessage("stop");
    await done;
    const made = wav(this.parts, this.context.sampleRate);
    this.parts = null;
    return made;
  }
}

// 16-bit mono. A sample that came as 16 bits leaves as the same 16 bits.
export function wav(parts, rate) {
  const count = parts.reduce((sum, one) => sum + one.length, 0);
  const view = new DataView(new ArrayBuffer(44 + 2 * count));
  const text = (at, letters) => [...letters].forEach((one, n) => view.setUint8(at + n, one.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * count, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * count, true);
  let at = 44;
  for (const part of parts)
    for (const one of part) {
      view.setInt16(at, Math.max(-32768, Math.min(32767, Math.round(one * 32768))), true);
      at += 2;
    }
  return view.buffer;
}
