"""The look and the one script of the report; nothing is loaded from anywhere."""

STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf7; --card: #ffffff; --ink: #1f2328; --soft: #626a73; --line: #e3e0d8;
  --bar: #3f7d78; --error: #b3261e; --warn: #9a6200; --info: #2f6f9f; --good: #2e7d4f; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --card: #1d2125; --ink: #e7e6e2; --soft: #9aa2aa;
  --line: #333a41; --bar: #6fb3ac; --error: #ff8a80; --warn: #f0b757; --info: #85bfe8; --good: #7ccf9d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.55;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; font-size: 16px; }
main { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; }
h3 { font-size: 1.05rem; margin: 0; display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: baseline; }
p { margin: .35rem 0; max-width: 46rem; }
a { color: inherit; text-decoration-color: var(--line); text-underline-offset: .2em; }
.lead { font-size: 1.1rem; } .soft, .none { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 1.5rem 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.55rem; font-weight: 600; line-height: 1.2; font-variant-numeric: tabular-nums; }
.lead + .soft { margin-bottom: 0; } .scroll, .charts { margin-top: .75rem; }
.card span { color: var(--soft); font-size: .9rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: .75rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; }
figcaption { font-weight: 600; margin-bottom: .4rem; } figure .soft { font-size: .87rem; margin-bottom: 0; }
svg { display: block; width: 100%; height: auto; }
.bar { fill: var(--bar); } .grid { stroke: var(--line); stroke-width: 1; }
.axis { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
.limit { stroke-width: 1.5; stroke-dasharray: 4 3; } .limit.error { stroke: var(--error); }
.limit.warn { stroke: var(--warn); }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .6rem .9rem; border-top: 1px solid var(--line); }
thead th { border-top: 0; font-size: .85rem; color: var(--soft); font-weight: 500; }
tbody th { font-weight: 600; white-space: nowrap; } td.rule { color: var(--soft); font-size: .9rem; min-width: 14rem; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.zero { color: var(--line); }
.error { color: var(--error); } .warn { color: var(--warn); }
.info { color: var(--info); } .good { color: var(--good); }
.tag { font-size: .82rem; font-weight: 600; white-space: nowrap; }
.tag::before { content: ""; display: inline-block; width: .5rem; height: .5rem; border-radius: 50%;
  background: currentColor; margin-right: .35rem; }
section.check { margin-top: 1.5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); }
ol.clips { list-style: none; padding: 0; margin: .9rem 0 0; display: grid; gap: .6rem; }
ol.clips li { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .75rem 1rem;
  display: grid; grid-template-columns: minmax(0, 1fr) 19rem; gap: .2rem 1.25rem; align-items: center; }
.clip { font: .82rem ui-monospace, "SF Mono", Menlo, Consolas, monospace; color: var(--soft); overflow-wrap: anywhere; }
.what { overflow-wrap: anywhere; } .said { color: var(--ink); overflow-wrap: anywhere; margin-top: .3rem;
  padding-left: .7rem; border-left: 3px solid var(--line); max-height: 7.8em; overflow-y: auto; white-space: pre-line; }
.letters { display: flex; flex-wrap: wrap; gap: .35rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .6rem; padding: .9rem 1rem; margin-top: .75rem; max-height: 22rem; overflow-y: auto; }
.letter { border: 1px solid var(--line); border-radius: .35rem; padding: .05rem .45rem; font-size: .85rem;
  font-variant-numeric: tabular-nums; } .letter.warn { border-color: var(--warn); } .letter b { font-size: 1rem; }
.sound img { display: block; width: 100%; height: 4rem; border-radius: .35rem; margin-bottom: .35rem;
  image-rendering: auto; }
.sound { font-size: .82rem; color: var(--soft); } audio { width: 100%; height: 2.4rem; display: block; }
.before-after { margin-top: 1rem; display: grid; gap: .45rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .6rem; padding: 1rem; }
.hours { display: grid; grid-template-columns: 16rem minmax(0, 1fr) 14rem; gap: 1rem; align-items: center; }
.hours .n { font-variant-numeric: tabular-nums; }
.track { height: .9rem; border-radius: .45rem; background: var(--line); }
.track span { display: block; height: 100%; border-radius: .45rem; background: var(--bar); }
ul { padding-left: 1.2rem; max-width: 56rem; margin: .35rem 0; } li { margin: .35rem 0; }
.commands { display: grid; gap: .4rem; margin-top: .75rem; }
.command { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .1rem .6rem; align-items: center;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .8rem; }
.command code { font: .85rem ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.command .soft { font-size: .87rem; } .command button { grid-row: span 2; font: inherit; font-size: .82rem;
  color: var(--soft); background: none; border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .6rem;
  cursor: pointer; } .command button:hover { color: var(--ink); border-color: var(--soft); }
details { margin-top: .75rem; } summary { cursor: pointer; } details li { color: var(--soft); font-size: .92rem; }
details li b { color: var(--ink); }
@media (max-width: 44rem) { main { padding-top: 1.5rem; } h1 { font-size: 1.5rem; }
  ol.clips li, .hours { grid-template-columns: minmax(0, 1fr); gap: .2rem; }
  table.checks thead { display: none; } table.checks tr { display: block; padding: .6rem .9rem; }
  table.checks tr + tr { border-top: 1px solid var(--line); }
  table.checks th, table.checks td { border: 0; padding: 0; }
  table.checks td.rule { display: block; min-width: 0; } table.checks tbody th { display: block; white-space: normal; }
  table.checks td.n { display: inline-block; margin-right: 1rem; } table.checks td.zero { display: none; }
  table.checks td.n::after { content: " " attr(data-label); font-size: .85rem; } }
@media print { audio, .sound { display: none; } body { background: none; } }
"""

SCRIPT = """
document.addEventListener("play", event => {
  for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
}, true);
document.addEventListener("click", async event => {
  const button = event.target.closest(".command button");
  if (!button) return;
  const code = button.parentElement.querySelector("code");
  try { await navigator.clipboard.writeText(code.textContent); button.textContent = "Copied"; }
  catch { getSelection().selectAllChildren(code); button.textContent = "Selected"; }
});
"""
