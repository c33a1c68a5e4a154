"""The style sheet of the report."""

STYLE = """
:root { --ink: #1d2430; --soft: #566072; --line: #d9dee6; --paper: #fff; --ground: #f4f6f9; --bar: #2f6fb0;
  --hover: #f0f4fa; --focus: #1a5fb4; --badge: #e6edf6; --on-badge: #1f4468; --out: #fbe9dc; --on-out: #7a3510;
  --old: #fde3e3; --on-old: #8a1414; --new: #dcf3df; --on-new: #11552a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #a3adbd; --line: #363d4a; --paper: #1c2129;
  --ground: #12161c; --bar: #5b9bd8; --hover: #262d38; --focus: #7db3f0; --badge: #24364b; --on-badge: #b9d6f5;
  --out: #47270f; --on-out: #ffcfa8; --old: #4d1d20; --on-old: #ffb9b9; --new: #173d22; --on-new: #a6e8b5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); line-height: 1.55; overflow-wrap: anywhere;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Microsoft YaHei",
  "Noto Sans CJK SC", "Noto Sans SC", sans-serif; }
header, main { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.5rem; }
header p { margin: .25rem 0 0; color: var(--soft); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: .95rem; margin: 0; font-weight: 600; }
h3 .badge { font-weight: 400; margin-left: .35rem; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 0; }
.cards div, figure, .group, .miss { background: var(--paper); border: 1px solid var(--line); border-radius: .5rem; }
.cards div { padding: .75rem .9rem; display: flex; flex-direction: column; }
.cards dt { order: 2; font-size: .9rem; }
.cards dd { margin: 0; }
.cards .count { order: 1; font-size: 1.6rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.cards .note { order: 3; }
.note, .more, .none { color: var(--soft); font-size: .85rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: .75rem;
  margin-top: .75rem; }
figure { margin: 0; padding: .9rem; }
figure h2 { margin: 0 0 .5rem; font-size: 1.05rem; }
figure .note { margin: .5rem 0 0; }
.chart { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums; }
.chart th { font-weight: 400; text-align: right; padding: .12rem .6rem .12rem 0; white-space: nowrap; width: 1%; }
.chart thead th { color: var(--soft); font-size: .8rem; }
.chart .count { text-align: right; padding: 0 .6rem 0 0; white-space: nowrap; }
.chart .bar span { display: block; height: .8rem; border-radius: 2px; background: var(--bar); }
.chart .out .bar span { background: repeating-linear-gradient(135deg, #b4581a 0 4px, #e9b995 4px 8px); }
.group { margin: .5rem 0; content-visibility: auto; contain-intrinsic-size: auto 3rem; }
summary { display: flex; gap: 1rem; align-items: baseline; padding: .6rem .9rem; cursor: pointer; }
summary::before { content: "\\25B8"; color: var(--soft); }
details[open] > summary::before { content: "\\25BE"; }
summary::-webkit-details-marker { display: none; }
summary:hover { background: var(--hover); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.size { flex: none; min-width: 6.5rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.unit { font-weight: 400; color: var(--soft); }
.title { flex: 1; min-width: 0; }
article, .copies, .group > .more { padding: .6rem .9rem; margin: 0; border-top: 1px solid var(--line); }
.miss { margin: .5rem 0; }
article p { margin: .3rem 0 0; }
.member-title { font-weight: 600; }
.text { white-space: pre-line; max-width: 52rem; }
.id { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono CJK SC", monospace; font-size: .9em; }
.badge { display: inline-block; font-size: .8rem; padding: 0 .5rem; border-radius: 1rem; background: var(--badge);
  color: var(--on-badge); }
.badge.out { background: var(--out); color: var(--on-out); }
del, ins { unicode-bidi: isolate; }
ins.to { margin-left: .15em; }
del { background: var(--old); color: var(--on-old); text-decoration: line-through; }
ins { background: var(--new); color: var(--on-new); text-decoration: underline; text-underline-offset: .15em; }
code { font-size: .9em; white-space: nowrap; }
@media (max-width: 36rem) {
  summary { flex-wrap: wrap; gap: 0 .6rem; }
  .size { min-width: 0; }
  .title { flex-basis: 100%; }
}
@media print { :root { --ground: #fff; } .group, .miss, figure { break-inside: avoid; } }
"""
