/** The page's style sheet; light and dark as the reader's system has it. */
export const style = `
:root { color-scheme: light dark; --text: #1f2328; --dim: #656d76; --line: #d8dee4; --card: #f6f8fa; --good: #1a7f37; --poor: #bc4c00; --blue: #0969da; --cell: #b6e3c5; --waits: #ffd8b5; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --dim: #8d96a0; --line: #30363d; --card: #161b22; --good: #3fb950; --poor: #f0883e; --blue: #58a6ff; --cell: #1d4d2b; --waits: #6b3a12; } body { background: #0d1117; } }
body { max-width: 1080px; margin: 2em auto; padding: 0 1.5em; color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font: 600 1.7em/1.3 ui-monospace, monospace; overflow-wrap: anywhere; }
h2 { margin: 2.2em 0 0.6em; padding-top: 0.8em; border-top: 1px solid var(--line); font-size: 1.25em; }
h3 { margin: 1.6em 0 0.5em; font-size: 1.05em; }
.dim, caption, figcaption { color: var(--dim); text-align: left; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.25em 1.2em; margin: 0.6em 0; }
.facts dt { color: var(--dim); }
.facts dd { margin: 0; }
.charts { display: flex; flex-wrap: wrap; gap: 0.5em; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.35em 0.6em; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
a { color: var(--blue); }
.poor { color: var(--poor); font-weight: 600; }
details { margin: 0.6em 0; padding: 0.5em 0.9em; border: 1px solid var(--line); border-radius: 6px; background: var(--card); }
summary { cursor: pointer; overflow-wrap: anywhere; }
pre { margin: 0.6em 0; overflow-x: auto; }
mark { background: var(--waits); color: inherit; border-radius: 2px; }
figure { margin: 0.8em 0; overflow-x: auto; }
svg text { font: 11px ui-monospace, monospace; fill: var(--text); }
svg .label { fill: var(--dim); }
svg .title { font: 600 12px system-ui, sans-serif; }
svg .value { fill: var(--blue); }
svg .grid { stroke: var(--line); }
svg .curve { fill: none; stroke: var(--good); stroke-width: 1.8; }
svg line.here { stroke: var(--blue); stroke-dasharray: 3 3; }
svg circle.here { fill: var(--blue); }
svg .cell { fill: var(--cell); stroke: var(--good); stroke-width: 0.5; }
svg .waits { fill: var(--waits); stroke: var(--poor); }
svg .sector { fill: none; stroke: var(--line); }
svg .used { fill: var(--good); fill-opacity: 0.65; }
@media print { details { break-inside: avoid; } }
`;
