// A sentence of the interface, by its English words; {name} in it takes a value.
export function t(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
