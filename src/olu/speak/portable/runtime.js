// What the translated reading stands on: Python's strings, numbers, containers and patterns, as far as it uses them.
// Strings are counted in code points. Whole numbers are numbers, and BigInt where these end. Lists are arrays, tuples
// arrays of a kind of their own. What is not here is refused by name.
"use strict";
const $ = {}, G = {}, C = {}, F = {};
$.py = {};

// ---- errors

class PyError extends Error {
  constructor(kind, message, known) { super(message); this.kind = kind; this.name = kind; this.args = [message]; this.ours = !!known; }
}
const KINDS = { KeyError: ["LookupError"], IndexError: ["LookupError"] };
$.PyError = PyError;
$.fail = (kind, message) => { throw new PyError(kind, message); };
$.exception = (kind, known) => Object.assign((message) => new PyError(kind, message, known), { exception: kind });
$.raise = (error) => { throw error instanceof Error ? error : $.invoke(error, ""); };
$.missing = (name, why) => { throw new PyError("NotInThisReading", `${name} is not in this reading (${why}): read this text with Olu itself`); };
$.caught = (error, kinds) => error instanceof PyError && error.kind !== "NotInThisReading" &&
  kinds.some((kind) => kind === error.kind || kind === "Exception" || (KINDS[error.kind] || []).includes(kind) || (kind === "OluError" && error.ours));
$.no_hint = () => "";

// ---- strings, by code points

const ASTRAL = /[\ud800-\udfff]/;
let lastText = "", lastPoints = null;
function points(text) { // an array of characters where a string has any beyond the first plane, else nothing
  if (text !== lastText) { lastText = text; lastPoints = ASTRAL.test(text) ? Array.from(text) : null; }
  return lastPoints;
}
function textLength(text) { const own = points(text); return own ? own.length : text.length; }
function textAt(text, at) { const own = points(text); return own ? own[at] : text[at]; }
function textCut(text, from, to) { const own = points(text); return own ? own.slice(from, to).join("") : text.slice(from, to); }
function toUnits(text, at) { // a place in code points as one in JavaScript's units
  const own = points(text);
  if (!own) return at;
  let units = 0;
  for (let i = 0; i < at && i < own.length; i++) units += own[i].length;
  return units;
}
function toPoints(text, units) {
  if (!points(text)) return units;
  let count = 0;
  for (let i = 0; i < units; count++) i += text.codePointAt(i) > 0xffff ? 2 : 1;
  return count;
}
function compareText(a, b) {
  if (a === b) return 0;
  if (!ASTRAL.test(a) && !ASTRAL.test(b)) return a < b ? -1 : 1;
  const x = Array.from(a, (c) => c.codePointAt(0)), y = Array.from(b, (c) => c.codePointAt(0));
  for (let i = 0; i < x.length && i < y.length; i++) if (x[i] !== y[i]) return x[i] - y[i];
  return x.length - y.length;
}

// ---- Unicode, by the tables of the Python that wrote the reading

const U = {};
function expand(rows) { // start, length, start, length, each counted from the end of the one before
  const starts = [], ends = [];
  let at = 0;
  for (let i = 0; i < rows.length; i += 2) { at += rows[i]; starts.push(at); at += rows[i + 1]; ends.push(at); }
  return { starts, ends };
}
function findRange(ranges, code) {
  let low = 0, high = ranges.starts.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < ranges.starts[middle]) high = middle - 1;
    else if (code >= ranges.ends[middle]) low = middle + 1;
    else return middle;
  }
  return -1;
}
function pairs(text) { const own = Array.from(text), map = new Map(); for (let i = 0; i < own.length; i += 2) map.set(own[i], own[i + 1]); return map; }
$.unicode = (tables) => {
  U.categories = expand(tables.category.ranges);
  U.names = tables.category.names;
  for (const name of ["upper", "lower", "digit", "numeric"]) U[`is_${name}`] = expand(tables.is[name]);
  for (const name of ["lower", "upper", "casefold"]) {
    U[name] = pairs(tables.maps[name].single);
    for (const [from, to] of tables.maps[name].several) U[name].set(from, to);
  }
  U.combining = new Map(tables.combining);
  U.numbers = new Map(tables.numbers);
  U.ignorable = expand(tables.case_ignorable);
  U.cased = expand(tables.cased);
};
const small = new Map();
function category(char) {
  let found = small.get(char);
  if (found === undefined) {
    const at = findRange(U.categories, char.codePointAt(0));
    found = at < 0 ? "Cn" : U.names[at];
    if (small.size < 20000) small.set(char, found);
  }
  return found;
}
const isIn = (name) => (char) => findRange(U[name], char.codePointAt(0)) >= 0;
const isUpper = isIn("is_upper"), isLower = isIn("is_lower"), isDigit = isIn("is_digit"), isNumeric = isIn("is_numeric");
const isSpace = (char) => /^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/.test(char);
const isAlpha = (char) => category(char)[0] === "L";
const isAlnum = (char) => isAlpha(char) || category(char) === "Nd" || isDigit(char) || isNumeric(char);
const isPrintable = (char) => char === " " || !/^(?:C.|Z.)$/.test(category(char));
const isAscii = (text) => /^[\x00-\x7f]*$/.test(text);
$.normalize = (form, text) => isAscii(text) ? text : text.normalize(form);
$.category = category;
$.combining = (char) => U.combining.get(char) ?? 0;
$.decimal = (char) => category(char) === "Nd" ? U.numbers.get(char) ?? Number(char) : $.fail("ValueError", "not a decimal");
$.numeric = (char, otherwise) => {
  const found = U.numbers.get(char) ?? (/^[0-9]$/.test(char) ? Number(char) : undefined);
  return found !== undefined ? found : otherwise !== undefined ? otherwise : $.fail("ValueError", "not a numeric character");
};
const mapped = (name) => (text) => {
  let made = "";
  for (const char of text) made += U[name].get(char) ?? char;
  return made;
};
function lower(text) {
  if (isAscii(text)) return text.toLowerCase();
  if (!text.includes("Σ")) return mapped("lower")(text);
  const own = Array.from(text);
  return own.map((char, at) => char === "Σ" ? (finalSigma(own, at) ? "ς" : "σ") : U.lower.get(char) ?? char).join("");
}
function finalSigma(own, at) {
  const ignorable = (char) => findRange(U.ignorable, char.codePointAt(0)) >= 0, cased = (char) => findRange(U.cased, char.codePointAt(0)) >= 0;
  let before = at - 1, after = at + 1;
  while (before >= 0 && ignorable(own[before])) before--;
  if (before < 0 || !cased(own[before])) return false;
  while (after < own.length && ignorable(own[after])) after++;
  return after === own.length || !cased(own[after]);
}
// A character that is newer than Python's tables becomes one that no table has, so that classes of patterns agree.
$.known = (text) => {
  let made = "";
  for (const char of text) made += char < "\u0378" || category(char) !== "Cn" || /\p{Cn}/u.test(char) ? char : "\u0378";
  return made;
};

const every = (test) => (text) => text !== "" && Array.from(text).every(test);
function trimmed(text, chars, left, right) {
  const own = Array.from(text), out = chars == null ? isSpace : (char) => chars.includes(char);
  let from = 0, to = own.length;
  while (left && from < to && out(own[from])) from++;
  while (right && to > from && out(own[to - 1])) to--;
  return own.slice(from, to).join("");
}
function splitText(text, by, most) {
  if (by == null) {
    const parts = text.split(/[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u).filter((part) => part !== "");
    return most === undefined || most < 0 ? parts : $.missing("str.split", "a limit without a sign");
  }
  const parts = text.split(by);
  return most === undefined || most < 0 || parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(by)];
}
function found(text, part, from, to, last) {
  const start = from == null ? 0 : from < 0 ? Math.max(0, from + textLength(text)) : from;
  const end = to == null ? textLength(text) : to < 0 ? Math.max(0, to + textLength(text)) : Math.min(to, textLength(text));
  const cut = textCut(text, start, end), at = last ? cut.lastIndexOf(part) : cut.indexOf(part);
  return at < 0 || start > textLength(text) ? -1 : start + toPoints(cut, at);
}
function counted(text, part, from, to) {
  const cut = from == null && to == null ? text : $.slice(text, from ?? null, to ?? null, null);
  return part === "" ? textLength(cut) + 1 : cut.split(part).length - 1;
}
const anyOf = (one) => Array.isArray(one) ? one : [one];
const S = {
  lower, upper: (s) => isAscii(s) ? s.toUpperCase() : mapped("upper")(s), casefold: (s) => isAscii(s) ? s.toLowerCase() : mapped("casefold")(s),
  isalpha: every(isAlpha), isalnum: every(isAlnum), isspace: every(isSpace), isdigit: every((c) => category(c) === "Nd" || isDigit(c)),
  isdecimal: every((c) => category(c) === "Nd"), isprintable: (s) => Array.from(s).every(isPrintable), isascii: isAscii,
  isupper: (s) => { let seen = false; for (const c of s) { if (isLower(c) || category(c) === "Lt") return false; seen = seen || isUpper(c); } return seen; },
  islower: (s) => { let seen = false; for (const c of s) { if (isUpper(c) || category(c) === "Lt") return false; seen = seen || isLower(c); } return seen; },
  strip: (s, chars) => trimmed(s, chars, true, true), lstrip: (s, chars) => trimmed(s, chars, true, false), rstrip: (s, chars) => trimmed(s, chars, false, true),
  split: splitText, join: (s, parts) => [...parts].join(s), replace: (s, from, to) => from === "" ? $.missing("str.replace", "of nothing") : s.split(from).join(to),
  startswith: (s, head, from) => anyOf(head).some((one) => (from === undefined ? s : $.slice(s, from, null, null)).startsWith(one)),
  endswith: (s, tail) => anyOf(tail).some((one) => s.endsWith(one)),
  find: (s, part, from, to) => found(s, part, from, to, false), rfind: (s, part, from, to) => found(s, part, from, to, true),
  index: (s, part) => { const at = found(s, part); return at < 0 ? $.fail("ValueError", "substring not found") : at; },
  count: counted, encode: (s) => new TextBytes(s), removeprefix: (s, head) => head && s.startsWith(head) ? s.slice(head.length) : s,
  removesuffix: (s, tail) => tail && s.endsWith(tail) ? s.slice(0, -tail.length) : s,
  partition: (s, by) => { const at = s.indexOf(by); return $.tuple(at < 0 ? [s, "", ""] : [s.slice(0, at), by, s.slice(at + by.length)]); },
  translate: (s, table) => { let made = ""; for (const c of s) { const to = table.get(c.codePointAt(0)); made += to === undefined || !table.has(c.codePointAt(0)) ? c : to === null ? "" : typeof to === "number" ? String.fromCodePoint(to) : to; } return made; },
};
class TextBytes { constructor(text) { this.text = text; } }
function utf8(text) {
  const bytes = [];
  for (const char of text) {
    const code = char.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | code >> 6, 0x80 | code & 63);
    else if (code < 0x10000) bytes.push(0xe0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63);
    else bytes.push(0xf0 | code >> 18, 0x80 | code >> 12 & 63, 0x80 | code >> 6 & 63, 0x80 | code & 63);
  }
  return bytes;
}
const CRC = Uint32Array.from({ length: 256 }, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ n >>> 1 : n >>> 1; return n >>> 0; });
function crcOf(text) { let crc = 0xffffffff; for (const byte of utf8(text)) crc = CRC[(crc ^ byte) & 255] ^ crc >>> 8; return (crc ^ 0xffffffff) >>> 0; }
$.crc32 = (bytes) => crcOf(bytes.text);

// ---- containers

class Tuple extends Array {}
$.tuple = (items) => Object.setPrototypeOf(items, Tuple.prototype);
$.Slice = class { constructor(from, to, step) { Object.assign(this, { from, to, step }); } };
function keyOf(value) {
  if (typeof value === "string") return value.startsWith("\u0000") ? "\u0000s" + value : value;
  if (Array.isArray(value)) return "\u0000t" + value.map((one) => { const key = keyOf(one); return typeof key === "string" ? `${key.length}:${key}` : `n${typeof key}${key}`; }).join("\u0001");
  if (typeof value === "boolean") return Number(value);
  return value;
}
class Dict {
  constructor(rows) { this.rows = new Map(); if (rows) for (const [key, value] of rows) this.set(key, value); }
  set(key, value) { const at = keyOf(key), old = this.rows.get(at); if (old) old[1] = value; else this.rows.set(at, [key, value]); }
  has(key) { return this.rows.has(keyOf(key)); }
  get(key, otherwise) { const row = this.rows.get(keyOf(key)); return row ? row[1] : otherwise === undefined ? null : otherwise; }
  item(key) { const row = this.rows.get(keyOf(key)); return row ? row[1] : this.absent(key); }
  absent(key) { const error = new PyError("KeyError", $.repr(key)); error.args = [key]; throw error; }
  remove(key) { this.rows.delete(keyOf(key)); }
  pop(key, otherwise) { const row = this.rows.get(keyOf(key)); if (!row) return otherwise === undefined ? this.absent(key) : otherwise; this.remove(key); return row[1]; }
  setdefault(key, value) { if (!this.has(key)) this.set(key, value === undefined ? null : value); return this.item(key); }
  keys() { return [...this.rows.values()].map((row) => row[0]); }
  values() { return [...this.rows.values()].map((row) => row[1]); }
  items() { return [...this.rows.values()].map((row) => $.tuple([row[0], row[1]])); }
  update(other) { for (const [key, value] of other instanceof Dict ? other.items() : other) this.set(key, value); return null; }
  clear() { this.rows.clear(); return null; }
  copy() { return new this.constructor(this.items()); }
  get size() { return this.rows.size; }
  *[Symbol.iterator]() { for (const row of this.rows.values()) yield row[0]; }
}
class Counter extends Dict {
  constructor(given) { super(); if (given) this.update(given); }
  absent() { return 0; }
  update(given) { if (given instanceof Dict) for (const [key, count] of given.items()) this.set(key, this.item(key) + count); else for (const one of given) this.set(one, this.item(one) + 1); return null; }
  *elements() { for (const [key, count] of this.items()) for (let i = 0; i < count; i++) yield key; }
  most_common(most) { const rows = this.items(); rows.sort((a, b) => b[1] - a[1]); return most === undefined ? rows : rows.slice(0, most); }
}
class DefaultDict extends Dict {
  constructor(make) { super(); this.make = make; }
  absent(key) { const made = $.invoke(this.make); this.set(key, made); return made; }
}
class PySet {
  constructor(items) { this.rows = new Map(); if (items) for (const one of items) this.add(one); }
  add(one) { this.rows.set(keyOf(one), one); return null; }
  has(one) { return this.rows.has(keyOf(one)); }
  discard(one) { this.rows.delete(keyOf(one)); return null; }
  isdisjoint(other) { for (const one of other) if (this.has(one)) return false; return true; }
  issuperset(other) { for (const one of other) if (!this.has(one)) return false; return true; }
  issubset(other) { const held = new PySet(other); return held.issuperset(this); }
  union(...others) { const made = new PySet(this); for (const other of others) for (const one of other) made.add(one); return made; }
  update(...others) { for (const other of others) for (const one of other) this.add(one); return null; }
  get size() { return this.rows.size; }
  *[Symbol.iterator]() { yield* this.rows.values(); }
}
Object.assign($, { Dict, Counter, PySet });
$.items = (dict) => dict.items();
const L = {
  append: (list, one) => { list.push(one); return null; }, extend: (list, more) => { for (const one of [...more]) list.push(one); return null; },
  pop: (list, at) => { if (!list.length) $.fail("IndexError", "pop from empty list"); return at === undefined ? list.pop() : list.splice(at < 0 ? at + list.length : at, 1)[0]; },
  insert: (list, at, one) => { list.splice(at, 0, one); return null; }, clear: (list) => { list.length = 0; return null; },
  index: (list, one) => { const at = list.findIndex((other) => $.eq(one, other)); return at < 0 ? $.fail("ValueError", "not in list") : at; },
  count: (list, one) => list.filter((other) => $.eq(one, other)).length, reverse: (list) => { list.reverse(); return null; }, copy: (list) => list.slice(),
  tolist: (list) => list, sort: (list, named) => { const made = $.py.sorted(list, named); list.length = 0; list.push(...made); return null; },
};

// ---- truth, equality, order, numbers

$.t = (value) => {
  if (value === null || value === undefined || value === false || value === 0 || value === "" || value === 0n) return false;
  if (value === true || typeof value !== "object") return true;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Dict || value instanceof PySet) return value.size > 0;
  return value.__len__ ? value.__len__() > 0 : true;
};
$.eq = (a, b) => {
  if (a === b) return true;
  if (a === null || b === null || a === undefined || b === undefined) return false;
  if (typeof a !== "object" || typeof b !== "object") return typeof a === typeof b ? false : (typeof a === "boolean" || typeof b === "boolean") && typeof a !== "string" && typeof b !== "string" && Number(a) === Number(b);
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, at) => $.eq(one, b[at]));
  if (a instanceof Dict) return b instanceof Dict && a.size === b.size && a.keys().every((key) => b.has(key) && $.eq(a.item(key), b.item(key)));
  if (a instanceof PySet) return b instanceof PySet && a.size === b.size && a.issuperset(b);
  if (a instanceof Fraction) return b instanceof Fraction && a.numerator * b.denominator === b.numerator * a.denominator;
  return a.constructor === b.constructor && a.constructor.fields != null && a.constructor.fields.every(([name]) => $.eq(a[name], b[name]));
};
function compare(a, b) {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < a.length && i < b.length; i++) if (!$.eq(a[i], b[i])) return compare(a[i], b[i]);
    return a.length - b.length;
  }
  if (a instanceof Fraction || b instanceof Fraction) { const x = Fraction.of(a), y = Fraction.of(b), d = x.n * y.d - y.n * x.d; return d < 0n ? -1 : d > 0n ? 1 : 0; }
  if (a === null || b === null || typeof a === "object" || typeof b === "object") $.fail("TypeError", "these cannot be ordered");
  return a < b ? -1 : a > b ? 1 : 0;
}
$.lt = (a, b) => typeof a === "number" && typeof b === "number" ? a < b : a instanceof PySet ? b.issuperset(a) && a.size < b.size : compare(a, b) < 0;
$.le = (a, b) => typeof a === "number" && typeof b === "number" ? a <= b : a instanceof PySet ? b.issuperset(a) : compare(a, b) <= 0;
$.gt = (a, b) => $.lt(b, a);
$.ge = (a, b) => $.le(b, a);
const whole = (value) => { const plain = Number(value); return Number.isSafeInteger(plain) ? plain : value; };
const numbers = (a, b, quick, exact) => {
  if (typeof a === "boolean") a = Number(a);
  if (typeof b === "boolean") b = Number(b);
  if (typeof a === "number" && typeof b === "number") {
    const made = quick(a, b);
    if (Number.isSafeInteger(made) || !Number.isInteger(a) || !Number.isInteger(b) || !Number.isFinite(made)) return made;
  } else if ((typeof a === "number" && !Number.isInteger(a)) || (typeof b === "number" && !Number.isInteger(b))) return quick(Number(a), Number(b));
  return whole(exact(BigInt(a), BigInt(b)));
};
const isNumber = (value) => typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
$.add = (a, b) => {
  if (typeof a === "string" && typeof b === "string") return a + b;
  if (Array.isArray(a) && Array.isArray(b)) { const made = [...a, ...b]; return a instanceof Tuple ? $.tuple(made) : made; }
  if (a instanceof Fraction || b instanceof Fraction) return Fraction.of(a).plus(Fraction.of(b));
  if (!isNumber(a) || !isNumber(b)) $.fail("TypeError", "these cannot be added");
  return numbers(a, b, (x, y) => x + y, (x, y) => x + y);
};
$.iadd = (a, b) => { if (Array.isArray(a) && !(a instanceof Tuple)) { for (const one of [...b]) a.push(one); return a; } return $.add(a, b); };
$.sub = (a, b) => a instanceof PySet ? new PySet([...a].filter((one) => !new PySet(b).has(one))) : numbers(a, b, (x, y) => x - y, (x, y) => x - y);
$.isub = $.sub;
$.mul = (a, b) => {
  if (typeof a === "string") return a.repeat(Math.max(0, Number(b)));
  if (typeof b === "string") return $.mul(b, a);
  if (Array.isArray(b)) return $.mul(b, a);
  if (Array.isArray(a)) { const made = []; for (let i = 0; i < b; i++) made.push(...a); return a instanceof Tuple ? $.tuple(made) : made; }
  if (a instanceof Fraction || b instanceof Fraction) return Fraction.of(a).times(Fraction.of(b));
  return numbers(a, b, (x, y) => x * y, (x, y) => x * y);
};
$.div = (a, b) => Number(b) === 0 ? $.fail("ZeroDivisionError", "division by zero") : Number(a) / Number(b);
const bigFloor = (x, y) => { const q = x / y; return x % y !== 0n && (x < 0n) !== (y < 0n) ? q - 1n : q; };
$.floordiv = (a, b) => Number(b) === 0 ? $.fail("ZeroDivisionError", "division by zero") : numbers(a, b, (x, y) => Math.floor(x / y), bigFloor);
$.mod = (a, b) => Number(b) === 0 ? $.fail("ZeroDivisionError", "division by zero") : numbers(a, b, (x, y) => { const r = x % y; return r !== 0 && (r < 0) !== (y < 0) ? r + y : r; }, (x, y) => x - bigFloor(x, y) * y);
$.pow = (a, b) => numbers(a, b, (x, y) => x ** y, (x, y) => x ** y);
$.neg = (a) => typeof a === "boolean" ? -Number(a) : -a;
$.lshift = (a, b) => whole(BigInt(a) << BigInt(b));
$.rshift = (a, b) => whole(BigInt(a) >> BigInt(b));
$.bitor = (a, b) => a instanceof PySet ? a.union(b) : a instanceof Dict ? new a.constructor([...a.items(), ...b.items()]) : typeof a === "boolean" && typeof b === "boolean" ? a || b : whole(BigInt(a) | BigInt(b));
$.ibitor = (a, b) => { if (a instanceof PySet || a instanceof Dict) { a.update(b); return a; } return $.bitor(a, b); };
$.bitand = (a, b) => a instanceof PySet ? new PySet([...a].filter((one) => b.has(one))) : typeof a === "boolean" && typeof b === "boolean" ? a && b : whole(BigInt(a) & BigInt(b));
$.ibitand = $.bitand;
$.bitxor = (a, b) => whole(BigInt(a) ^ BigInt(b));

const gcd = (a, b) => { if (a < 0n) a = -a; while (b) [a, b] = [b, a % b]; return a; };
class Fraction {
  constructor(n, d) { if (d < 0n) [n, d] = [-n, -d]; const g = gcd(n, d) || 1n; this.n = n / g; this.d = d / g; }
  static of(value) {
    if (value instanceof Fraction) return value;
    if (typeof value === "string") { const [a, b = ""] = value.split("."); return new Fraction(BigInt(a + b), 10n ** BigInt(b.length)); }
    if (typeof value === "number" && !Number.isInteger(value)) { let d = 1n; while (!Number.isInteger(value)) { value *= 2; d *= 2n; } return new Fraction(BigInt(value), d); }
    return new Fraction(BigInt(value), 1n);
  }
  get numerator() { return whole(this.n); }
  get denominator() { return whole(this.d); }
  plus(o) { return new Fraction(this.n * o.d + o.n * this.d, this.d * o.d); }
  times(o) { return new Fraction(this.n * o.n, this.d * o.d); }
  floor() { return whole(this.n / this.d); } // int() cuts towards nothing
  limit_denominator(most) {
    const limit = BigInt(most);
    if (this.d <= limit) return this;
    let [p0, q0, p1, q1, n, d] = [0n, 1n, 1n, 0n, this.n, this.d];
    for (;;) { const a = bigFloor(n, d), q2 = q0 + a * q1; if (q2 > limit) break; [p0, q0, p1, q1] = [p1, q1, p0 + a * p1, q2]; [n, d] = [d, n - a * d]; }
    const k = (limit - q0) / q1, one = new Fraction(p0 + k * p1, q0 + k * q1), two = new Fraction(p1, q1);
    const apart = (x) => { const v = new Fraction(x.n * this.d - this.n * x.d, x.d * this.d); return v.n < 0n ? new Fraction(-v.n, v.d) : v; };
    return compare(apart(two), apart(one)) <= 0 ? two : one;
  }
}
$.Fraction = (value) => Fraction.of(value);

// ---- items, slices, attributes, calls

const place = (at, size) => at < 0 ? at + size : Number(at);
$.get = (held, at) => {
  if (typeof held === "string") { const size = textLength(held), one = textAt(held, place(at, size)); return one === undefined || place(at, size) < 0 ? $.fail("IndexError", "string index out of range") : one; }
  if (held instanceof Dict) return held.item(at);
  if (Array.isArray(held) || ArrayBuffer.isView(held)) {
    const one = held[place(at, held.length)];
    return one === undefined ? $.fail("IndexError", "list index out of range") : one;
  }
  return held.__getitem__(at);
};
function edges(size, from, to, step) {
  const clip = (at, low, high) => Math.min(Math.max(at < 0 ? at + size : at, low), high);
  return step > 0 ? [from === null ? 0 : clip(from, 0, size), to === null ? size : clip(to, 0, size)] : [from === null ? size - 1 : clip(from, -1, size - 1), to === null ? -1 : clip(to, -1, size - 1)];
}
$.slice = (held, from, to, step) => {
  const is = typeof held === "string", list = is ? points(held) || held : held, way = step ?? 1;
  const [start, end] = edges(list.length, from, to, way);
  if (way === 1) { if (is) return end <= start ? "" : typeof list === "string" ? list.slice(start, end) : list.slice(start, end).join(""); const made = end <= start ? [] : Array.prototype.slice.call(held, start, end); return held instanceof Tuple ? $.tuple([...made]) : [...made]; }
  const made = [];
  for (let at = start; way > 0 ? at < end : at > end; at += way) made.push(list[at]);
  return is ? made.join("") : held instanceof Tuple ? $.tuple(made) : made;
};
$.set = (held, at, value) => {
  if (held instanceof Dict) held.set(at, value);
  else if (at instanceof $.Slice) {
    const [start, end] = edges(held.length, at.from, at.to, at.step ?? 1), given = [...value];
    if ((at.step ?? 1) === 1) held.splice(start, Math.max(0, end - start), ...given);
    else for (let i = start, k = 0; at.step > 0 ? i < end : i > end; i += at.step) held[i] = given[k++];
  } else held[place(at, held.length)] = value;
};
$.del = (held, at) => {
  if (held instanceof Dict) return held.remove(at);
  if (at instanceof $.Slice) { const [start, end] = edges(held.length, at.from, at.to, 1); held.splice(start, Math.max(0, end - start)); } else held.splice(place(at, held.length), 1);
};
$.has = (held, one) => {
  if (typeof held === "string") return held.includes(one);
  if (held instanceof Dict || held instanceof PySet) return held.has(one);
  if (Array.isArray(held)) return held.some((other) => $.eq(other, one));
  for (const other of held) if ($.eq(other, one)) return true;
  return false;
};
$.unpack = (value, count, star) => {
  const items = Array.isArray(value) ? value : [...value];
  if (star < 0) { if (items.length !== count) $.fail("ValueError", "not as many values as names"); return items; }
  if (items.length < count - 1) $.fail("ValueError", "fewer values than names");
  const after = count - 1 - star;
  return [...items.slice(0, star), Array.from(items.slice(star, items.length - after)), ...items.slice(items.length - after)];
};
$.attr = (held, name) => {
  if (held === null || held === undefined) $.fail("AttributeError", name);
  const bound = typeof held === "string" ? S[name] : Array.isArray(held) ? L[name] : undefined;
  if (bound) return (...given) => bound(held, ...given);
  if (name === "__getitem__") return (at) => $.get(held, at);
  const value = held[name];
  if (value === undefined) $.missing(name, "an attribute that was not taken along");
  return typeof value === "function" && !Object.hasOwn(held, name) && !held.exception ? value.bind(held) : value;
};
$.call = (held, name, ...given) => {
  if (typeof held === "string") return S[name] ? S[name](held, ...given) : $.missing(`str.${name}`, "no method here");
  if (Array.isArray(held)) return L[name] ? L[name](held, ...given) : $.missing(`list.${name}`, "no method here");
  if (held === null || held === undefined) $.fail("AttributeError", name);
  const value = held[name];
  if (typeof value === "function") return value.apply(held, given);
  if (value === undefined) $.missing(name, "a method that was not taken along");
  return value.__call__(...given);
};
$.invoke = (called, ...given) => typeof called === "function" ? called(...given) : called === undefined || called === null ? $.fail("TypeError", "nothing to call") : called.__call__(...given);
$.Named = class { constructor(rows) { this.rows = rows; } };
$.named = (given) => given.length > 0 && given[given.length - 1] instanceof $.Named;
$.named_items = (dict) => Object.fromEntries(dict.items());
$.bind = (given, names, positional, rest, others) => {
  const list = [...given], named = list.length && list[list.length - 1] instanceof $.Named ? list.pop().rows : {};
  const made = names.map((name, at) => Object.hasOwn(named, name) ? named[name] : at < positional ? list[at] : undefined);
  if (rest) made.push($.tuple(list.slice(positional)));
  if (others) made.push(new Dict(Object.entries(named).filter(([name]) => !names.includes(name))));
  return made;
};
const take = (given, ...names) => { // arguments by name for what is written here by hand
  const list = [...given], named = list.length && list[list.length - 1] instanceof $.Named ? list.pop().rows : {};
  return [list, ...names.map((name) => named[name])];
};

// ---- Python's own functions

const P = $.py;
P.len = (x) => typeof x === "string" ? textLength(x) : Array.isArray(x) || ArrayBuffer.isView(x) ? x.length : x.size !== undefined ? x.size : x.__len__();
P.str = (x) => $.str(x === undefined ? "" : x);
P.bool = (x) => $.t(x);
P.int = (x) => {
  if (x === undefined) return 0;
  if (x instanceof Fraction) return x.floor();
  if (typeof x === "string") { const plain = Array.from(x.trim(), (c) => category(c) === "Nd" ? $.decimal(c) : c).join(""); return /^[+-]?[0-9]+$/.test(plain) ? whole(BigInt(plain.replace(/^\+/, ""))) : $.fail("ValueError", `no whole number: ${x}`); }
  return typeof x === "bigint" ? x : Math.trunc(Number(x));
};
P.float = (x) => x === undefined ? 0 : typeof x === "string" ? Number(Array.from(x.trim(), (c) => category(c) === "Nd" ? $.decimal(c) : c).join("")) : Number(x);
P.list = (x) => x === undefined ? [] : Array.from(x);
P.tuple = (x) => $.tuple(x === undefined ? [] : Array.from(x));
P.dict = (x) => x === undefined ? new Dict() : x instanceof Dict ? new Dict(x.items()) : new Dict(x);
P.set = (x) => new PySet(x);
P.frozenset = P.set;
P.sorted = (...given) => {
  const [[list], key, reverse] = take(given, "key", "reverse");
  const rows = Array.from(list, (one) => [key ? $.invoke(key, one) : one, one]);
  rows.sort((a, b) => reverse ? compare(b[0], a[0]) : compare(a[0], b[0]));
  return rows.map((row) => row[1]);
};
P.reversed = (x) => (typeof x === "string" ? Array.from(x) : [...x]).reverse();
const extreme = (sign) => (...given) => {
  const [list, key, otherwise] = take(given, "key", "default"), items = list.length === 1 ? [...list[0]] : list;
  if (!items.length) return otherwise === undefined ? $.fail("ValueError", "nothing to choose from") : otherwise;
  let best = items[0], held = key ? $.invoke(key, best) : best;
  for (const one of items.slice(1)) { const value = key ? $.invoke(key, one) : one; if (sign * compare(value, held) > 0) [best, held] = [one, value]; }
  return best;
};
P.max = extreme(1);
P.min = extreme(-1);
P.sum = (list, start) => { let total = start === undefined ? 0 : start; for (const one of list) total = $.add(total, one); return total; };
P.any = (list) => { for (const one of list) if ($.t(one)) return true; return false; };
P.all = (list) => { for (const one of list) if (!$.t(one)) return false; return true; };
const iterated = (x) => x[Symbol.iterator]();
P.zip = function* (...given) {
  const [lists, strict] = take(given, "strict"), all = lists.map(iterated);
  for (;;) {
    const next = all.map((one) => one.next());
    if (next.some((one) => one.done)) { if (strict && next.some((one) => !one.done)) $.fail("ValueError", "zip() of different lengths"); return; }
    yield $.tuple(next.map((one) => one.value));
  }
};
P.map = function* (f, ...lists) { if (lists.length === 1) for (const one of lists[0]) yield $.invoke(f, one); else for (const row of P.zip(...lists)) yield $.invoke(f, ...row); };
P.filter = function* (f, list) { for (const one of list) if ($.t(f === null ? one : $.invoke(f, one))) yield one; };
P.enumerate = function* (list, start) { let at = start instanceof $.Named ? start.rows.start : start ?? 0; for (const one of list) yield $.tuple([at++, one]); };
P.range = (a, b, step) => { const made = [], [from, to, way] = b === undefined ? [0, a, 1] : [a, b, step ?? 1]; for (let at = from; way > 0 ? at < to : at > to; at += way) made.push(at); return made; };
P.iter = (x) => { const it = iterated(x); return it[Symbol.iterator] ? it : { next: () => it.next(), [Symbol.iterator]() { return this; } }; };
P.next = (it, otherwise) => { const one = (it.next ? it : iterated(it)).next(); return one.done ? (otherwise === undefined ? $.fail("StopIteration", "") : otherwise) : one.value; };
P.ord = (c) => c.codePointAt(0);
P.chr = (n) => String.fromCodePoint(n);
P.abs = (x) => x < 0 ? -x : x;
P.round = (x, digits) => { const scale = 10 ** (digits ?? 0), y = x * scale, low = Math.floor(y), rest = y - low; return (rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low) / scale; };
P.divmod = (a, b) => $.tuple([$.floordiv(a, b), $.mod(a, b)]);
P.isinstance = (x, kinds) => anyOf(kinds).some((kind) => kind === P.str ? typeof x === "string" : kind === P.int ? isNumber(x) : kind === P.dict ? x instanceof Dict : kind === P.list ? Array.isArray(x) && !(x instanceof Tuple) : kind === P.tuple ? x instanceof Tuple : x !== null && typeof x === "object" && x instanceof kind.made);
P.repr = (x) => $.repr(x);
$.Counter_ = (x) => new Counter(x);
$.defaultdict = (make) => new DefaultDict(make);
$.dict_fromkeys = (keys, value) => new Dict(Array.from(keys, (key) => [key, value === undefined ? null : value]));
$.chain = function* (...lists) { for (const list of lists) yield* list; };
$.chain_from = function* (lists) { for (const list of lists) yield* list; };
$.pairwise = function* (list) { let last, begun = false; for (const one of list) { if (begun) yield $.tuple([last, one]); last = one; begun = true; } };
$.accumulate = function* (...given) { const [[list], initial] = take(given, "initial"); let total = initial, begun = initial !== undefined && initial !== null; if (begun) yield total; for (const one of list) { total = begun ? $.add(total, one) : one; begun = true; yield total; } };
$.bisect_left = (list, x) => { let low = 0, high = list.length; while (low < high) { const m = (low + high) >> 1; if (compare(list[m], x) < 0) low = m + 1; else high = m; } return low; };
$.bisect_right = (list, x) => { let low = 0, high = list.length; while (low < high) { const m = (low + high) >> 1; if (compare(x, list[m]) < 0) high = m; else low = m + 1; } return low; };
$.replace = (one, named) => { const made = Object.create(Object.getPrototypeOf(one)); Object.assign(made, one, named instanceof $.Named ? named.rows : {}); return made; };
$.mul_ = (a, b) => a * b;
$.math = { exp: Math.exp, log: Math.log, log1p: Math.log1p, log2: Math.log2, ceil: (x) => Math.ceil(x), floor: (x) => Math.floor(x) };
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
$.unescape = (text) => text.replace(/&(#[xX]?[0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);?/g, (all, name) => {
  if (ENTITIES[name] && all.endsWith(";")) return ENTITIES[name];
  if (name[0] === "#" && all.endsWith(";")) return String.fromCodePoint(/^#[xX]/.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10));
  return $.missing(`the entity ${all}`, "only &amp; &lt; &gt; &quot; &apos; and numbers are known here");
});
$.method = (name) => (held, ...given) => $.call(held, name, ...given);
$.table = (name, rows) => (...given) => { const key = $.tuple(given); return rows.has(key) ? rows.item(key) : $.missing(name, "with other arguments than at the export"); };

// ---- text of values

$.str = (x) => {
  if (typeof x === "string") return x;
  if (x === null || x === undefined) return "None";
  if (x === true || x === false) return x ? "True" : "False";
  if (x instanceof PyError) return x.message;
  return typeof x === "number" || typeof x === "bigint" ? String(x) : $.repr(x);
};
$.repr = (x) => {
  if (typeof x === "string") { const quote = x.includes("'") && !x.includes('"') ? '"' : "'"; return quote + x.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r").split(quote).join("\\" + quote) + quote; }
  if (Array.isArray(x)) return x instanceof Tuple ? `(${x.map($.repr).join(", ")}${x.length === 1 ? "," : ""})` : `[${x.map($.repr).join(", ")}]`;
  if (x instanceof Dict) return `{${x.items().map(([k, v]) => `${$.repr(k)}: ${$.repr(v)}`).join(", ")}}`;
  return $.str(typeof x === "object" && x !== null ? x.constructor.name : x);
};
$.format = (x, conversion, spec) => {
  const text = conversion === "r" ? $.repr(x) : null;
  if (text !== null) { const cut = /^\.(\d+)$/.exec(spec); return cut ? textCut(text, 0, Number(cut[1])) : text; }
  if (spec === "") return $.str(x);
  if (spec === "g") return String(Number(Number(x).toPrecision(6)));
  let found = /^\.(\d+)%$/.exec(spec);
  if (found) return `${(x * 100).toFixed(Number(found[1]))}%`;
  found = /^0(\d+)X$/.exec(spec);
  if (found) return x.toString(16).toUpperCase().padStart(Number(found[1]), "0");
  return $.missing(`the format ${spec}`, "not known here");
};

// ---- patterns

class Match {
  constructor(pattern, text, found) { this.re = pattern; this.string = text; this.found = found; }
  group(name) { if (name === undefined) return this.found[0]; const at = typeof name === "string" ? this.re.names[name] : name; if (at === undefined) $.fail("IndexError", "no such group"); return at === 0 ? this.found[0] : this.found[this.re.groups[at - 1]] ?? null; }
  __getitem__(name) { return this.group(name); }
  groups() { return $.tuple(this.re.groups.map((at) => this.found[at] ?? null)); }
  groupdict() { return new Dict(Object.keys(this.re.names).map((name) => [name, this.group(name)])); }
  start(name) { return name ? $.missing("Match.start", "of a group") : toPoints(this.string, this.found.index); }
  end(name) { return name ? $.missing("Match.end", "of a group") : toPoints(this.string, this.found.index + this.found[0].length); }
  span() { return $.tuple([this.start(), this.end()]); }
  get lastindex() { // the group that was closed last: of patterns whose groups are side by side, the one that took part
    const taken = this.re.groups.flatMap((at, place) => this.found[at] === undefined ? [] : [place + 1]);
    return taken.length === 0 ? null : taken.length === 1 ? taken[0] : $.missing("Match.lastindex", "of several groups");
  }
}
class Pattern {
  constructor(row) { this.source = row.source; this.groups = row.groups; this.names = row.names; this.made = {}; }
  get(flags, whole) { const key = flags + whole; return this.made[key] ??= new RegExp(whole ? `(?:${this.source})(?![^])` : this.source, flags); }
  run(kind, text, from, to) {
    const cut = to === undefined || to === null ? text : textCut(text, 0, Math.max(0, to));
    const regex = this.get(kind === "search" ? "gu" : "yu", kind === "fullmatch");
    regex.lastIndex = from ? toUnits(cut, Math.max(0, from)) : 0;
    if (regex.lastIndex > cut.length) return null;
    const found = regex.exec(cut);
    return found ? new Match(this, cut, found) : null;
  }
  match(text, from, to) { return this.run("match", text, from, to); }
  search(text, from, to) { return this.run("search", text, from, to); }
  fullmatch(text, from, to) { return this.run("fullmatch", text, from, to); }
  *finditer(text) {
    const regex = new RegExp(this.source, "gu");
    let found;
    while ((found = regex.exec(text))) { yield new Match(this, text, found); if (found[0] === "") regex.lastIndex += text.codePointAt(regex.lastIndex) > 0xffff ? 2 : 1; }
  }
  findall(text) { return Array.from(this.finditer(text), (one) => this.groups.length === 0 ? one.found[0] : this.groups.length === 1 ? one.group(1) ?? "" : $.tuple(one.groups().map((part) => part ?? ""))); }
  sub(made, text, count) {
    if (count) $.missing("Pattern.sub", "with a count");
    let out = "", at = 0;
    for (const one of this.finditer(text)) {
      out += text.slice(at, one.found.index) + (typeof made === "string" ? this.template(made, one) : $.invoke(made, one));
      at = one.found.index + one.found[0].length;
    }
    return at === 0 && out === "" ? text : out + text.slice(at);
  }
  template(made, one) { return made.includes("\\") ? made.replace(/\\(?:g<(\w+)>|(\d+)|(.))/g, (all, named, number, other) => other !== undefined ? (other === "n" ? "\n" : other === "\\" ? "\\" : $.missing(all, "in a replacement")) : one.group(/^\d+$/.test(named ?? number) ? Number(named ?? number) : named) ?? "") : made; }
  split(text) { const parts = []; let at = 0; for (const one of this.finditer(text)) { parts.push(text.slice(at, one.found.index), ...one.groups()); at = one.found.index + one.found[0].length; } parts.push(text.slice(at)); return parts; }
}
const patterns = [];
$.pattern = (at) => patterns[at];

// ---- classes

$.cls = (name, base, fields) => {
  const made = { [name]: class {} }[name];
  if (base) Object.setPrototypeOf(made.prototype, base.made.prototype);
  made.fields = fields;
  const create = (...given) => {
    const one = new made();
    if (fields === null) { if (one.__init__) one.__init__(...given); return one; }
    const named = given.length && given[given.length - 1] instanceof $.Named ? given.pop().rows : {};
    let at = 0;
    for (const [field, otherwise, only] of fields) {
      if (Object.hasOwn(named, field)) one[field] = named[field];
      else if (!only && at < given.length) one[field] = given[at];
      else if (otherwise) one[field] = otherwise();
      else $.fail("TypeError", `${name} lacks ${field}`);
      if (!only) at++;
    }
    return one;
  };
  create.made = made;
  Object.defineProperty(create, "prototype", { value: made.prototype });
  return create;
};
$.methodOn = (cls, name, f) => { cls.made.prototype[name] = function (...given) { return f(this, ...given); }; };
$.static_ = (cls, name, f) => { cls[name] = f; cls.made.prototype[name] = f; };
$.above = (cls, name) => Object.getPrototypeOf(cls.made.prototype)[name];
$.getter = (cls, name, f) => Object.defineProperty(cls.made.prototype, name, { get() { return f(this); }, configurable: true });

// ---- the objects that a reading was written with

const bytesOf = (text) => { const raw = typeof atob === "function" ? atob(text) : $.atob(text), made = new Uint8Array(raw.length); for (let i = 0; i < raw.length; i++) made[i] = raw.charCodeAt(i); return made.buffer; };
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
$.atob = (text) => { let made = "", bits = 0, held = 0; for (const c of text) { if (c === "=") break; held = (held << 6 | BASE64.indexOf(c)) & 0xffff; bits += 6; if (bits >= 8) { bits -= 8; made += String.fromCharCode(held >> bits & 255); } } return made; };
const ARRAYS = { int8: Int8Array, int16: Int16Array, int32: Int32Array, float32: Float32Array, float64: Float64Array };
$.load = (heap) => {
  for (const row of heap.patterns) patterns.push(new Pattern(row));
  const made = new Array(heap.objects.length);
  const value = (row) => {
    if (row === null || typeof row !== "object") return row;
    if ("r" in row) return object(row.r);
    if ("t" in row) return $.tuple(row.t.map(value));
    if ("p" in row) return patterns[row.p];
    if ("i" in row) return BigInt(row.i);
    return { absent: row.x };
  };
  const object = (at) => {
    if (made[at] !== undefined) return made[at];
    const row = heap.objects[at];
    if ("o" in row) { made[at] = Object.create(C[row.o].made.prototype); for (const [name, one] of Object.entries(row.f)) Object.defineProperty(made[at], name, { value: value(one), writable: true, enumerable: true, configurable: true }); return made[at]; }
    if ("l" in row) { made[at] = []; for (const one of row.l) made[at].push(value(one)); return made[at]; }
    if ("d" in row || "c" in row) { made[at] = row.d ? new Dict() : new Counter(); for (const [key, one] of row.d || row.c) made[at].set(value(key), value(one)); return made[at]; }
    if ("s" in row) return (made[at] = new PySet(row.s.map(value)));
    if ("a" in row) { if (!ARRAYS[row.a]) $.missing(row.a, "a kind of numbers"); return (made[at] = new ARRAYS[row.a](bytesOf(row.b))); }
    if ("m" in row) { const held = value(row.m[0]); return (made[at] = (...given) => $.call(held, row.m[1], ...given)); }
    if ("k" in row) return (made[at] = C[row.k]);
    if ("f" in row) return (made[at] = "x" in row ? F[row.f](...Object.values(row.x).map(value)) : F[row.f]);
    return (made[at] = { absent: row.x });
  };
  for (const [name, one] of Object.entries(heap.globals)) G[name] = value(one);
  return value(heap.root);
};

// ---- models of marks: hashed weights, with whole numbers of 64 bits as Python's arrays have them

const MIX = 0x9e3779b97f4a7c15n, SPREAD = 0xc2b2ae3d27d4eb4fn, ODD = 2654435761n, LAST64 = (1n << 64n) - 1n;
const bitLength = (n) => n.toString(2).length;
function contexts(beside, at, looks, edge, names) {
  return looks.map((look, column) => {
    let sum = 0n;
    for (const [offset, trait] of look) sum = (sum * 31n + BigInt(beside[at + edge + offset][trait])) & LAST64;
    const mixed = ((sum + BigInt(names ? names[column] + 1 : column + 1) * SPREAD) * MIX) & LAST64;
    return mixed ^ mixed >> 29n;
  });
}
const slot = (context, form, shift) => context === 0n ? 0 : Number(((context ^ form) * MIX & LAST64) >> shift);
$.rows = (rows) => rows;
$.word_weights = (table, context, forms) => { // of each form: the sum of its weights, and how many speak for it
  const shift = BigInt(65 - bitLength(table.length));
  return [...forms].map((form) => { const wide = BigInt(form); let sum = 0, support = 0; for (const one of context) { const weight = table[slot(one, wide, shift)]; sum += weight; support += weight > 0; } return [sum, support]; });
};
$.best_dots = (self, tokens, several) => {
  const edge = $.tuple([1, 2, 3, 4, 5, 6, 7]), beside = [edge, edge, ...tokens.map((token) => token.traits), edge, edge];
  return several.map((at) => {
    const scores = $.word_weights(self.model.words, contexts(beside, at, G.dot_looks, 2), tokens[at].forms).map((row) => row[0]);
    return scores.indexOf(Math.max(...scores));
  });
};
$.mark_features = (beside, at) => at.map((one) => {
  const { looks, near, names, edge } = { looks: G.mark_looks, near: G.mark_near, names: G.mark_names, edge: G.mark_edge };
  const made = contexts(beside, one, looks, edge, names), first = looks.length - near.length;
  near.forEach(([[away, trait]], column) => { if (BigInt(beside[one + edge + away][trait]) === 0n) made[first + column] = 0n; });
  return made;
});
$.best_marks = function* (self, tokens, several, shapes) {
  const model = self.model, spread = G.mark_show(tokens, several, shapes, model);
  for (const [place, at] of several.entries()) {
    const rows = $.word_weights(model.words, spread[place], tokens[at].hashed), most = Math.max(...rows.map((row) => row[0]));
    const chances = rows.map((row) => Math.exp((row[0] - most) * model.scale)), total = chances.reduce((a, b) => a + b, 0);
    const best = G.mark_likeliest(chances, tokens[at].dotted);
    yield $.tuple([best, chances[best] / total, rows[best][1]]);
  }
};
const logSum = (scores) => scores.reduce((a, b) => { const high = Math.max(a, b), low = Math.min(a, b); return high + Math.log1p(Math.exp(low - high)); });
const letterScores = (self, features, among) => { // the sum of the weights of each label
  const size = BigInt(bitLength(self.table.length)), table = self.table, sums = among.map(() => 0);
  if (self.binary) { let sum = 0; for (const one of features) sum += table[Number(BigInt(crcOf(one)) >> 33n - size)]; return [0, sum]; }
  const names = among.map((label) => BigInt(crcOf(self.labels[label])) * ODD & LAST64);
  for (const one of features) { const code = BigInt(crcOf(one)); names.forEach((name, at) => { sums[at] += table[Number(((code ^ name) * MIX & LAST64) >> 65n - size)]; }); }
  return sums;
};
$.letter_likelihood = (...given) => {
  const [self, plain, labels, around] = $.bind(given, ["self", "plain", "labels", "around"], 4, false, false);
  let cost = 0, last = "-", older = "-";
  for (const [at, char] of P.enumerate(plain)) {
    const label = labels[at], among = self.allowed.get(char, $.tuple([0])), place = among.indexOf(label);
    if (place < 0) return 0;
    if (among.length > 1) {
      const found = [...self.features(plain, at, around ?? $.tuple([])), ...G.chain_features(plain, at, last, older)];
      const score = letterScores(self, found, among);
      cost += logSum(score) - score[place];
    }
    if (self.vowels.includes(char)) [last, older] = [`${char}${label}`, last];
  }
  return Math.exp(-cost);
};
$.letter_guess = (...given) => {
  const [self, plain, fixed, around] = $.bind(given, ["self", "plain", "fixed", "around"], 4, false, false);
  const scored = (features, among) => letterScores(self, features, among);
  let beams = [$.tuple([0, $.tuple([]), "-", "-"])];
  for (const [at, char] of P.enumerate(plain)) {
    const among = (fixed ? fixed.get(at) : null) || self.allowed.get(char, $.tuple([0]));
    const told = self.vowels.includes(char);
    if (among.length === 1) {
      const named = self.binary ? char : `${char}${among[0]}`;
      beams = beams.map(([cost, signs, last, older]) => $.tuple([cost, $.tuple([...signs, among[0]]), ...(told ? [named, last] : [last, older])]));
      continue;
    }
    const base = scored(self.features(plain, at, around ?? $.tuple([])), among), made = [];
    for (const [cost, signs, last, older] of beams) {
      const more = scored(G.chain_features(plain, at, last, older), among), score = base.map((one, k) => one + more[k]), all = logSum(score);
      among.forEach((label, k) => made.push($.tuple([cost + all - score[k], $.tuple([...signs, label]), `${char}${label}`, last])));
    }
    beams = P.sorted(made).slice(0, 6);
  }
  const chances = beams.map((beam) => Math.exp(-beam[0]));
  const groups = beams.map((beam) => $.tuple(self.dots.length ? beam[1].map((one) => self.dots[one]) : []));
  const best = G.mark_likeliest(chances, groups);
  return $.tuple([beams[best][1], chances[best]]);
};
