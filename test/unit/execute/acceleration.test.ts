import assert from 'node:assert/strict';
import fc from 'fast-check';
import { execute } from '../../../server/src/execute/execute';
import type { Execution, LaunchShape } from '../../../server/src/execute/execution';
import type { Program } from '../../../server/src/program/program';
import { checksumModel, reference } from './reference';
import { launchOf, plainModel, sound } from './run';

function figures(execution: Execution) {
  return {
    accesses: execution.accesses.map(({ witness: _, ...counts }) => counts),
    branches: execution.branches,
    blocks: [...execution.blockExecutions],
    lanes: [...execution.laneExecutions],
    incomplete: execution.incomplete,
  };
}

function runBoth(program: Program, launch: LaunchShape) {
  const budget = { warpInstructions: 2_000_000, blocks: 8 };
  return {
    fast: execute(program, launch, plainModel, budget),
    full: execute(program, launch, plainModel, { ...budget, everyPass: true }),
  };
}

/** The counts must be equal; gives the share of warp instructions that were really executed. */
function check(text: string, launch: { block?: LaunchShape['block']; n?: number } = {}): number {
  const program = sound(text);
  const shape = launchOf(program, { block: launch.block, values: { n: launch.n ?? 1000 } });
  const { fast, full } = runBoth(program, shape);
  assert.equal(full.incomplete, undefined);
  assert.deepEqual(figures(fast), figures(full));
  return fast.simulatedWarpInstructions / full.simulatedWarpInstructions;
}

const header = `
  in tid i32 threadIdx.x
  in n i32 parameter
  in p u64 parameter
  shared s 16384
`;

const access = (index: string, name: string, space = 'global', base = 'p') => `
    ${name}w = convert.u64.i32 ${index}
    ${name}o = mul.u64 ${name}w 4
    ${name}a = add.u64 ${base} ${name}o
    store.f32 ${space} [${name}a] 0`;

const loop = (body: string, step = 'i = add.i32 i 1', start = '0') => `${header}
    var i i32
    i = mov.i32 ${start}
  loop:
    c = lt.i32 i n
    if c body end
  body:${body}
  next:
    ${step}
    jump loop
  end:
    exit`;

describe('loop acceleration', () => {
  it('skips passes whose addresses move by whole segments', () => {
    const share = check(
      loop(`
      r = mul.i32 i 32
      x = add.i32 r tid
      ${access('x', 'g')}`),
    );
    assert.ok(share < 0.05, `${share}`);
  });

  it('finds the period of addresses that move by less than a segment', () => {
    const share = check(
      loop(`
      r = mul.i32 tid 1024
      x = add.i32 r i
      ${access('x', 'g')}`),
    );
    assert.ok(share < 0.1, `${share}`);
  });

  it('follows double buffers and rings', () => {
    const share = check(`${header}
      var i i32
      var b i32
      var st i32
      i = mov.i32 0
      b = mov.i32 0
      st = mov.i32 0
    loop:
      c = lt.i32 i n
      if c body end
    body:
      x0 = mul.i32 b 33
      x1 = mul.i32 st 70
      x2 = add.i32 x0 x1
      x3 = mul.i32 tid 2
      x = add.i32 x2 x3
      ${access('x', 'g')}
      b = xor.i32 b 1
      s1 = add.i32 st 1
      st = rem.i32 s1 3
      i = add.i32 i 1
      jump loop
    end:
      exit`);
    assert.ok(share < 0.2, `${share}`);
  });

  it('stops before a branch in the body turns', () => {
    const share = check(
      loop(`
      d = lt.i32 i 700
      if d first second
    first:
      ${access('tid', 'g')}
      jump next
    second:
      t2 = mul.i32 tid 2
      ${access('t2', 'h')}`),
    );
    assert.ok(share < 0.1, `${share}`);
  });

  it('does something every seventh pass', () => {
    const share = check(
      loop(`
      m = rem.i32 i 7
      d = eq.i32 m 3
      if d first next
    first:
      ${access('tid', 'g')}`),
    );
    assert.ok(share < 0.1, `${share}`);
  });

  it('leaves loops that multiply alone', () => {
    check(loop(access('tid', 'g'), 'i = mul.i32 i 3', '1'), { n: 100000 });
    check(
      loop(
        access('i', 'g'),
        `k = mul.i32 i 5
      j = add.i32 k 3
      i = and.i32 j 1023`,
        '1',
      ),
      { n: 509 },
    );
  });

  it('lanes with bounds of their own', () => {
    const share = check(`${header}
      var i i32
      bound = mul.i32 tid 40
      i = mov.i32 0
    loop:
      c = lt.i32 i bound
      if c body end
    body:
      r = mul.i32 i 32
      x = add.i32 r tid
      ${access('x', 'g')}
      i = add.i32 i 1
      jump loop
    end:
      exit`);
    assert.ok(share < 0.6, `${share}`);
  });

  it('counts a loop of 2^31 - 1 passes', () => {
    const program = sound(loop(access('tid', 'g')));
    const execution = execute(program, launchOf(program, { values: { n: 2 ** 31 - 1 } }), plainModel, {
      warpInstructions: 100_000,
      blocks: 1,
    });
    assert.equal(execution.incomplete, undefined);
    assert.equal(execution.accesses[0].requests, 2 ** 31 - 1);
  });

  it('tells of a loop that never ends', () => {
    const program = sound(loop(access('tid', 'g'), 'i = mov.i32 5'));
    const execution = execute(program, launchOf(program, { values: { n: 10 } }), plainModel, {
      warpInstructions: 100_000,
      blocks: 1,
    });
    assert.match(execution.incomplete ?? '', /does not end/);
  });

  it('gives the counts of full execution on random loop nests', function () {
    this.timeout(60_000);
    let shortened = 0;
    const runs = 250;
    fc.assert(
      fc.property(nest, fc.constantFrom(32, 40, 96), fc.integer({ min: 0, max: 70 }), (text, threads, n) => {
        const program = sound(text);
        const { fast, full } = runBoth(program, launchOf(program, { block: [threads, 1, 1], values: { n } }));
        fc.pre(full.incomplete === undefined);
        assert.deepEqual(figures(fast), figures(full));
        if (fast.simulatedWarpInstructions < full.simulatedWarpInstructions) shortened++;
      }),
      { numRuns: runs },
    );
    // The property says nothing unless loops are really skipped.
    assert.ok(shortened > runs / 10, `${shortened} of ${runs}`);
  });
});

describe('execution', () => {
  it('is that of threads one after the other', function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(
        nest,
        fc.constantFrom(32, 40, 96),
        fc.integer({ min: 0, max: 70 }),
        fc.boolean(),
        (text, threads, n, everyPass) => {
          const program = sound(text);
          const launch = launchOf(program, { block: [threads, 1, 1], values: { n } });
          const values = new Map<number, number>();
          for (const [input, value] of launch.inputs) if (value.kind === 'number') values.set(input, value.value);
          const expected = reference(program, threads, values, 20_000);
          fc.pre(expected !== undefined);
          const budget = { warpInstructions: 1e7, blocks: 1, everyPass };
          const execution = execute(program, launch, checksumModel, budget);
          assert.deepEqual([...execution.laneExecutions], expected.lanes);
          const accesses = program.accesses.map((_, access) => {
            const counts = execution.accesses.find((each) => each.access === access);
            return { count: counts?.activeLanes ?? 0, sum: counts?.sectors ?? 0 };
          });
          assert.deepEqual(accesses, expected.accesses);
        },
      ),
      { numRuns: 250 },
    );
  });
});

// ---- random loop nests ----

interface Level {
  readonly bound: string;
  readonly step: number;
  readonly start: string;
  readonly isUnsigned: boolean;
}

/** An index made of the loop variables so far and of the thread: i<depth> are loop variables. */
const term = fc.record({
  variable: fc.nat({ max: 3 }),
  factor: fc.constantFrom(1, 2, 3, 4, 8, 17, 32, 64, -1),
  change: fc.constantFrom('none', 'rem', 'div', 'and', 'xor', 'shr', 'min', 'max', 'shl'),
  by: fc.constantFrom(1, 2, 3, 5, 7, 8, 16, 31),
});
type Term = typeof term extends fc.Arbitrary<infer T> ? T : never;

const statement = fc.record({
  terms: fc.array(term, { minLength: 1, maxLength: 3 }),
  space: fc.constantFrom('global', 'shared'),
  guard: fc.option(
    fc.record({ on: term, compare: fc.constantFrom('lt', 'eq', 'ge', 'ne'), value: fc.nat({ max: 40 }) }),
  ),
  leaves: fc.boolean(),
});
type Statement = typeof statement extends fc.Arbitrary<infer T> ? T : never;

const level: fc.Arbitrary<Level> = fc.record({
  bound: fc.constantFrom('n', '3', '20', '37', 'outer', 'tid'),
  step: fc.constantFrom(1, 1, 1, 2, 3, 5),
  start: fc.constantFrom('0', '0', '1', 'tid', 'outer'),
  isUnsigned: fc.boolean(),
});

const carriedUpdate = fc.constantFrom(
  '',
  'acc = add.i32 acc 4',
  'acc = xor.i32 acc 1',
  'acc = xor.i32 acc 32',
  'u = add.i32 acc 1\n acc = rem.i32 u 3',
  'u = add.i32 acc 5\n acc = and.i32 u 31',
  'acc = add.i32 acc inner',
  'u = mul.i32 acc 3\n acc = and.i32 u 63',
  'u = eq.i32 acc 6\n v = add.i32 acc 1\n acc = select.i32 u 0 v',
);

const nest = fc
  .record({
    levels: fc.array(level, { minLength: 1, maxLength: 3 }),
    inner: fc.array(statement, { minLength: 1, maxLength: 3 }),
    outer: fc.array(statement, { maxLength: 1 }),
    update: carriedUpdate,
  })
  .map(({ levels, inner, outer, update }) => {
    const counter = { next: 0 };
    const name = () => `t${counter.next++}`;
    const variables = (depth: number) => ['tid', 'acc', ...Array.from({ length: depth }, (_, i) => `i${i}`)];
    const innermost = `i${levels.length - 1}`;
    let body = inner
      .map((each) => printStatement(each, variables(levels.length), name, `end${levels.length - 1}`))
      .join('\n');
    body += `\n${update.replace(/\bu\b/g, name()).replace(/\bv\b/g, name()).replace('inner', innermost)}\n`;
    for (let depth = levels.length - 1; depth >= 0; depth--) {
      const { bound, step, start, isUnsigned } = levels[depth];
      const at = (word: string) => (word === 'outer' ? (depth > 0 ? `i${depth - 1}` : '11') : word);
      const own = depth === 0 ? outer.map((each) => printStatement(each, variables(1), name, 'end0')).join('\n') : '';
      const condition = name();
      body = `
        i${depth} = mov.i32 ${at(start)}
      head${depth}:
        ${condition} = lt.${isUnsigned ? 'u32' : 'i32'} i${depth} ${at(bound)}
        if ${condition} body${depth} end${depth}
      body${depth}:
        ${own}
        ${body}
        i${depth} = add.i32 i${depth} ${step}
        jump head${depth}
      end${depth}:`;
    }
    const declared = levels.map((_, i) => `var i${i} i32`).join('\n');
    return `${header}\n${declared}\nvar acc i32\nacc = mov.i32 2\n${body}\nexit`;
  });

function printTerm({ variable, factor, change, by }: Term, variables: readonly string[], name: () => string) {
  const [scaled, changed] = [name(), name()];
  const from = variables[variable % variables.length];
  const lines = [`${scaled} = mul.i32 ${from} ${factor}`];
  if (change !== 'none')
    lines.push(`${changed} = ${change}.i32 ${scaled} ${change === 'shr' || change === 'shl' ? by % 4 : by}`);
  return { lines, result: change === 'none' ? scaled : changed };
}

function printStatement(
  { terms, space, guard, leaves }: Statement,
  variables: readonly string[],
  name: () => string,
  exit: string,
): string {
  const printed = terms.map((each) => printTerm(each, variables, name));
  const lines = printed.flatMap((each) => each.lines);
  let sum = printed[0].result;
  for (const { result } of printed.slice(1)) {
    const next = name();
    lines.push(`${next} = add.i32 ${sum} ${result}`);
    sum = next;
  }
  const positive = name();
  lines.push(`${positive} = and.i32 ${sum} 4095`);
  const store = access(space === 'shared' ? positive : sum, name(), space, space === 'shared' ? 's' : 'p');
  if (!guard) return [...lines, store].join('\n');
  const on = printTerm(guard.on, variables, name);
  const [condition, inside, after] = [name(), name(), name()];
  return [
    ...lines,
    ...on.lines,
    `${condition} = ${guard.compare}.i32 ${on.result} ${guard.value}`,
    `if ${condition} ${inside} ${after}`,
    `${inside}:`,
    store,
    ...(leaves ? [`jump ${exit}`] : []),
    `${after}:`,
  ].join('\n');
}
