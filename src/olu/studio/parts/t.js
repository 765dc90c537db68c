// A sentence of the interface in the page's language, by its English words; {name} in it takes a value.
const words = globalThis.oluWords ?? {}; // words/CODE.js; English has none

export function t(text, values = {}) {
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
