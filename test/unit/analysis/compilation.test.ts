/** Results from what a compiler made of the file: exact, at the source's places, and only while the text stands. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { createAnalyzer } from '../../../server/src/analysis/analyze';
import type { Compilation, CompiledKernel } from '../../../server/src/analysis/request';
import type { MachineAccess } from '../../../server/src/cubin/machine-access';
import type { FileReport } from '../../../server/src/report/report';
import { chargedText } from '../../../server/src/report/wording';
import { analyse, check } from './check-accesses';

const folder = path.join(__dirname, 'compiled');
const text = fs.readFileSync(path.join(folder, 'several.cu'), 'utf8');
const ptx = fs.readFileSync(path.join(folder, 'several.ptx'), 'utf8');

const kernels: readonly CompiledKernel[] = [
  {
    mangled: '_Z4rowsPKfPf',
    registers: 77,
    stackBytes: 0,
    spillStoreBytes: 0,
    spillLoadBytes: 0,
    sharedBytes: 1056,
    barriers: 0,
  },
];
const compilation: Compilation = { id: 'first', text, ptx, kernels };

/** Where the kernels of a text come from, with the compilation of the whole file at hand. */
function origins(edited: string, given: Compilation = compilation): Record<string, string> {
  return originsOf(analyse(edited, { path: 'several.cu', compilation: given }));
}

function originsOf(report: FileReport): Record<string, string> {
  return Object.fromEntries(
    report.kernels.map((k) => [k.name, k.originReason ? `${k.origin}: ${k.originReason}` : k.origin]),
  );
}

const changed = 'source: it has changed since it was compiled';

describe('A compiled file', () => {
  it('accesses stand at their expressions', () => {
    const report = check(text, { path: 'several.cu', compilation });
    assert.deepEqual(originsOf(report), { columns: 'ptx', halves: 'ptx', rows: 'ptx' });
    assert.ok(report.kernels.every((k) => k.launches.every((l) => l.accesses.every((a) => a.file === 'several.cu'))));
  });
  it('without compiler every kernel is the source’s', () => {
    assert.deepEqual(originsOf(analyse(text)), { columns: 'source', halves: 'source', rows: 'source' });
  });
  it('an array keeps its shape, and the finding its mend', () => {
    const report = analyse(text, { path: 'several.cu', compilation });
    const conflict = report.diagnostics.find((d) => d.line === 26 && d.rule === 'shared-bank-conflict');
    assert.match(conflict?.message ?? '', /column 0 of tile\[32\]\[32\].*Pad to \[32\]\[33\]/);
    assert.equal(conflict?.related[0].line, 16);
  });
});

describe('A record that is copied', () => {
  // what nvcc writes of the copy stands on the record's line, called from the statement
  const source = `struct alignas(16) Wide { float v[4]; };
__global__ void k(const Wide* in, Wide* out) {
  Wide one = in[threadIdx.x * 2];
  Wide two = in[threadIdx.x * 2 + 1];
  out[threadIdx.x] = one.v[0] < two.v[0] ? one : two;
}`;
  const compiled = `.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z1kPK4WidePS_(.param .u64 p0, .param .u64 p1)
{
	.reg .pred %p<2>; .reg .f32 %f<9>; .reg .b32 %r<4>; .reg .b64 %rd<8>;
	.loc	1 2 0
	ld.param.u64 %rd1, [p0];
	ld.param.u64 %rd2, [p1];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 32;
	add.s64 %rd4, %rd1, %rd3;
	.loc	1 3 3
	mul.wide.u32 %rd5, %r1, 16;
	.loc	1 1 20, function_name $L__info_string0, inlined_at 1 3 3
	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];
	.loc	1 4 3
	.loc	1 1 20, function_name $L__info_string0, inlined_at 1 4 3
	ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%rd4+16];
	.loc	1 5 3
	setp.lt.f32 %p1, %f1, %f5;
	selp.f32 %f1, %f1, %f5, %p1; selp.f32 %f2, %f2, %f6, %p1; selp.f32 %f3, %f3, %f7, %p1; selp.f32 %f4, %f4, %f8, %p1;
	add.s64 %rd6, %rd2, %rd5;
	st.global.v4.f32 [%rd6], {%f1, %f2, %f3, %f4};
	ret;
}
	.file	1 "wide.cu"`;
  it('is read where that is written', () => {
    const report = analyse(source, { path: 'wide.cu', compilation: { id: 'wide', text: source, ptx: compiled } });
    const [k] = report.kernels;
    assert.equal(k.origin, 'ptx', k.originReason);
    assert.deepEqual(
      k.launches[0].accesses.map((a) => `${a.line} ${a.operation}`),
      ['3 load', '4 load', '5 store'],
    );
  });
});

describe('A record that only a launch names', () => {
  const source = `struct Plain {
  float* p;
  __device__ void put(int i, float v) { p[i] = v; }
  //                                    ^^^^ global store 32/4 sectors
  __device__ void behind(int i, float v) { p[i + 8192] = v; }
  //                                       ^^^^^^^^^^^ global store 32/4 sectors
};
template <class T> __global__ void k(float* out) {
  T t{out};
  t.put(32 * threadIdx.x, 1.0f);
  t.behind(32 * threadIdx.x, 1.0f);
}
void run(float* out) { k<Plain><<<1, 32>>>(out); }`;
  const compiled = `.version 9.0
.target sm_90
.address_size 64
.visible .entry _Z1kI5PlainEvPf(.param .u64 p0)
{
	.reg .b32 %r<4>; .reg .b64 %rd<5>;
	.loc	1 8 0
	ld.param.u64 %rd1, [p0];
	.loc	1 10 3
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 5;
	.loc	1 3 32, function_name $L__info_string0, inlined_at 1 10 3
	mul.wide.s32 %rd3, %r2, 4;
	add.s64 %rd4, %rd2, %rd3;
	mov.u32 %r3, 1065353216;
	st.global.u32 [%rd4], %r3;
	.loc	1 11 3
	.loc	1 5 32, function_name $L__info_string1, inlined_at 1 11 3
	st.global.u32 [%rd4+32768], %r3;
	.loc	1 12 1
	ret;
}
	.file	1 "plain.cu"`;
  const given = { id: 'plain', text: source, ptx: compiled };
  it('has its accesses where they are written', () => {
    const report = check(source, { path: 'plain.cu', compilation: given });
    assert.equal(report.kernels[0].origin, 'ptx', report.kernels[0].originReason);
  });
  it('also where the compiler’s includes are read in their own way, as in an editor', () => {
    const own = { ...given, include: () => undefined };
    const report = check(source, { path: 'plain.cu', compilation: own });
    assert.deepEqual(report, analyse(source, { path: 'plain.cu', compilation: given }));
  });
});

describe('After an edit', () => {
  it('of one kernel, that one is the source’s again', () => {
    assert.deepEqual(origins(text.replace('p[2 * threadIdx.x]', 'p[4 * threadIdx.x]')), {
      columns: 'ptx',
      halves: changed,
      rows: 'ptx',
    });
  });
  it('of a function, the kernels that call it', () => {
    const now = origins(text.replace('p[2 * i + 1]', 'p[2 * i]'));
    assert.deepEqual(now, { columns: changed, halves: 'ptx', rows: 'ptx' });
  });
  it('of a pragma, its kernel', () => {
    assert.equal(origins(text.replace('#pragma unroll', '#pragma unroll 2')).rows, changed);
  });
  it('of nothing but comments and blank lines, places move along', () => {
    const now = analyse(`\n// new\n\n${text}`, { path: 'several.cu', compilation });
    assert.equal(originsOf(now).columns, 'ptx');
    check(`\n// new\n\n${text}`, { path: 'several.cu', compilation });
  });
  it('of a launch, the kernels stay and the figures follow', () => {
    const now = analyse(text.replace('rows<<<1, 32>>>', 'rows<<<5, 32>>>'), { path: 'several.cu', compilation });
    const rows = now.kernels.find((k) => k.name === 'rows');
    assert.equal(rows?.origin, 'ptx');
    assert.deepEqual(new Set(rows?.launches[0].accesses.map((a) => a.requests)), new Set([5, 15]));
  });
  it('an instance that was not compiled is the source’s', () => {
    const missing = 'source: the compiler made no code for this instance';
    assert.equal(origins(text.replace('columns<3>', 'columns<4>')).columns, missing);
    const both = text
      .replace('columns<3>', 'columns<4>')
      .replace('halves<<<', 'columns<3><<<1, 32>>>(a, a, a, 1); halves<<<');
    assert.equal(origins(both).columns, missing);
  });
  it('a kernel of the same name that was not compiled is the source’s', () => {
    const more = `${text}\nnamespace other { __global__ void rows(int* p) { p[threadIdx.x] = p[2 * threadIdx.x]; } }\n`;
    const { kernels: all } = analyse(more, { path: 'several.cu', compilation: { id: 'two', text: more, ptx } });
    assert.deepEqual(
      all.filter((k) => k.name === 'rows').map((k) => k.originReason ?? k.origin),
      ['ptx', 'the PTX of this name is another kernel’s'],
    );
  });
  it('registers are shown as of the compiled text', () => {
    const occupancy = (edited: string) =>
      analyse(edited, { path: 'several.cu', compilation }).kernels.find((k) => k.name === 'rows')?.launches[0]
        .occupancy;
    const before = occupancy(text);
    assert.deepEqual(
      [before?.registersPerThread, before?.registersOrigin, before?.compiled?.isStale],
      [77, 'compiler', false],
    );
    const after = occupancy(text.replace('s[8 * 33]', 's[9 * 33]'));
    assert.deepEqual([after?.registersPerThread, after?.compiled?.isStale], [77, true]);
  });
  it('an analyzer that saw earlier texts and compilations answers as a fresh one', () => {
    const analyzer = createAnalyzer();
    const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
    const edited = text.replace('p[2 * threadIdx.x]', 'p[4 * threadIdx.x]');
    const asked: [string, Compilation | undefined][] = [
      [text, undefined],
      [text, compilation],
      [edited, compilation],
      [`\n${text}`, compilation],
      [text, { ...compilation, id: 'second', ptx: undefined }],
    ];
    for (const [each, given] of asked) {
      const kept = analyzer.analyze({
        path: 'several.cu',
        text: each,
        options,
        include: () => undefined,
        compilation: given,
      });
      assert.deepEqual(kept, analyse(each, { path: 'several.cu', compilation: given }));
    }
  });
  it('what was found when mends were tried on the source holds for the compiled file', () => {
    const analyzer = createAnalyzer();
    const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
    let read = 0;
    const include = () => {
      read++;
      return undefined;
    };
    const unit = { path: 'several.cu', text, options, include };
    const mends = ({ diagnostics }: FileReport) => diagnostics.flatMap((d) => d.fixes.map(({ title }) => title));
    const expected = ['Pad tile to [32][33]', 'Pad tile to [32][33]'];
    assert.deepEqual(mends(analyzer.analyze(unit)), expected);
    read = 0;
    assert.deepEqual(mends(analyzer.analyze({ ...unit, compilation })), expected);
    // The present text, the one that was compiled, and what mends are compared with are one text, asked for thrice; no other is read.
    assert.equal(read, 3);
  });
});

describe('The lines that a profiler charges', () => {
  /** What `rows` does at a line of the source, with one machine instruction for each access of its PTX. */
  const check = (charged: Record<number, number>, expected: string[]) => () => {
    const lines = ptx.split('\n');
    const [first, end] = ['.entry _Z4rows', '.entry _Z7columns'].map((head) =>
      lines.findIndex((l) => l.includes(head)),
    );
    const made = lines.flatMap((each, index): MachineAccess[] => {
      const opcode = index > first && index < end && /^\s*(ld|st)\.(shared|global)/.exec(each);
      const line = charged[index + 1];
      if (!opcode || line === undefined) return [];
      const operation = opcode[1] === 'ld' ? 'load' : 'store';
      const space = opcode[2] === 'shared' ? 'shared' : 'global';
      const at = { file: '/build/several.cu', line };
      return [{ offset: 16 * index, ptxLine: index + 1, operation, space, bytes: 4, isPredicated: false, lines: [at] }];
    });
    const machine = new Map([['_Z4rowsPKfPf', made]]);
    const report = analyse(text, { path: 'several.cu', compilation: { id: 'charged', text, ptx, machine } });
    const accesses = report.kernels.find((k) => k.name === 'rows')?.launches[0].accesses ?? [];
    const told = accesses.map((a) => `${a.expression}: ${chargedText(a)}`).filter((each) => !each.endsWith(': '));
    assert.deepEqual(told, expected);
  };
  it('its own: nothing is said', check({ 77: 45, 115: 54 }, []));
  it('another one', check({ 106: 51 }, ['in[threadIdx.x + 32]: A profiler shows it at line 51.']));
  it(
    'several copies of it',
    check({ 89: 47, 93: 48, 97: 48 }, ['s[threadIdx.x + j]: A profiler shows it at lines 48 and 47.']),
  );
});

describe('PTX that is no use', () => {
  const ofPtx = (bad: string) => analyse(text, { path: 'several.cu', compilation: { id: 'bad', text, ptx: bad } });
  const source = analyse(text, { path: 'several.cu' });
  const check = (bad: string) => () => {
    const report = ofPtx(bad);
    assert.ok(report.kernels.every((k) => k.origin === 'source' && k.originReason !== undefined));
    const figures = ({ kernels }: FileReport) => kernels.map((k) => k.launches.map((l) => l.accesses));
    assert.deepEqual(figures(report), figures(source));
  };
  it('empty', check(''));
  it('a text of another kind', check('int main() { return 0; }\n'.repeat(100)));
  it('with an access that it does not count, where the source counts it', () => {
    const unusual = ptx.replaceAll('ld.shared.f32 ', 'wmma.load.c.sync.aligned.row.m8n8k4.f64 ');
    const reason = 'source: wmma.load.c.sync.aligned.row.m8n8k4.f64: which lane reads what is not known for this shape';
    assert.deepEqual(originsOf(ofPtx(unusual)), { columns: reason, halves: 'ptx', rows: reason });
  });
  it('of other kernels', check(ptx.replaceAll('entry _Z', 'entry _Y')));
  it('cut off behind the head', check(ptx.slice(0, 600)));
  it('cut off anywhere: an answer all the same', () => {
    for (let end = 0; end < ptx.length; end += 379) assert.equal(ofPtx(ptx.slice(0, end)).kernels.length, 3);
  });
  it('changed anywhere, with machine code that does not fit: an answer all the same', function () {
    this.timeout(60_000);
    const lines = ptx.split('\n');
    let seed = 20240601;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const words = [
      'ld.shared.v4.f32',
      '{',
      '}',
      '%r1',
      '[%rd1+-8]',
      ';',
      'bra $L__BB2_1;',
      '-2147483648',
      '@%p1',
      '.entry',
      '"',
      '0x',
    ];
    const spaces = ['shared', 'global', 'local', 'generic'] as const;
    const operations = ['load', 'store', 'atomic'] as const;
    for (let round = 0; round < 40; round++) {
      const changed = [...lines];
      for (let k = 0; k <= round % 6; k++) {
        const at = random(changed.length);
        const parts = changed[at].split(/(\s+)/);
        parts[random(parts.length)] = random(3) === 0 ? '' : words[random(words.length)];
        changed[at] = random(8) === 0 ? changed[random(changed.length)] : parts.join('');
      }
      const machine = new Map(
        ['_Z4rowsPKfPf', '_Z6halvesP7__half2', '_Z7columnsILi3EEvPKfS1_Pfi'].map((name) => [
          name,
          Array.from(
            { length: 40 },
            (): MachineAccess => ({
              offset: random(4096),
              ptxLine: random(lines.length + 20),
              operation: operations[random(3)],
              space: spaces[random(4)],
              bytes: [1, 2, 4, 8, 16, undefined][random(6)],
              isPredicated: random(2) === 0,
              lines: [{ file: 'several.cu', line: random(80) }],
            }),
          ),
        ]),
      );
      const given = { id: `round ${round}`, text, ptx: changed.join('\n'), machine };
      const report = analyse(text, { path: 'several.cu', compilation: given });
      assert.equal(report.kernels.length, 3);
      for (const { problem, origin, launches } of report.kernels) {
        assert.equal(problem, undefined);
        assert.ok(origin === 'ptx' || launches[0].accesses.length > 0);
      }
    }
  });
});
