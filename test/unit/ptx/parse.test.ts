import assert from 'node:assert/strict';
import fc from 'fast-check';
import { verifyProgram } from '../../../server/src/program/verify';
import { lowerPtx } from '../../../server/src/ptx/lower';
import { entriesOf, parsePtx } from '../../../server/src/ptx/parse';
import { kernel } from './run';

describe('PTX text', () => {
  it('version, target, files, entries and their directives', () => {
    const module = parsePtx(`.version 8.7
      .target sm_90a, texmode_independent
      .address_size 64
      .visible .entry _Z1kPf(.param .u64 .ptr .align 16 _Z1kPf_param_0) .maxntid 256, 1, 1 .minnctapersm 2 { ret; }
      .file 1 "/home/me/a.cu", 123, 456`);
    const [entry] = entriesOf(module);
    assert.deepEqual(
      [module.version, module.target, module.files.get(1), entry.name, entry.parameters[0].isPointer],
      ['8.7', 'sm_90a', '/home/me/a.cu', '_Z1kPf', true],
    );
    assert.deepEqual(
      [...entry.directives],
      [
        ['maxntid', [256, 1, 1]],
        ['minnctapersm', [2]],
      ],
    );
    assert.deepEqual(module.problems, []);
  });
  it('registers of inline assembly are those of their braces', () => {
    const module = parsePtx(kernel('{ .reg .pred p; setp.eq.u32 p, %r90, 0; } { .reg .b32 p; mov.u32 p, 1; }'));
    const named = entriesOf(module)[0].registers.filter((register) => register.name === 'p');
    assert.deepEqual(
      named.map((register) => register.type),
      ['pred', 'b32'],
    );
  });
  it('initialisers', () => {
    const module = parsePtx('.global .align 4 .f32 w[3] = {0f3F800000, 0fBF800000, 2.5}; .const .u32 n = 7;');
    assert.deepEqual(
      module.variables.map((variable) => variable.initial),
      [[1, -1, 2.5], [7n]],
    );
  });
  it('says where it does not understand, and goes on', () => {
    const module = parsePtx(`.version 8.0\n%%% what;\n${kernel('')}`);
    assert.equal(module.problems[0].line, 2);
    assert.equal(entriesOf(module).length, 1);
  });
});

describe('PTX: anything is survived', () => {
  const survives = (text: string) => {
    const module = parsePtx(text);
    for (const { name } of entriesOf(module)) assert.deepEqual(verifyProgram(lowerPtx(module, name)), []);
    lowerPtx(module, 'none of these');
  };
  it('random text', () => {
    fc.assert(fc.property(fc.string({ maxLength: 300 }), survives), { numRuns: 200 });
  });
  it('words of PTX in any order', () => {
    const words = [
      '.entry',
      '.func',
      'k',
      '(',
      ')',
      '{',
      '}',
      '[',
      ']',
      ';',
      ',',
      '.reg',
      '.b32',
      '%r<4>',
      '%r1',
      '%r2',
      '@%p1',
      '@!',
      '%p1',
      '.pred',
      '%p<2>',
      'bra',
      '$L',
      '$L:',
      'ld.global.u32',
      'st.shared.v4.f32',
      'mov.b64',
      'atom.add',
      'shfl.sync',
      '.param',
      '.u64',
      'x',
      '+',
      '4',
      '-1',
      '0x',
      '|',
      '!',
      '_',
      'call',
      'ret',
      '.loc',
      '1 2 3',
      ', inlined_at',
      '\n',
      'wmma.load.a',
      'cp.async',
      '.shared',
      'brx.idx',
      'setp',
      'cvt.u8',
      'prmt.b32',
      '.file',
      '"a"',
      '.section',
      '//',
      '/*',
      '*/',
      '<',
      '>',
      '=',
      ':',
    ];
    const body = fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((all) => all.join(' '));
    fc.assert(
      fc.property(body, (text) => survives(text) === undefined),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(body, (text) => survives(kernel(text)) === undefined),
      { numRuns: 300 },
    );
  });
  it('every opcode with any operands', () => {
    const opcodes = [
      'add.s32',
      'add.f16x2',
      'mad.wide.u16',
      'mul.hi.u64',
      'shr.u64',
      'bfe.s64',
      'bfi.b64',
      'lop3.b32',
      'prmt.b32.f4e',
      'shf.l.wrap.b32',
      'mov.b32',
      'mov.b128',
      'cvt.rn.f16.f32',
      'cvt.sat.u8.s32',
      'setp.lt.and.s32',
      'set.eq.f32.u32',
      'selp.f64',
      'slct.f32.s32',
      'ld.global.v4.u8',
      'ld.param.b64',
      'ld.const.b128',
      'st.local.f64',
      'atom.global.cas.b32',
      'red.shared.add.f32',
      'atom.add.noftz.f16x2',
      'shfl.sync.idx.b32',
      'vote.sync.ballot.b32',
      'match.any.sync.b64',
      'match.all.sync.b32',
      'redux.sync.min.s32',
      'bar.red.popc.u32',
      'elect.sync',
      'cp.async.ca.shared.global',
      'ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16',
      'stmatrix.sync.aligned.m8n8.x1.shared.b16',
      'wmma.load.a.sync.aligned.row.m16n16k16.global.f16',
      'wmma.store.d.sync.aligned.col.m32n8k16.shared.f32',
      'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32',
      'dp4a.u32.s32',
      'cvta.to.shared.u64',
      'isspacep.global',
      'brx.idx',
      'bra',
      'call',
      'tex.2d.v4.f32.s32',
      'wgmma.mma_async.sync.aligned.m64n64k16.f32',
      'mbarrier.try_wait.shared.b64',
      'addc.u32',
    ];
    const operand = fc.constantFrom(
      '%r1',
      '%rd1',
      '%p1',
      '%f1',
      '%fd1',
      '%rs1',
      '%tid.x',
      '0',
      '-1',
      '0xffffffffffffffff',
      '0f7fffffff',
      '[%rd1+8]',
      '[%r1]',
      '[k_param_0]',
      '[k_param_9+3]',
      '{%r1, %r2}',
      '{%f1,%f2,%f3,%f4}',
      '%p1|%p2',
      '!%p1',
      '_',
      'nowhere',
      '[nowhere+4]',
      '($x)',
      '%clock64',
      '{_, %rs2}',
    );
    const instruction = fc
      .tuple(fc.constantFrom('', '@%p1 ', '@!%p2 '), fc.constantFrom(...opcodes), fc.array(operand, { maxLength: 5 }))
      .map(([guard, opcode, operands]) => `${guard}${opcode} ${operands.join(', ')};`);
    const body = fc.array(instruction, { maxLength: 12 }).map((all) => all.join('\n'));
    fc.assert(
      fc.property(body, (text) => survives(kernel(text)) === undefined),
      { numRuns: 400 },
    );
  });
});
