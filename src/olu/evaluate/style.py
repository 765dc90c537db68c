"""What the pages of an evaluation add to the look of all pages."""

STYLE = """
.verdict { border-left: .35rem solid currentColor; padding: .1rem 0 .1rem .9rem; margin: 1rem 0; }
.verdict p { color: var(--ink); } .verdict .tag { font-size: 1rem; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th small, td small { display: block; color: var(--soft); font-weight: 400; font-size: .82rem; }
table.figures th { min-width: 11rem; font-weight: 600; }
thead th, thead th.n { color: var(--soft); font-size: .85rem; white-space: normal; }
table.figures td.trust { min-width: 13rem; } table.figures tr.minor th { font-weight: 400; color: var(--soft); }
.said { padding-left: .7rem; border-left: 3px solid var(--line); margin: .4rem 0; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: .3rem 1rem; }
.stack > div { min-width: 0; } .stack h4 { margin: .4rem 0 .2rem; font-size: .85rem; font-weight: 600; }
.stack audio { margin-bottom: .2rem; }
.sides > div { min-width: 0; } .sides h4 { margin: .2rem 0; font-size: .85rem; font-weight: 600; }
.item { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem;
  margin-top: .7rem; }
.item img { display: block; width: 100%; height: 5rem; border-radius: .35rem; }
.item .numbers { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .87rem; color: var(--soft); }
.numbers b { color: var(--ink); font-variant-numeric: tabular-nums; }
mark { background: none; color: var(--error); font-weight: 600; text-decoration: underline; }
.melody { margin-top: .4rem; } .melody .line { stroke-width: 2.5; }
.bad { color: var(--error); } .fail { color: var(--error); } .pass { color: var(--good); }
.unknown { color: var(--soft); }
@media (max-width: 44rem) { main { padding-top: 1.4rem; } h1 { font-size: 1.5rem; }
  table.figures thead { display: none; } table.figures tr { display: block; padding: .6rem .2rem; }
  table.figures tr + tr { border-top: 1px solid var(--line); }
  table.figures th, table.figures td { display: block; border: 0; padding: .05rem .7rem; text-align: left; }
  table.figures td.n::before { content: attr(data-label) ": "; color: var(--soft); font-size: .85rem; }
  table.figures td small { display: inline; margin-left: .4rem; } table.figures td.empty { display: none; } }
@media print { audio { display: none; } }
"""

SCRIPT = """
document.addEventListener("play", event => {
  for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
}, true);
"""

# The page itself forbids loading anything, so a transcript that slipped through could not either.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; media-src data:; img-src data:"
