import assert from 'node:assert/strict';
import fc from 'fast-check';
import { value, values } from './run';

const check = (body: string, expected: number | undefined) => () => assert.equal(value(body), expected);

describe('PTX: integers', () => {
  it('add wraps', check('mov.u32 %r2, 4294967295; add.s32 %r1, %r2, 5;', 4));
  it('mad.lo', check('mov.u32 %r2, 7; mad.lo.s32 %r1, %r2, 6, 5;', 47));
  it('mul.hi.u32', check('mov.u32 %r2, -1; mul.hi.u32 %r1, %r2, %r2;', 0xfffffffe));
  it(
    'mul.wide.s32 of negative numbers',
    check('mov.u32 %r2, -3; mul.wide.s32 %rd1, %r2, -4; cvt.u32.u64 %r1, %rd1;', 12),
  );
  it('mul24 takes the low 24 bits', check('mov.u32 %r2, 0x01000002; mul24.lo.u32 %r1, %r2, 3;', 6));
  it('div.s32 truncates', check('mov.u32 %r2, -7; div.s32 %r3, %r2, 2; neg.s32 %r1, %r3;', 3));
  it('rem.u32', check('mov.u32 %r2, 17; rem.u32 %r1, %r2, 5;', 2));
  it(
    'min.s32 and max.u32 differ by sign',
    check('mov.u32 %r2, -1; min.s32 %r3, %r2, 1; max.u32 %r4, %r2, 1; sub.s32 %r5, %r3, %r4; add.s32 %r1, %r5, 9;', 9),
  );
  it('sad', check('mov.u32 %r2, 3; sad.s32 %r1, %r2, 10, 1;', 8));
  it('add.cc, addc: 64 bits in two halves', check('mov.u32 %r2, -1; add.cc.u32 %r3, %r2, 1; addc.u32 %r1, 5, 0;', 6));
  it('dp4a', check('mov.u32 %r2, 0x01020304; mov.u32 %r3, 0x02020202; dp4a.u32.u32 %r1, %r2, %r3, 1;', 21));
  it('popc, clz', check('mov.u32 %r2, 0xf0; popc.b32 %r3, %r2; clz.b32 %r4, %r2; mad.lo.s32 %r1, %r3, 100, %r4;', 424));
  it('bfind', check('mov.u32 %r2, 0x0f00; bfind.u32 %r1, %r2;', 11));
  it('brev', check('mov.u32 %r2, 1; brev.b32 %r3, %r2; shr.u32 %r1, %r3, 31;', 1));
});

describe('PTX: bits', () => {
  it('lop3 with any table', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 255 }),
        fc.nat(0xffff),
        fc.nat(0xffff),
        fc.nat(0xffff),
        (table, a, b, c) => {
          let expected = 0;
          for (let bit = 0; bit < 16; bit++) {
            const index = (((a >> bit) & 1) << 2) | (((b >> bit) & 1) << 1) | ((c >> bit) & 1);
            expected |= ((table >> index) & 1) << bit;
          }
          const body = `mov.u32 %r2, ${a}; mov.u32 %r3, ${b}; mov.u32 %r4, ${c}; lop3.b32 %r5, %r2, %r3, %r4, ${table}; and.b32 %r1, %r5, 65535;`;
          assert.equal(value(body), expected);
        },
      ),
      { numRuns: 60 },
    );
  });
  it('prmt with any constant selector', () => {
    fc.assert(
      fc.property(fc.nat(0xffff), (selector) => {
        const bytes = [0x11, 0x92, 0x33, 0xf4, 0x55, 0xa6, 0x77, 0x88];
        let expected = 0;
        for (let i = 3; i >= 0; i--) {
          const pick = (selector >> (4 * i)) & 15;
          const byte = pick & 8 ? (bytes[pick & 7] & 0x80 ? 255 : 0) : bytes[pick];
          expected = expected * 256 + byte;
        }
        const body = `mov.u32 %r2, 0xf4339211; mov.u32 %r3, 0x8877a655; prmt.b32 %r1, %r2, %r3, ${selector};`;
        assert.equal(value(body), expected);
      }),
      { numRuns: 60 },
    );
  });
  it('bfe.u32', check('mov.u32 %r2, 0xabcd; bfe.u32 %r1, %r2, 4, 8;', 0xbc));
  it('bfe.s32 carries the sign', check('mov.u32 %r2, 0xf0; bfe.s32 %r1, %r2, 4, 4;', 0xffffffff));
  it('bfi', check('mov.u32 %r2, 0x3; mov.u32 %r3, 0xff00; bfi.b32 %r1, %r2, %r3, 12, 4;', 0x3f00));
  it('shf.l.wrap rotates', check('mov.u32 %r2, 0x80000001; shf.l.wrap.b32 %r1, %r2, %r2, 4;', 0x18));
  it('shf.r.clamp', check('mov.u32 %r2, 0x10; mov.u32 %r3, 1; shf.r.clamp.b32 %r1, %r2, %r3, 40;', 1));
  it('shl by 32 and more gives 0', check('mov.u32 %r2, 1; mov.u32 %r3, 33; shl.b32 %r1, %r2, %r3;', 0));
  it(
    'mov packs and takes apart',
    check(
      'mov.u32 %r2, 7; mov.u32 %r3, 9; mov.b64 %rd1, {%r2, %r3}; mov.b64 {%r4, %r5}, %rd1; mad.lo.s32 %r1, %r4, 10, %r5;',
      79,
    ),
  );
  // a third: as an integer its 64 bits could not be held
  const third = 'mov.u32 %r9, %tid.x; cvt.rn.f64.u32 %fd9, %r9; add.f64 %fd1, %fd9, 0d3FD5555555555555;';
  it('mov of the words of a double', () => {
    check(`${third} mov.b64 {%r1, %r3}, %fd1;`, 0x55555555)();
    check(`${third} { .reg .b32 %temp; mov.b64 {%temp, %r1}, %fd1; }`, 0x3fd55555)();
  });
  it(
    'mov of a double from its words: one more in the exponent doubles it',
    check(
      `${third} mov.b64 {%r2, %r3}, %fd1; add.s32 %r4, %r3, 1048576; mov.b64 %fd2, {%r2, %r4}; fma.rn.f64 %fd3, %fd2, 0d4008000000000000, 0d3F50624DD2F1A9FC; cvt.rzi.u32.f64 %r1, %fd3;`,
      2,
    ),
  );
  it('mov {a, b} of 16 bits', check('mov.u32 %r2, 0x00050003; mov.b32 {%rs1, %rs2}, %r2; cvt.u32.u16 %r1, %rs2;', 5));
});

describe('PTX: conversions and floats', () => {
  it('cvt.s32.s8 extends the sign', check('mov.u16 %rs1, 0x00ff; cvt.s32.s8 %r2, %rs1; neg.s32 %r1, %r2;', 1));
  it('cvt.u32.u16', check('mov.u16 %rs1, 0xffff; cvt.u32.u16 %r1, %rs1;', 65535));
  it('cvt.rzi of a float', check('mov.f32 %f1, 0f40700000; cvt.rzi.s32.f32 %r1, %f1;', 3));
  it('cvt.rni rounds to even', check('mov.f32 %f1, 0f40200000; cvt.rni.s32.f32 %r1, %f1;', 2));
  it('cvt.sat.u8.s32', check('mov.u32 %r2, 300; cvt.sat.u8.s32 %r1, %r2;', 255));
  it('fma', check('mov.f32 %f1, 0f40000000; fma.rn.f32 %f2, %f1, %f1, %f1; cvt.rzi.u32.f32 %r1, %f2;', 6));
  it(
    'floats in .b32 registers',
    check('.reg .b32 %x<3>; mov.b32 %x1, 0f40400000; add.rn.f32 %x2, %x1, 0f3F800000; cvt.rzi.u32.f32 %r1, %x2;', 4),
  );
  it('bits of a float', check('mov.f32 %f1, 0f3F800000; mov.b32 %r2, %f1; shr.u32 %r1, %r2, 23;', 127));
  it(
    'setp with a combination',
    check('mov.u32 %r2, 5; setp.gt.s32 %p1, %r2, 3; setp.lt.and.s32 %p2, %r2, 4, %p1; selp.u32 %r1, 1, 2, %p2;', 2),
  );
  it('setp p|q', check('mov.u32 %r2, 5; setp.gt.s32 %p1|%p2, %r2, 3; selp.u32 %r1, 1, 2, %p2;', 2));
  it('slct', check('mov.u32 %r2, -5; slct.u32.s32 %r1, 1, 2, %r2;', 2));
});

describe('PTX: division by constants', () => {
  it('of 32 bits: the high half of a wide product', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), (n) => {
        // n / 3
        const body = `mov.u32 %r2, ${n}; mul.wide.u32 %rd1, %r2, -1431655765; shr.u64 %rd2, %rd1, 33; cvt.u32.u64 %r1, %rd2;`;
        assert.equal(value(body), Math.floor(n / 3));
      }),
      { numRuns: 30 },
    );
  });
  it('of 64 bits: the divisor is found again from its magic number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 5000 }), fc.nat(2 ** 31 - 1), (d, n) => {
        const shift = BigInt(Math.ceil(Math.log2(d))) - 1n;
        const magic = (1n << (64n + shift)) / BigInt(d) + 1n;
        fc.pre(magic < 1n << 64n && (d & (d - 1)) !== 0);
        const error = magic * BigInt(d) - (1n << (64n + shift));
        fc.pre(error <= 1n << shift);
        const body = `mov.u64 %rd1, ${n}; mul.hi.u64 %rd2, %rd1, ${BigInt.asIntN(64, magic)}; shr.u64 %rd3, %rd2, ${shift}; cvt.u32.u64 %r1, %rd3;`;
        assert.equal(value(body), Math.floor(n / d));
      }),
      { numRuns: 60 },
    );
  });
});

describe('PTX: predicates', () => {
  it('a guarded result keeps the old value in the other lanes', () => {
    const body = 'mov.u32 %r1, 7; setp.lt.u32 %p1, %r90, 2; @%p1 mov.u32 %r1, 9; @!%p1 add.s32 %r1, %r1, 1;';
    assert.deepEqual(values(body, 4), [9, 9, 8, 8]);
  });
  it('a loop ends lane by lane', () => {
    const body = `mov.u32 %r1, 0;
      $L1: setp.ge.u32 %p1, %r1, %r90; @%p1 bra $L2; add.s32 %r1, %r1, 1; bra.uni $L1;
      $L2:`;
    assert.deepEqual(values(body, 5), [0, 1, 2, 3, 4]);
  });
  it('brx.idx goes to the target of its index', () => {
    const body = `$T: .branchtargets $A, $B, $C;
      and.b32 %r2, %r90, 1;
      brx.idx %r2, $T;
      $A: mov.u32 %r1, 10; bra.uni $E;
      $B: mov.u32 %r1, 20; bra.uni $E;
      $C: mov.u32 %r1, 30;
      $E:`;
    assert.deepEqual(values(body, 4), [10, 20, 10, 20]);
  });
});

describe('PTX: lanes', () => {
  it('shfl.sync.down with a width of 8', () => {
    const body = 'shfl.sync.down.b32 %r1, %r90, 1, 6175, -1;';
    assert.deepEqual(values(body, 9), [1, 2, 3, 4, 5, 6, 7, 7, 9]);
  });
  it('the predicate of shfl.up says whether the source lane exists', () => {
    const body = 'shfl.sync.up.b32 %r2|%p1, %r90, 2, 0, -1; selp.u32 %r1, 1, 0, %p1;';
    assert.deepEqual(values(body, 4), [0, 0, 1, 1]);
  });
  it('ballot and lanemask', () => {
    const body =
      'and.b32 %r2, %r90, 1; setp.eq.u32 %p1, %r2, 1; vote.sync.ballot.b32 %r3, %p1, -1; mov.u32 %r4, %lanemask_lt; and.b32 %r5, %r3, %r4; popc.b32 %r1, %r5;';
    assert.deepEqual(values(body, 6), [0, 0, 1, 1, 2, 2]);
  });
  it('votes at a barrier', () => {
    const body =
      'setp.lt.u32 %p1, %r90, 3; bar.red.popc.u32 %r2, 0, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1; selp.u32 %r3, 100, 0, %p2; selp.u32 %r4, 10, 0, %p3; add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r4;';
    assert.deepEqual(values(body, 2), [13, 13]);
  });
  it('redux', () => assert.deepEqual(values('redux.sync.add.u32 %r1, %r90, -1;', 2), [496, 496]));
});

describe('PTX: what is not known', () => {
  it(
    'an instruction that is not understood makes what it assigns unknown',
    check('frobnicate.u32 %r1, %r90;', undefined),
  );
  it('packed halves', check('mov.u32 %r2, 1; add.f16x2 %r1, %r2, %r2;', undefined));
  it('the clock', check('mov.u32 %r1, %clock;', undefined));
});
