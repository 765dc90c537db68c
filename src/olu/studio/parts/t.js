// A sentence of the interface in the page's language, by its English words; {name} in it takes a value. Given two
// sentences, the number n says which of them it is: t("{n} clip", "{n} clips", { n }).
const words = globalThis.oluWords ?? {}; // words/CODE.js; English has none
const ONE = [1];

export function t(text, ...more) {
  const several = typeof more[0] === "string" ? more.shift() : "";
  const values = { ...more[0] };
  if (several) {
    const one = several in words ? globalThis.oluOne ?? ONE : ONE;
    if (!one.includes(values.n)) text = several;
    values.n = values.n.toLocaleString("en");
  }
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
