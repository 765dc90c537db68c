// ---- what a program asks for: OluReading.open(what reading.json holds)

const plainOf = (value) => {
  if (value instanceof Dict) return Object.fromEntries(value.items().map(([key, one]) => [String(key), plainOf(one)]));
  if (Array.isArray(value)) return Array.from(value, plainOf);
  return typeof value === "bigint" ? Number(value) : value === undefined ? null : value;
};
const asked = (plain) => new $.Named({ plain: !!plain });
globalThis.OluReading = {
  format: "olu-reading/1",
  open(data) {
    if (data.format !== "olu-reading/1") throw new Error(`this reading is of the format ${data.format}, and olu-reading/1 is known here: export the voice again`);
    $.unicode(data.unicode);
    const root = $.load(data.program);
    return {
      language: data.language,
      symbols: data.symbols,
      *read(text, plain) { for (const row of $.call(root, "read", $.known(text), asked(plain))) yield plainOf(row); },
      ids: (text, plain) => plainOf($.call(root, "ids", $.known(text), asked(plain))),
      symbolsOf: (text, plain) => plainOf($.call(root, "symbols", $.known(text), asked(plain))),
    };
  },
};
