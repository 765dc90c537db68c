// Numpy's generator: SeedSequence, PCG64 and float32 normal numbers, so that a seed means the same here and in Python.

const WORDS = 4;

function hashed(multiplier, first) {
  let held = first;
  return (value) => {
    value = (value ^ held) >>> 0;
    held = Math.imul(held, multiplier) >>> 0;
    value = Math.imul(value, held) >>> 0;
    return (value ^ value >>> 16) >>> 0;
  };
}

function mixed(a, b) {
  const made = (Math.imul(0xca01f9dd, a) - Math.imul(0x4973f715, b)) >>> 0;
  return (made ^ made >>> 16) >>> 0;
}

function words(number) { // of 32 bits, the lowest first
  let left = BigInt(number);
  const made = [];
  do { made.push(Number(left & 0xffffffffn)); left >>= 32n; } while (left);
  return made;
}

/** The state that numpy's SeedSequence makes of whole numbers: eight words of 32 bits. */
export function seedWords(numbers) {
  const entropy = numbers.flatMap(words), hash = hashed(0x931e8875, 0x43b0d7e5), pool = [];
  for (let at = 0; at < WORDS; at++) pool.push(hash(entropy[at] ?? 0));
  for (let from = 0; from < WORDS; from++) for (let to = 0; to < WORDS; to++) if (from !== to) pool[to] = mixed(pool[to], hash(pool[from]));
  for (let from = WORDS; from < entropy.length; from++) for (let to = 0; to < WORDS; to++) pool[to] = mixed(pool[to], hash(entropy[from]));
  const last = hashed(0x58f38ded, 0x8b51f9dd);
  return Array.from({ length: 8 }, (_, at) => last(pool[at % WORDS]));
}

// Whole numbers of 128 bits as eight parts of 16, the lowest first.
const MULTIPLIER = parts(0x2360ed051fc65da44385df649fccf645n);
function parts(number) { return Uint32Array.from({ length: 8 }, (_, at) => Number(number >> BigInt(16 * at) & 0xffffn)); }

const LEVELS = 256, EDGE = 3.6541528853610088, AREA = 0.004928673233974655, BITS23 = 2 ** 23;
const TABLES = (() => {
  const k = new Uint32Array(LEVELS), w = new Float32Array(LEVELS), f = new Float32Array(LEVELS);
  const height = (x) => Math.exp(-0.5 * x * x);
  let x = EDGE;
  const base = AREA / height(x);
  k[0] = Math.floor(x / base * BITS23);
  w[0] = base / BITS23;
  f[0] = 1;
  w[LEVELS - 1] = x / BITS23;
  f[LEVELS - 1] = height(x);
  for (let at = LEVELS - 2; at > 0; at--) {
    const next = Math.sqrt(-2 * Math.log(AREA / x + height(x)));
    k[at + 1] = Math.floor(next / x * BITS23);
    w[at] = next / BITS23;
    f[at] = height(next);
    x = next;
  }
  k[1] = 0;
  return { k, w, f };
})();
const INVERSE = Math.fround(1 / EDGE), TAIL = Math.fround(EDGE), round = Math.fround;

export class Random {
  constructor(...numbers) {
    const seed = seedWords(numbers), wide = (at) => BigInt(seed[at]) | BigInt(seed[at + 1]) << 32n;
    const start = wide(0) << 64n | wide(2), stream = wide(4) << 64n | wide(6);
    this.step = parts((stream << 1n | 1n) & (1n << 128n) - 1n);
    this.state = new Uint32Array(8);
    this.kept = -1; // the upper half of a number whose lower half was taken
    this.advance();
    this.plus(parts(start));
    this.advance();
  }
  plus(other) { let carry = 0; for (let at = 0; at < 8; at++) { const sum = this.state[at] + other[at] + carry; this.state[at] = sum & 0xffff; carry = sum >>> 16; } }
  advance() {
    const s = this.state, m = MULTIPLIER, made = [0, 0, 0, 0, 0, 0, 0, 0];
    let carry = 0;
    for (let at = 0; at < 8; at++) {
      let sum = carry + this.step[at];
      for (let one = 0; one <= at; one++) sum += s[one] * m[at - one];
      made[at] = sum % 65536;
      carry = Math.floor(sum / 65536);
    }
    for (let at = 0; at < 8; at++) s[at] = made[at];
  }
  uint32() {
    if (this.kept >= 0) { const half = this.kept; this.kept = -1; return half; }
    this.advance();
    const s = this.state;
    let low = ((s[0] | s[1] << 16) ^ (s[4] | s[5] << 16)) >>> 0, high = ((s[2] | s[3] << 16) ^ (s[6] | s[7] << 16)) >>> 0;
    let turn = s[7] >>> 10; // the upper six bits: so far is turned to the right
    if (turn >= 32) { [low, high] = [high, low]; turn -= 32; }
    if (turn) [low, high] = [(low >>> turn | high << 32 - turn) >>> 0, (high >>> turn | low << 32 - turn) >>> 0];
    this.kept = high;
    return low;
  }
  float() { return (this.uint32() >>> 8) / 16777216; }
  normal() {
    const { k, w, f } = TABLES;
    for (;;) {
      const bits = this.uint32(), at = bits & 255, size = bits >>> 9 & 0x7fffff, x = round(bits & 256 ? -round(size * w[at]) : round(size * w[at]));
      if (size < k[at]) return x;
      if (at === 0) {
        for (;;) {
          const far = round(-INVERSE * round(Math.log1p(-this.float()))), high = round(-round(Math.log1p(-this.float())));
          if (round(high + high) > round(far * far)) return round(size >>> 8 & 1 ? -(TAIL + far) : TAIL + far);
        }
      }
      if (round(round(round(f[at - 1] - f[at]) * this.float()) + f[at]) < Math.exp(-0.5 * x * x)) return x;
    }
  }
  normals(count) { const made = new Float32Array(count); for (let at = 0; at < count; at++) made[at] = this.normal(); return made; }
}
