// Reads what a test hands in by reading.js: node reading.mjs FOLDER < {"lines": [...], "texts": [...]}
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
await import(pathToFileURL(process.argv[2] + "/reading.js"));
const reading = globalThis.OluReading.open(JSON.parse(readFileSync(process.argv[2] + "/reading.json", "utf8")));
const asked = JSON.parse(readFileSync(0, "utf8"));
const tried = (work) => { try { return work(); } catch (error) { return `${error.kind ?? "JavaScript"}: ${error.message}`; } };
const lines = asked.lines.map((line) => tried(() => reading.ids(line)));
const texts = asked.texts.map((text) => tried(() => [...reading.read(text)]));
process.stdout.write(JSON.stringify({ lines, texts }));
