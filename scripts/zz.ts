import * as fs from 'node:fs';
import { parseUnit } from '../server/src/analysis/parsed-unit';
import { defaultBudget } from '../server/src/lower/context';
import { lowerHost } from '../server/src/lower/host/lower-host';
import { createHostContext } from '../server/src/lower/lower-kernel';
import { LexCache } from '../server/src/preprocess/lex-cache';

const text = `__global__ void shown(long value) {} ${fs.readFileSync(process.argv[2], 'utf8').replace(/\bshow\(/g, 'shown<<<1, 32>>>(')}`;
const parsed = parseUnit(
  {
    path: 'p.cu',
    text,
    options: { computeCapability: '9.0', defines: new Map(), assume: new Map() },
    include: () => undefined,
  },
  new LexCache(),
);
const main = parsed.tree.declarations.find((d) => d.kind === 'function' && d.name.parts.at(-1)?.name === 'main');
const made = lowerHost(createHostContext(parsed.tree, parsed.source.tokens), main as never, {
  ...defaultBudget,
  instructions: 60000,
  steps: 600000,
  callDepth: 60,
});
const p = made!.program;
const show = (r: number) =>
  `r${r}${p.registers[r].name ? `(${p.registers[r].name})` : ''}${p.registers[r].role === 'constant' ? `=${p.registers[r].value}` : ''}`;
p.blocks.forEach((b, i) => {
  console.log(`block ${i}`);
  for (const ins of b.instructions)
    console.log(
      '  ',
      JSON.stringify(ins, (k, v) =>
        k === 'access' || k === 'place'
          ? undefined
          : ['a', 'b', 'dst', 'address', 'condition'].includes(k) && typeof v === 'number'
            ? show(v)
            : v,
      ),
    );
  console.log(
    '   ->',
    JSON.stringify(b.terminator, (k, v) => (k === 'place' || k === 'site' ? undefined : v)),
  );
});
