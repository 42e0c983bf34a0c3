import assert from 'node:assert/strict';
import { controlFlow, EXIT } from '../../../server/src/program/control-flow';
import { dependencies } from '../../../server/src/program/dependence';
import { printProgram } from '../../../server/src/program/print';
import type { Program } from '../../../server/src/program/program';
import { reconvergence } from '../../../server/src/program/reconvergence';
import { sliceForCounters } from '../../../server/src/program/slice';
import { verifyProgram } from '../../../server/src/program/verify';
import { programFrom } from './program-text';

/** A program that only branches: 'a: b c' is a block with a branch to b or c, 'a: b' a jump, 'a:' an exit. */
function graph(text: string): { program: Program; number: (name: string) => number; name: (block: number) => string } {
  const names = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(':')[0]);
  const body = text
    .trim()
    .split('\n')
    .map((line) => {
      const [label, targets] = line.trim().split(':');
      const to = targets
        .trim()
        .split(/\s+/)
        .filter((word) => word !== '');
      const work = label.endsWith('0') ? '' : 'store.f32 global [p] 0\n';
      return `${label}:\n${work}${to.length === 0 ? 'exit' : to.length === 1 ? `jump ${to[0]}` : `if c ${to[0]} ${to[1]}`}`;
    });
  const program = programFrom(`in p u64 parameter\n in c pred parameter\n${body.join('\n')}`);
  return { program, number: (name) => names.indexOf(name), name: (block) => (block === EXIT ? 'exit' : names[block]) };
}

describe('control flow', () => {
  const nest = 'a: h\n h: b x\n b: i c\n i: j c\n j: i k\n k: c\n c: h\n x:';

  it('dominators and post-dominators', () => {
    const { program, name } = graph(nest);
    const flow = controlFlow(program);
    const shown = (tree: Int32Array) => [...tree].map((block, i) => `${name(i)}<${name(block)}`).join(' ');
    assert.equal(shown(flow.dominator), 'a<exit h<a b<h i<b j<i k<j c<b x<h');
    assert.equal(shown(flow.postDominator), 'a<h h<x b<c i<c j<i k<c c<h x<exit'.replace('j<i', 'j<c'));
  });

  it('loops, outer first', () => {
    const { program, name } = graph(nest);
    const { loops } = controlFlow(program);
    const shown = loops.map((loop) => {
      const blocks = [...loop.contains].flatMap((inside, block) => (inside ? [name(block)] : []));
      return `${name(loop.header)}: ${blocks.join('')} leaves at ${loop.exitBranches.map(name).sort().join('')} in ${loop.parent}`;
    });
    assert.deepEqual(shown, ['h: hbijkc leaves at h in -1', 'i: ij leaves at ij in 0']);
  });

  it('an endless loop has post-dominators too', () => {
    const { program } = graph('a: b\n b: c d\n c: b\n d: b');
    assert.equal(controlFlow(program).postDominator.length, 4);
  });
});

describe('reconvergence', () => {
  function check(text: string, expected: string): void {
    const { program, name } = graph(text);
    const flow = controlFlow(program);
    const { point, loopEnd } = reconvergence(program, flow);
    const branches = flow.order.filter((block) => flow.successors[block].length === 2).sort((a, b) => a - b);
    const shown = branches.map((block) => `${name(block)}>${name(point[block])}`);
    const loops = flow.loops.map((loop) => `${name(loop.header)}|${name(loopEnd[loop.index])}`);
    assert.equal([...shown, ...loops].join(' '), expected);
  }

  it('if and else', () => check('a: b c\n b: d\n c: d\n d:', 'a>d'));
  it('early return in an if', () => check('a: b d\n b: r c\n r:\n c: d\n d: e\n e:', 'a>d b>c'));
  it('early return to a shared empty exit', () => check('a: b d\n b: x0 c\n c: d\n d: x0\n x0:', 'a>d b>c'));
  it('a long part that returns does not hide the meeting', () =>
    check('a: b d\n b: r c\n r: s\n s: t\n t: u\n u: v\n v:\n c: d\n d:', 'a>d b>c'));
  it('break in an if of a loop', () => check('a: h\n h: b x\n b: c d\n c: x d\n d: h\n x:', 'h>b b>d c>d h|x'));
  it('continue', () => check('a: h\n h: b x\n b: c d\n c: l e\n e: d\n d: l\n l: h\n x:', 'h>b b>l c>l h|x'));
  it('behind each of many loops that were written out, whatever a search would cost', () => {
    const count = 400;
    const numbers = Array.from({ length: count }, (_, k) => k + 1);
    const { program, number } = graph(
      [...numbers.map((k) => `h${k}x: b${k}x h${k + 1}x\n b${k}x: h${k}x`), `h${count + 1}x:`].join('\n'),
    );
    const flow = controlFlow(program);
    const { loopEnd } = reconvergence(program, flow);
    for (const loop of flow.loops) {
      const behind = numbers.find((k) => number(`h${k}x`) === loop.header);
      assert.equal(loopEnd[loop.index], number(`h${(behind ?? 0) + 1}x`));
    }
  });
  it('switch with fall-through', () => check('a: p b\n b: q c\n c: r x\n p: q\n q: x\n r: x\n x:', 'a>x b>x c>x'));
});

describe('dependence', () => {
  function check(text: string, expected: string): void {
    const program = programFrom(text);
    const found = dependencies(program);
    const names = (set: ReadonlySet<number>) => [...set].map((input) => program.inputs[input].name).join('+');
    const loads = (set: ReadonlySet<number>) => [...set].map((access) => `#${access}`).join('+');
    const shown = program.accesses.map((_, i) => {
      const address = [names(found.address[i]), loads(found.addressLoads[i])].filter((s) => s !== '').join('+');
      const execution = [names(found.execution[i]), loads(found.executionLoads[i])].filter((s) => s !== '').join('+');
      return `${address} if ${execution}`;
    });
    assert.equal(shown.join('; '), expected);
  }

  const inputs = 'in p u64 parameter\n in n i32 parameter\n in m i32 parameter\n in tid i32 threadIdx.x\n';

  it('data, control, and loads', () =>
    check(
      `${inputs}
      w = convert.u64.i32 tid
      a = add.u64 p w
      v = load.i32 global [a]
      c = lt.i32 tid n
      if c then end
      then:
        d = gt.i32 v m
        if d more end
      more:
        x = convert.u64.i32 v
        b = add.u64 p x
        store.f32 global [b] 0
      end:
        exit`,
      'p+tid if ; p+tid+#0 if p+n+m+tid+#0',
    ));

  it('a variable depends on the conditions under which it is assigned', () =>
    check(
      `${inputs}
      var k i32
      k = mov.i32 0
      c = lt.i32 tid n
      if c then end
      then:
        k = mov.i32 4
      end:
        w = convert.u64.i32 k
        a = add.u64 p w
        store.f32 global [a] 0
        exit`,
      'p+n+tid if ',
    ));

  it('a loop count depends on the bound, what follows does not', () =>
    check(
      `${inputs}
      var i i32
      i = mov.i32 0
      loop:
        c = lt.i32 i n
        if c body end
      body:
        store.f32 global [p] 0
        i = add.i32 i m
        jump loop
      end:
        store.f32 global [p] 0
        exit`,
      'p if n+m; p if ',
    ));

  it('through shared memory', () =>
    check(
      `${inputs}
      shared s 64
      store.i32 shared [s] n
      v = load.i32 shared [s]
      w = convert.u64.i32 v
      a = add.u64 p w
      store.f32 global [a] 0
      exit`,
      's if ; s if ; p+n+s+#1 if ',
    ));
});

describe('slice', () => {
  it('keeps what decides addresses and branches', () => {
    const program = programFrom(`
      in p u64 parameter
      in n i32 parameter
      shared s 64
      f = add.i32 n 1
      g = mul.i32 f 2
      store.i32 shared [s] g
      h = add.i32 n 7
      store.i32 global [p] h
      k = load.i32 shared [s]
      c = lt.i32 k 3
      if c a b
      a:
        dead = mul.i32 n n
      b:
        exit`);
    const { kept } = sliceForCounters(program);
    const shown = printProgram({
      ...program,
      blocks: program.blocks.map((block, i) => ({ ...block, instructions: kept[i] })),
    });
    assert.ok(shown.includes('mul.i32 r4.f, 2'));
    assert.ok(!shown.includes('.h ='));
    assert.ok(!shown.includes('.dead ='));
  });
});

describe('slice of unrolled copies', () => {
  it('keeps the values of all stores of a site', () => {
    const program = programFrom(`
      in p u64 parameter
      in n i32 parameter
      shared s 64
      f = add.i32 n 1
      store.i32 shared [s] f
      g = add.i32 n 2
      store.i32 shared [s] g
      k = load.i32 shared [s]
      c = lt.i32 k 3
      if c a a
      a:
        exit`);
    const share = program.blocks.map((block) => ({
      ...block,
      instructions: block.instructions.map((each) => (each.op === 'store' ? { ...each, access: 0 } : each)),
    }));
    const { kept } = sliceForCounters({ ...program, blocks: share });
    assert.equal(kept[0].length, 6);
  });
});

describe('text form', () => {
  it('is readable', () => {
    const program = programFrom(`
      in tid i32 threadIdx.x
      shared s 64 8
      var i i32
      i = mov.i32 tid
      loop:
        a = convert.u64.i32 i
        b = add.u64 s a
        v = load.f32 shared [b - 4]
        store.f32 shared [b + 8] v
        i = fma.i32 i 2 1
        c = lt.i32 i 64
        if c loop end
      end:
        exit`);
    assert.equal(
      printProgram(program),
      `kernel test
  input $r0.tid: i32 = tid
  input $r1.s: u64 = s
  object 0 s: shared, 64 bytes, aligned to 8
b0:
  %r2.i = mov.i32 $r0.tid
  jump b1
b1:
  r3.a = u64.i32 %r2.i
  r4.b = add.u64 $r1.s, r3.a
  r5.v = load.f32 [r4.b - 4] ; shared [b - 4]
  store.f32 [r4.b + 8], r5.v ; shared [b + 8]
  %r2.i = fma.i32 %r2.i, 2, 1
  r9.c = lt.i32 %r2.i, 64
  if r9.c b1 else b2
b2:
  exit
`,
    );
  });
});

describe('verification', () => {
  function check(change: (program: Program) => Program, expected: RegExp | undefined): void {
    const sound = programFrom(`
      in n i32 parameter
      in p u64 parameter
      c = lt.i32 n 3
      if c a b
      a:
        x = add.i32 n 1
        store.i32 global [p] x
      b:
        exit`);
    const problems = verifyProgram(change(sound));
    if (expected === undefined) assert.deepEqual(problems, []);
    else assert.match(problems.join('\n'), expected);
  }
  const withBlock = (program: Program, index: number, block: Partial<Program['blocks'][0]>): Program => ({
    ...program,
    blocks: program.blocks.map((each, i) => (i === index ? { ...each, ...block } : each)),
  });

  it('sound programs have no problems', () => check((program) => program, undefined));
  it('targets', () =>
    check((program) => withBlock(program, 0, { terminator: { kind: 'jump', target: 9 } }), /goes to block 9/));
  it('temporaries assigned twice', () =>
    check((program) => withBlock(program, 2, { instructions: program.blocks[0].instructions }), /assigned 2 times/));
  it('temporaries used where they are not assigned', () =>
    check(
      (program) => withBlock(program, 2, { instructions: program.blocks[1].instructions.slice(1) }),
      /does not dominate/,
    ));
  it('assigned inputs', () =>
    check((program) => {
      const add = program.blocks[1].instructions[0];
      return add.op === 'binary' ? withBlock(program, 1, { instructions: [{ ...add, dst: 0 }] }) : program;
    }, /input 0 is assigned/));
  it('conditions that are no truth values', () =>
    check(
      (program) =>
        withBlock(program, 0, { terminator: { kind: 'branch', condition: 0, ifTrue: 1, ifFalse: 2, branch: 0 } }),
      /branches on i32/,
    ));
});
