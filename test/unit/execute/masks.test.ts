import assert from 'node:assert/strict';
import { type Launch, run } from './run';

/** Requests and active lanes of every access, in order of the accesses, e.g. '1/32 2/48'; '-' for one never executed. */
function check(text: string, expected: string, launch: Launch = {}): void {
  const execution = run(text, launch);
  const count = Math.max(...execution.accesses.map((each) => each.access), expected.split(' ').length - 1) + 1;
  const shown = Array.from({ length: count }, (_, access) => {
    const each = execution.accesses.find((one) => one.access === access);
    return each ? `${each.requests}/${each.activeLanes}` : '-';
  });
  assert.equal(shown.join(' '), expected);
  assert.equal(execution.incomplete, undefined);
}

const header = `
  in tid i32 threadIdx.x
  in n i32 parameter
  in p u64 parameter
  wide = convert.u64.i32 tid
  scaled = mul.u64 wide 4
  a = add.u64 p scaled
`;

describe('masks and reconvergence', () => {
  it('if without else', () => {
    check(
      `${header}
      c = lt.i32 tid 10
      if c then after
      then:
        store.f32 global [a] 0
      after:
        store.f32 global [a] 0
        exit`,
      '1/10 2/64',
      { block: [64, 1, 1] },
    );
  });

  it('if and else', () => {
    check(
      `${header}
      c = lt.i32 tid 40
      if c then else
      then:
        store.f32 global [a] 0
        jump after
      else:
        store.f32 global [a] 0
      after:
        store.f32 global [a] 0
        exit`,
      '2/40 1/24 2/64',
      { block: [64, 1, 1] },
    );
  });

  it('early return, nested in an if, does not part the others', () => {
    check(
      `${header}
      c = lt.i32 tid 20
      if c then after
      then:
        d = lt.i32 tid 5
        if d out stay
      out:
        exit
      stay:
        store.f32 global [a] 0
      after:
        store.f32 global [a] 0
        exit`,
      '1/15 1/27',
    );
  });

  it('break nested in an if of a loop does not part the others', () => {
    check(
      `${header}
      var i i32
      i = mov.i32 0
      loop:
        c = lt.i32 i 4
        if c body after
      body:
        d = lt.i32 tid 16
        if d inner join
      inner:
        e = eq.i32 tid i
        if e after join
      join:
        store.f32 global [a] 0
        i = add.i32 i 1
        jump loop
      after:
        store.f32 global [a] 0
        exit`,
      '4/118 1/32',
    );
  });

  it('code on the way out of a loop', () => {
    check(
      `${header}
      var i i32
      i = mov.i32 0
      loop:
        c = lt.i32 i 3
        if c body after
      body:
        e = eq.i32 tid i
        if e found next
      found:
        store.f32 global [a] 0
        jump after
      next:
        i = add.i32 i 1
        jump loop
      after:
        store.f32 global [a] 0
        exit`,
      '3/3 1/32',
    );
  });

  it('loop with continue', () => {
    check(
      `${header}
      var i i32
      i = mov.i32 0
      loop:
        c = lt.i32 i 4
        if c body after
      body:
        r = rem.i32 tid 2
        e = eq.i32 r 0
        if e next work
      work:
        store.f32 global [a] 0
      next:
        i = add.i32 i 1
        jump loop
      after:
        store.f32 global [a] 0
        exit`,
      '4/64 1/32',
    );
  });

  it('lanes leave a loop at different times', () => {
    check(
      `${header}
      var i i32
      i = mov.i32 tid
      loop:
        c = lt.i32 i 32
        if c body after
      body:
        store.f32 global [a] 0
        i = add.i32 i 1
        jump loop
      after:
        store.f32 global [a] 0
        exit`,
      `32/${(32 * 33) / 2} 1/32`,
    );
  });

  it('do-while whose test leaves to code of its own', () => {
    check(
      `${header}
      var i i32
      i = mov.i32 0
      loop:
        store.f32 global [a] 0
        i = add.i32 i 1
        c = lt.i32 i tid
        if c loop out
      out:
        store.f32 global [a] 0
        exit`,
      `31/${32 + (30 * 31) / 2} 1/32`,
    );
  });

  it('switch with fall-through', () => {
    check(
      `${header}
      r = rem.i32 tid 4
      z = eq.i32 r 0
      if z zero not0
      not0:
        o = eq.i32 r 1
        if o one not1
      not1:
        t = eq.i32 r 2
        if t two after
      zero:
        store.f32 global [a] 0
        jump one
      one:
        store.f32 global [a] 0
        jump after
      two:
        store.f32 global [a] 0
        jump after
      after:
        store.f32 global [a] 0
        exit`,
      '1/8 2/16 1/8 1/32',
    );
  });

  it('nested loops with a break out of both', () => {
    check(
      `${header}
      var i i32
      var j i32
      i = mov.i32 0
      outer:
        c = lt.i32 i 3
        if c body after
      body:
        j = mov.i32 0
        jump inner
      inner:
        d = lt.i32 j 2
        if d work latch
      work:
        s = add.i32 i j
        e = eq.i32 tid s
        if e after more
      more:
        store.f32 global [a] 0
        j = add.i32 j 1
        jump inner
      latch:
        i = add.i32 i 1
        jump outer
      after:
        store.f32 global [a] 0
        exit`,
      `6/${31 + 30 + 30 + 29 + 29 + 28} 1/32`,
    );
  });

  it('variables keep the values of lanes that wait', () => {
    check(
      `${header}
      var x i32
      x = mov.i32 100
      c = lt.i32 tid 8
      if c then after
      then:
        x = mov.i32 1
      after:
        d = lt.i32 x 50
        if d low end
      low:
        store.f32 global [a] 0
      end:
        exit`,
      '1/8',
    );
  });

  it('blocks that are no multiple of the warp', () => {
    check(
      `${header}
      store.f32 global [a] 0
      exit`,
      '2/40',
      { block: [40, 1, 1] },
    );
  });

  it('uniform loop under a guard', () => {
    check(
      `${header}
      var i i32
      c = lt.i32 tid 50
      if c start end
      start:
        i = mov.i32 0
      loop:
        d = lt.i32 i n
        if d body end
      body:
        store.f32 global [a] 0
        i = add.i32 i 1
        jump loop
      end:
        exit`,
      '20/500',
      { block: [64, 1, 1], values: { n: 10 } },
    );
  });

  it('a loop left to different places', () => {
    check(
      `${header}
      var i i32
      i = mov.i32 0
      loop:
        c = lt.i32 i 3
        if c body out
      body:
        e = eq.i32 tid i
        if e found next
      next:
        i = add.i32 i 1
        jump loop
      found:
        store.f32 global [a] 0
        exit
      out:
        exit`,
      '1/3',
    );
  });

  it('lanes that leave a loop keep what they computed in their last pass', () => {
    const execution = run(`in tid i32 threadIdx.x
      in p u64 parameter
      var i i32
      i = mov.i32 0
    loop:
      c = lt.i32 i 40
      if c body end
    body:
      x = mul.i32 i 100
      w = convert.u64.i32 x
      a = add.u64 p w
      f = eq.i32 i tid
      if f found next
    next:
      i = add.i32 i 1
      jump loop
    found:
      store.u8 global [a] 0
    end:
      exit`);
    const lanes = execution.accesses[0].witness?.addresses.map((address) => (address % 65536) / 100);
    // All lanes meet at the store, each with the address of its own pass.
    assert.deepEqual(
      lanes,
      Array.from({ length: 32 }, (_, lane) => lane),
    );
  });
});
