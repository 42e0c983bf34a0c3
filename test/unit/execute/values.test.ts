import assert from 'node:assert/strict';
import { addressWindows } from '../../../server/src/program/addresses';
import { type Launch, run } from './run';

const base = addressWindows.global * 3;

/**
 * Executes a program that ends by storing to p (the third input) + 4 x, and shows x in the first lanes of the worst
 * request of the last access, or why it is not known.
 */
function check(text: string, expected: readonly number[] | string, launch: Launch = {}): void {
  const execution = run(
    `in tid i32 threadIdx.x
     in n i32 parameter
     in p u64 parameter
     ${text}
     w = convert.i64.i32 x
     o = mul.i64 w 4
     a = add.u64 p o
     store.f32 global [a] 0
     exit`,
    launch,
  );
  const last = execution.accesses[execution.accesses.length - 1];
  if (typeof expected === 'string') {
    assert.equal(last.unknownReason, expected);
    assert.equal(last.unknownRequests, last.requests);
    return;
  }
  assert.equal(last.unknownReason, undefined);
  const shown = last.witness?.addresses.map((address) => (address - base) / 4);
  assert.deepEqual(shown?.slice(0, expected.length), expected);
}

const address = (name: string, index: string, space = 's') => `
     ${name}w = convert.u64.i32 ${index}
     ${name}o = mul.u64 ${name}w 4
     ${name} = add.u64 ${space} ${name}o`;

describe('values that are not known', () => {
  it('loaded data, with the expression', () => {
    check('x = load.i32 global [p + 8]', 'depends on loaded data: [p + 8]');
    check('v = load.i32 global [p]\n u = mul.i32 v 4\n x = add.i32 u tid', 'depends on loaded data: [p]');
  });

  it('parameters without a value, and the first reason', () => {
    check('x = add.i32 n 1', "'n' is not known", { values: { n: 'unknown' } });
    check('v = load.i32 global [p]\n x = add.i32 n v', "'n' is not known", { values: { n: 'unknown' } });
  });

  it('what the other operand absorbs', () => {
    check('v = load.i32 global [p]\n x = and.i32 v 0', [0, 0]);
    check('v = load.i32 global [p]\n x = mul.i32 0 v', [0, 0]);
    check(
      'v = load.i32 global [p]\n m = rem.i32 tid 2\n u = mul.i32 v m\n c = eq.i32 m 0\n x = select.i32 c u 9',
      [0, 9, 0],
    );
    check(
      'v = load.i32 global [p]\n q = lt.i32 v 3\n z = lt.i32 tid 0\n b = and.pred q z\n x = select.i32 b 1 2',
      [2, 2],
    );
    check(
      'v = load.i32 global [p]\n q = lt.i32 v 3\n z = ge.i32 tid 0\n b = or.pred q z\n x = select.i32 b 1 2',
      [1, 1],
    );
  });

  it('a selection takes the known side of a known condition', () => {
    check('v = load.i32 global [p]\n c = lt.i32 tid 99\n x = select.i32 c tid v', [0, 1, 2]);
    check('v = load.i32 global [p]\n c = lt.i32 v 99\n x = select.i32 c 1 2', 'depends on loaded data: [p]');
  });

  it('division by zero and what is beyond 2^53', () => {
    check('x = div.i32 5 n', 'division by zero', { values: { n: 0 } });
    check('x = rem.u32 5 n', 'division by zero', { values: { n: 0 } });
    check('b = mul.i64 4503599627370496 3\n x = convert.i32.i64 b', '64-bit value beyond 2^53');
    check('b = mul.i64 4503599627370496 4096\n x = convert.i32.i64 b', [0, 0]);
  });

  it('64-bit indices below zero come back', () => {
    check('d = sub.i32 tid 1\n e = convert.u64.i32 d\n f = add.u64 e 1\n x = convert.i32.u64 f', [0, 1, 2]);
  });
});

describe('contents of memory', () => {
  it('shared memory gives back what was stored', () => {
    check(
      `shared s 256
      v = mul.i32 tid 3 ${address('t', 'tid')}
      store.i32 shared [t] v
      barrier
      back = sub.i32 31 tid ${address('r', 'back')}
      x = load.i32 shared [r]`,
      [93, 90, 87],
    );
  });

  it('a prefix table made by a scan', () => {
    check(
      `shared s 128
      var i i32
      ${address('t', 'tid')}
      store.i32 shared [t] 1
      barrier
      i = mov.i32 1
    loop:
      c = lt.i32 i 32
      if c body done
    body:
      has = ge.i32 tid i
      low = sub.i32 tid i
      safe = max.i32 low 0 ${address('r', 'safe')}
      left = load.i32 shared [r]
      add = select.i32 has left 0
      own = load.i32 shared [t]
      barrier
      sum = add.i32 own add
      store.i32 shared [t] sum
      barrier
      i = mul.i32 i 2
      jump loop
    done:
      x = load.i32 shared [t]`,
      [1, 2, 3, 4, 5],
    );
  });

  it('a part of what was stored', () => {
    check(
      `shared s 256
      store.i32 shared [s] 458752
      h = load.u16 shared [s + 2]
      x = convert.i32.u16 h`,
      [7, 7, 7],
    );
  });

  it('what is left of it beside a part that was stored over', () => {
    check(
      `shared s 256
      store.i32 shared [s] 7
      store.u8 shared [s + 1] 7
      x = load.i32 shared [s]`,
      [1799, 1799, 1799],
    );
  });

  it('reads of nothing, and of what unknown addresses may have changed are not known', () => {
    check('shared s 256\n x = load.i32 shared [s + 12]', 'depends on loaded data: [s + 12]');
    check(
      `shared s 256
      store.i32 shared [s] 7
      v = load.i32 global [p] ${address('q', 'v')}
      store.i32 shared [q] 1
      x = load.i32 shared [s]`,
      'depends on loaded data: [p]',
    );
  });

  it('local memory is one array a lane', () => {
    check(
      `local s 64
      v = mul.i32 tid 2
      store.i32 local [s + 8] v
      x = load.i32 local [s + 8]`,
      [0, 2, 4, 6],
    );
  });

  it('constant tables, indexed by lane', () => {
    check(
      `constant t i32 5 6 7 9
      i = rem.i32 tid 4 ${address('r', 'i', 't')}
      x = load.i32 constant [r]`,
      [5, 6, 7, 9, 5],
    );
  });

  it('shared counters hand out places one lane after the other', () => {
    check(
      `shared s 16
      store.i32 shared [s] 10
      barrier
      x = atomic.add.i32 shared [s] 2`,
      [10, 12, 14],
    );
  });

  it('stores under an unknown condition are not trusted', () => {
    check(
      `shared s 16
      store.i32 shared [s] 1
      v = load.i32 global [p]
      c = lt.i32 v 7
      if c then after
    then:
      store.i32 shared [s] 2
    after:
      x = load.i32 shared [s]`,
      'condition depends on loaded data: [p]',
    );
  });
});

describe('operations across lanes', () => {
  it('shuffles', () => {
    check('x = shuffleDown.i32 tid 4', [4, 5, 6]);
    check('x = shuffleUp.i32 tid 2', [0, 1, 0, 1, 2]);
    check('x = shuffleXor.i32 tid 1', [1, 0, 3, 2]);
    check('x = shuffle.i32 tid 3 8', [3, 3, 3, 3, 3, 3, 3, 3, 11]);
    check('x = shuffleDown.i32 tid 4 8', [4, 5, 6, 7, 4, 5, 6, 7, 12]);
  });

  it('votes and reductions', () => {
    const asIndex = (vote: string) => `c = lt.i32 tid 3\n ${vote}`;
    check(asIndex('b = ballot.pred c\n x = convert.i32.u32 b'), [7, 7]);
    check(asIndex('b = any.pred c\n x = select.i32 b 1 2'), [1]);
    check(asIndex('b = all.pred c\n x = select.i32 b 1 2'), [2]);
    check('x = reduceAdd.i32 tid', [496]);
    check('x = reduceMax.i32 tid', [31]);
    check('m = rem.i32 tid 16\n b = matchAny.i32 m\n c = and.u32 b 65535\n x = convert.i32.u32 c', [1, 2, 4, 8]);
  });

  it('a shuffle from a lane that is not active is not known', () => {
    const text = `var x i32
      x = mov.i32 0
      c = lt.i32 tid 4
      if c then after
    then:
      x = shuffle.i32 tid 9
    after:
      y = mov.i32 0`;
    const execution = run(`in tid i32 threadIdx.x\n in n i32 parameter\n in p u64 parameter\n ${text}
      w = convert.i64.i32 x
      o = mul.i64 w 4
      a = add.u64 p o
      store.f32 global [a] 0
      exit`);
    assert.equal(execution.accesses[0].unknownReason, 'shuffle from a lane that is not active');
  });
});

describe('branches on what is not known', () => {
  const header = `
    in tid i32 threadIdx.x
    in n i32 parameter
    in p u64 parameter
    w = convert.u64.i32 tid
    o = mul.u64 w 4
    a = add.u64 p o
    v = load.i32 global [a]
    c = lt.i32 v 3`;

  /** 'requests/lanes' of every access after the first, with a ? where it is speculative and ! where it is unknown. */
  function counts(text: string, expected: string, launch: Launch = {}): void {
    const execution = run(`${header}\n${text}`, launch);
    assert.equal(execution.incomplete, undefined);
    const shown = execution.accesses.slice(1).map((each) => {
      return `${each.requests}/${each.activeLanes}${each.speculative ? '?' : ''}${each.unknownRequests > 0 ? '!' : ''}`;
    });
    assert.equal(shown.join(' '), expected);
  }

  it('both sides of an if, then all go on', () => {
    counts(
      `if c then else
      then:
        store.f32 global [a] 0
        jump after
      else:
        store.f32 global [a] 0
      after:
        store.f32 global [a] 0
        exit`,
      '1/32? 1/32? 1/32',
    );
  });

  it('lanes that know their side take that only', () => {
    counts(
      `k = lt.i32 tid 8
      d = or.pred c k
      if d then else
      then:
        store.f32 global [a] 0
        jump after
      else:
        store.f32 global [a] 0
      after:
        exit`,
      '1/32? 1/24?',
    );
  });

  it('variables: equal on both sides is known, different is not', () => {
    const text = (second: number) => `var x i32
      if c then else
      then:
        x = mov.i32 4
        jump after
      else:
        x = mov.i32 ${second}
      after:
        xw = convert.u64.i32 x
        xo = mul.u64 xw 4
        xa = add.u64 p xo
        store.f32 global [xa] 0
        exit`;
    counts(text(4), '1/32');
    counts(text(5), '1/32!');
  });

  it('an early return is passed by', () => {
    counts(
      `if c out stay
      out:
        exit
      stay:
        store.f32 global [a] 0
        exit`,
      '1/32?',
    );
  });

  it('a loop of unknown length takes two passes', () => {
    counts(
      `var i i32
      i = mov.i32 0
      loop:
        d = lt.i32 i v
        if d body after
      body:
        store.f32 global [a] 0
        i = add.i32 i 1
        jump loop
      after:
        xw = convert.u64.i32 i
        xo = mul.u64 xw 4
        xa = add.u64 p xo
        store.f32 global [xa] 0
        exit`,
      '2/64? 1/32!',
    );
  });

  it('a do-while of unknown length too', () => {
    counts(
      `loop:
        store.f32 global [a] 0
        if c loop after
      after:
        store.f32 global [a] 0
        exit`,
      '2/64? 1/32',
    );
  });

  it('a break on data does not end a counted loop', () => {
    counts(
      `var i i32
      i = mov.i32 0
      loop:
        d = lt.i32 i 10
        if d body after
      body:
        store.f32 global [a] 0
        if c after next
      next:
        i = add.i32 i 1
        jump loop
      after:
        store.f32 global [a] 0
        exit`,
      '10/320? 1/32',
    );
  });

  it('code on the way out of a loop is executed once', () => {
    counts(
      `var i i32
      i = mov.i32 0
      loop:
        d = lt.i32 i 10
        if d body after
      body:
        if c found next
      found:
        store.f32 global [a] 0
        jump after
      next:
        i = add.i32 i 1
        jump loop
      after:
        store.f32 global [a] 0
        exit`,
      '1/32? 1/32',
    );
  });

  it('what a break on data takes along is not known behind the loop', () => {
    counts(
      `var i i32
      var r i32
      i = mov.i32 0
      r = mov.i32 0
      loop:
        d = lt.i32 i 6
        if d body after
      body:
        if c found next
      found:
        r = mov.i32 i
        jump after
      next:
        i = add.i32 i 1
        jump loop
      after:
        g = convert.u64.i32 r
        b = add.u64 a g
        store.f32 global [b] 0
        store.f32 global [a] 0
        exit`,
      '1/32! 1/32',
    );
  });

  it('a break on data inside an if on data', () => {
    counts(
      `var i i32
      i = mov.i32 0
      e = lt.i32 v 9
      loop:
        d = lt.i32 i 6
        if d body after
      body:
        if e inner next
      inner:
        store.f32 global [a] 0
        if c after next
      next:
        store.f32 global [a] 0
        i = add.i32 i 1
        jump loop
      after:
        store.f32 global [a] 0
        exit`,
      '6/192? 6/192? 1/32',
    );
  });

  it('many nested conditions cost no more than their number', () => {
    const depth = 40;
    const open = Array.from({ length: depth }, (_, i) => `if c in${i} out${i}\n in${i}:\n store.f32 global [a] 0`);
    const close = Array.from({ length: depth }, (_, i) => `out${depth - 1 - i}:\n store.f32 global [a] 0`);
    counts(
      `${open.join('\n')}\n${close.join('\n')}\nexit`,
      [...Array(2 * depth)].map((_, i) => (i === 2 * depth - 1 ? '1/32' : '1/32?')).join(' '),
    );
  });

  it('an endless loop with a way out on data is left', () => {
    counts(
      `loop:
        store.f32 global [a] 0
        k = lt.i32 n 0
        if k after on
      on:
        if c after loop
      after:
        store.f32 global [a] 0
        exit`,
      '6/192? 1/32',
    );
  });
});
