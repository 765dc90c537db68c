"""The look of pages that Olu writes; nothing is loaded from anywhere."""

STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf7; --card: #fff; --ink: #1f2328; --soft: #626a73; --line: #e3e0d8;
  --error: #b3261e; --warn: #9a6200; --good: #2e7d4f; --c0: #3f7d78; --c1: #b4552d; --c2: #5566aa; --c3: #8a6d1f; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --card: #1d2125; --ink: #e7e6e2; --soft: #9aa2aa;
  --line: #333a41; --error: #ff8a80; --warn: #f0b757; --good: #7ccf9d; --c0: #6fb3ac; --c1: #eb9468; --c2: #9fb0f5;
  --c3: #d9bd6a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5; font-size: 16px;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .6rem; } p { margin: .35rem 0; max-width: 50rem; }
.lead { font-size: 1.08rem; } .soft { color: var(--soft); } .error { color: var(--error); }
.warn { color: var(--warn); } .good { color: var(--good); }
.tag { font-size: .85rem; font-weight: 600; white-space: nowrap; }
.tag::before { content: ""; display: inline-block; width: .55rem; height: .55rem; border-radius: 50%;
  background: currentColor; margin-right: .35rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .7rem; margin-top: 1.2rem; }
.card, figure, .event, .scroll { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.card { padding: .7rem .9rem; } .card span { color: var(--soft); font-size: .88rem; }
.card b { display: block; font-size: 1.4rem; font-weight: 600; line-height: 1.25; font-variant-numeric: tabular-nums; }
.grid-of { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
figure { margin: 0; padding: .8rem .9rem; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: .35rem; overflow-wrap: anywhere; }
figure p { font-size: .87rem; } svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--line); } .axis { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
.band { fill: var(--soft); opacity: .2; } .mark { stroke: var(--error); stroke-width: 1.5; stroke-dasharray: 4 3; }
.line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round; }
circle.line { fill: currentColor; }
.line.faint { opacity: .3; stroke-width: 1; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .85rem; margin-top: .25rem; }
.legend b { font-weight: 600; font-variant-numeric: tabular-nums; }
audio { width: 100%; height: 2.3rem; display: block; margin: .3rem 0; }
figure img { display: block; width: 100%; height: 5.5rem; border-radius: .35rem; margin: .25rem 0; }
.event { padding: .5rem .9rem; margin-top: .45rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem; border-top: 1px solid var(--line); }
td { overflow-wrap: anywhere; } tr:first-child > * { border-top: 0; } th { font-weight: 500; }
details { margin-top: .6rem; } summary { cursor: pointer; }
code { font: .88em ui-monospace, Menlo, Consolas, monospace; }
"""
