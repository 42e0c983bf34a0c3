import assert from 'node:assert/strict';
import { accessesOf, kernel, lowered, run } from './run';

const check = (text: string, expected: readonly string[], launch?: Parameters<typeof accessesOf>[1]) => () =>
  assert.deepEqual(accessesOf(text, launch), expected);

describe('PTX: global memory', () => {
  it(
    'consecutive words',
    check(
      kernel(
        'mul.wide.u32 %rd1, %r90, 4; add.s64 %rd2, %rd90, %rd1; ld.global.f32 %f1, [%rd2]; st.global.f32 [%rd2+128], %f1;',
      ),
      [
        'global load 4 B: 1 requests of 32 lanes, 4 of 4 sectors',
        'global store 4 B: 1 requests of 32 lanes, 4 of 4 sectors',
      ],
    ),
  );
  it(
    'vectors are one access',
    check(
      kernel(
        'mul.wide.u32 %rd1, %r90, 16; add.s64 %rd2, %rd90, %rd1; ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];',
      ),
      ['global load 16 B: 1 requests of 32 lanes, 16 of 16 sectors'],
    ),
  );
  it(
    'cache hints and scopes are no part of the width',
    check(
      kernel(
        'mul.wide.u32 %rd1, %r90, 32; add.s64 %rd2, %rd90, %rd1; ld.relaxed.gpu.global.L1::no_allocate.u8 %rs1, [%rd2];',
      ),
      ['global load 1 B: 1 requests of 32 lanes, 32 of 1 sectors'],
    ),
  );
  it(
    'a generic address is what it points to',
    check(
      kernel('cvta.global.u64 %rd3, %rd90; mul.wide.u32 %rd1, %r90, 4; add.s64 %rd2, %rd3, %rd1; ld.f32 %f1, [%rd2];'),
      ['global load 4 B: 1 requests of 32 lanes, 4 of 4 sectors'],
    ),
  );
  it(
    'a guarded store is made by the lanes of its predicate',
    check(
      kernel(
        'setp.lt.u32 %p1, %r90, 8; mul.wide.u32 %rd1, %r90, 4; add.s64 %rd2, %rd90, %rd1; @%p1 st.global.u32 [%rd2], %r90;',
      ),
      ['global store 4 B: 1 requests of 8 lanes, 1 of 1 sectors'],
    ),
  );
  it(
    'what lanes ask for has no figure, and null is not among it',
    check(
      `.extern .func (.param .b64 func_retval0) malloc (.param .b64 malloc_param_0);
${kernel('.param .b64 param0; st.param.b64 [param0+0], 12; .param .b64 retval0; call.uni (retval0), malloc, (param0); ld.param.b64 %rd1, [retval0+0]; setp.ne.s64 %p1, %rd1, 0; @%p1 st.u32 [%rd1], %r90; @!%p1 st.global.u32 [%rd90], %r90;').replace(/^\.version.*\n.*\n.*\n/, '')}`,
      ['global store 4 B: 1 requests of 32 lanes, unknown: where the device puts what lanes ask for is not known'],
    ),
  );
  it(
    'an address that is loaded is not known, and why',
    check(
      kernel(
        'ld.global.u32 %r2, [%rd90]; mul.wide.s32 %rd1, %r2, 4; add.s64 %rd2, %rd90, %rd1; st.global.u32 [%rd2], %r2;',
      ),
      [
        'global load 4 B: 1 requests of 32 lanes, 1 of 1 sectors',
        'global store 4 B: 1 requests of 32 lanes, unknown: depends on loaded data: parameter 1 (ld.global.u32)',
      ],
    ),
  );
});

describe('PTX: shared memory', () => {
  const tile = (body: string) => kernel(`.shared .align 4 .b8 tile[8192]; mov.u32 %r80, tile; ${body}`);
  it(
    'a column of 32 words is a 32-way conflict',
    check(tile('shl.b32 %r1, %r90, 7; add.s32 %r2, %r80, %r1; ld.shared.f32 %f1, [%r2+4];'), [
      'shared load 4 B: 1 requests of 32 lanes, 32 of 1 wavefronts',
    ]),
  );
  it(
    'arrays lie one after the other',
    check(
      kernel(`.shared .align 4 .b8 a[4]; .shared .align 8 .b8 b[512];
        mov.u32 %r80, b; shl.b32 %r1, %r90, 3; add.s32 %r2, %r80, %r1; st.shared.v2.f32 [%r2], {%f1, %f2};`),
      ['shared store 8 B: 1 requests of 32 lanes, 2 of 2 wavefronts'],
    ),
  );
  it(
    'an extern array is the dynamic one',
    check(
      `.extern .shared .align 16 .b8 buffer[];\n${kernel('mov.u32 %r80, buffer; shl.b32 %r1, %r90, 2; add.s32 %r2, %r80, %r1; st.shared.u32 [%r2], %r90;')}`,
      ['shared store 4 B: 1 requests of 32 lanes, 1 of 1 wavefronts'],
      { dynamicSharedBytes: 128 },
    ),
  );
  it(
    'only the used elements of a vector are read',
    check(
      tile(
        'shl.b32 %r1, %r90, 4; add.s32 %r2, %r80, %r1; ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r2]; add.f32 %f5, %f1, %f2;',
      ),
      ['shared load 8 B: 1 requests of 32 lanes, 4 of 2 wavefronts'],
    ),
  );
  it('what was stored is known again', () => {
    const program = lowered(
      tile(`shl.b32 %r1, %r90, 2; add.s32 %r2, %r80, %r1; st.shared.u32 [%r2], %r90; bar.sync 0;
        ld.shared.u32 %r3, [%r2]; mul.wide.u32 %rd1, %r3, 4; add.s64 %rd2, %rd90, %rd1; st.global.u32 [%rd2], %r3;`),
    );
    const [, , store] = run(program).accesses;
    assert.deepEqual([store.unknownRequests, store.sectors], [0, 4]);
  });
  it(
    'atomics: a constant, and the result used',
    check(tile('atom.shared.add.u32 %r1, [%r80], 1; red.shared.max.s32 [%r80], %r90;'), [
      'shared atomic 4 B: 1 requests of 32 lanes, 1 of 1 wavefronts',
      'shared atomic 4 B: 1 requests of 32 lanes, 32 of 1 wavefronts',
    ]),
  );
  it(
    'ldmatrix takes rows of 16 bytes',
    check(
      tile(
        'shl.b32 %r1, %r90, 4; add.s32 %r2, %r80, %r1; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];',
      ),
      ['shared load 16 B: 1 requests of 32 lanes, 4 of 4 wavefronts'],
    ),
  );
  it(
    'cp.async reads global and writes shared memory',
    check(
      tile(
        'shl.b32 %r1, %r90, 4; add.s32 %r2, %r80, %r1; mul.wide.u32 %rd1, %r90, 16; add.s64 %rd2, %rd90, %rd1; cp.async.cg.shared.global [%r2], [%rd2], 16; cp.async.commit_group; cp.async.wait_group 0;',
      ),
      [
        'global load 16 B: 1 requests of 32 lanes, 16 of 16 sectors',
        'shared store 16 B: 1 requests of 32 lanes, 4 of 4 wavefronts',
      ],
    ),
  );
  it(
    'cp.async that reads nothing in some lanes writes zeros there',
    check(
      tile(
        'shl.b32 %r1, %r90, 4; add.s32 %r2, %r80, %r1; mul.wide.u32 %rd1, %r90, 16; add.s64 %rd2, %rd90, %rd1; setp.lt.u32 %p1, %r90, 8; selp.b32 %r3, 16, 0, %p1; cp.async.cg.shared.global [%r2], [%rd2], 16, %r3;',
      ),
      [
        'global load 16 B: 1 requests of 32 lanes, 4 of 4 sectors',
        'shared store 16 B: 1 requests of 32 lanes, 4 of 4 wavefronts',
      ],
    ),
  );
});

describe('PTX: other memory', () => {
  it(
    'a local depot',
    check(
      kernel(`.local .align 4 .b8 __local_depot0[64]; .reg .b64 %SP; .reg .b64 %SPL;
        mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL; add.u64 %rd1, %SPL, 8; st.local.u32 [%rd1], %r90;
        ld.u32 %r2, [%SP+8]; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd90, %rd2; ld.global.u32 %r3, [%rd3];`),
      [
        'local store 4 B: 1 requests of 32 lanes, 4 of 4 sectors',
        'local load 4 B: 1 requests of 32 lanes, 4 of 4 sectors',
        'global load 4 B: 1 requests of 32 lanes, 4 of 4 sectors',
      ],
    ),
  );
  it('a table in constant memory is known', () => {
    const text = `.const .align 4 .b8 steps[16] = {0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0};\n${kernel(
      'mov.u64 %rd5, steps; ld.const.u32 %r2, [%rd5+12]; mul.wide.u32 %rd1, %r2, %r90; mul.wide.u32 %rd1, %r90, 8; cvt.u64.u32 %rd2, %r2; add.s64 %rd3, %rd1, %rd2; add.s64 %rd4, %rd90, %rd3; ld.global.u32 %r3, [%rd4];',
    )}`;
    assert.equal(accessesOf(text).at(-1), 'global load 4 B: 1 requests of 32 lanes, 8 of 4 sectors');
  });
  it('a table of integers below zero, read as nvcc reads them', () => {
    const text = `.const .align 4 .b8 steps[8] = {0, 0, 0, 0, 255, 255, 255, 255};\n${kernel(
      'ld.const.u32 %r2, [steps+4]; add.s32 %r3, %r90, 40; sub.s32 %r4, %r3, %r2; mul.wide.s32 %rd1, %r4, 4; add.s64 %rd2, %rd90, %rd1; ld.global.u32 %r5, [%rd2];',
    )}`;
    assert.equal(accessesOf(text).at(-1), 'global load 4 B: 1 requests of 32 lanes, 5 of 4 sectors');
  });
  it('scalar parameters and members of structs are inputs with index and byte', () => {
    const text = `.visible .entry k(.param .u32 k_param_0, .param .align 8 .b8 k_param_1[24])
      { .reg .b32 %r<9>; .reg .b64 %rd<9>;
        ld.param.u32 %r1, [k_param_0]; ld.param.u64 %rd1, [k_param_1+8]; ld.param.u32 %r2, [k_param_1+16];
        cvta.to.global.u64 %rd2, %rd1; add.s32 %r3, %r1, %r2; mul.wide.s32 %rd3, %r3, 4; add.s64 %rd4, %rd2, %rd3;
        ld.global.u32 %r4, [%rd4]; ret; }`;
    const inputs = lowered(text).inputs.flatMap((input) =>
      input.source.kind === 'parameter' ? [[input.source.parameter, input.source.offset]] : [],
    );
    assert.deepEqual(inputs, [
      [0, 0],
      [1, 8],
      [1, 16],
    ]);
  });
  it('bulk copies are named', () => {
    const text = kernel(
      '.shared .align 8 .b8 s[64]; mov.u32 %r80, s; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r80], [%rd90], 64, [%r80];',
    );
    assert.match(
      lowered(text)
        .skipped.map((each) => each.reason)
        .join(),
      /cp\.async\.bulk.*not counted/,
    );
  });
});

describe('PTX: calls', () => {
  const scale = `.func (.param .b32 func_retval0) scale(.param .b32 scale_param_0)
    { .reg .b32 %r<5>; .reg .pred %p<2>;
      ld.param.u32 %r1, [scale_param_0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra $Z; shl.b32 %r2, %r1, 2;
      st.param.b32 [func_retval0+0], %r2; ret;
      $Z: mov.u32 %r3, 256; st.param.b32 [func_retval0+0], %r3; ret; }`;
  const call = `{ .param .b32 param0; st.param.b32 [param0+0], %r90; .param .b32 retval0;
      call.uni (retval0), scale, (param0); ld.param.b32 %r1, [retval0+0]; }
      mul.wide.u32 %rd1, %r1, 1; add.s64 %rd2, %rd90, %rd1; ld.global.u32 %r2, [%rd2];`;
  it(
    'functions are inlined',
    check(`${scale}\n${kernel(call)}`, ['global load 4 B: 1 requests of 32 lanes, 5 of 4 sectors']),
  );
  it('what has no body gives an unknown result and is named', () => {
    const program = lowered(kernel(call));
    assert.match(program.skipped[0].reason, /call of scale: no body/);
    assert.match(accessesOf(kernel(call))[0], /unknown: result of a call/);
  });
  it('recursion ends', () => {
    const endless = '.func f() { call.uni f, (); ret; }';
    assert.match(lowered(`${endless}\n${kernel('call.uni f, ();')}`).skipped[0].reason, /recursive/);
  });
});

describe('PTX: kernels that give up', () => {
  it('are counted as if they had gone on', () => {
    const body = 'setp.lt.u32 %p1, %r90, 99; @%p1 bra BAD; bra GOOD;\nBAD: trap;\nGOOD: ld.global.u32 %r1, [%rd90];';
    assert.match(accessesOf(kernel(body))[0], /1 requests of 32 lanes/);
  });
});

describe('PTX: positions', () => {
  it('an access of a header stands on the line that calls it', () => {
    const text = `${kernel(`.loc 1 12 5
      .loc 2 99 1, function_name $info, inlined_at 1 12 5
      ld.global.f32 %f1, [%rd90];`)}
      .file 1 "/home/me/app.cu"
      .file 2 "/usr/local/cuda-13.0/targets/x86_64-linux/include/cuda_fp16.hpp"`;
    assert.deepEqual(lowered(text).accesses[0].place.location, { file: '/home/me/app.cu', line: 12, column: 5 });
  });
  it('LLVM has the calls in a comment', () => {
    const text = `${kernel(`.loc 3 547 10   // include/__clang_cuda_device_functions.h:547:10 @[ /usr/local/cuda-13.0/include/device_atomic_functions.hpp:112:10 @[ /home/me/app.cu:40:9 @[ /home/me/app.cu:52:3 ] ] ]
      atom.global.add.u32 %r1, [%rd90], %r2;`)}
      .file 1 "/home/me/app.cu"
      .file 3 "/usr/lib/llvm-22/lib/clang/22/include/__clang_cuda_device_functions.h"`;
    const { place } = lowered(text).accesses[0];
    const locations = [place, place.call].map((each) => each?.location);
    assert.deepEqual(locations, [
      { file: '/home/me/app.cu', line: 40, column: 9 },
      { file: '/home/me/app.cu', line: 52, column: 3 },
    ]);
  });
  it('an access of the user’s own function stands there, with the calls that lead to it', () => {
    const text = `${kernel(`.loc 1 30 9
      .loc 1 21 3, function_name $a, inlined_at 1 30 9
      .loc 1 7 2, function_name $b, inlined_at 1 21 3
      ld.global.f32 %f1, [%rd90];`)}
      .file 1 "app.cu"`;
    const { place } = lowered(text).accesses[0];
    const lines = [place, place.call, place.call?.call].map((each) => each?.location?.line);
    assert.deepEqual(lines, [7, 21, 30]);
  });
});

describe('PTX: fragments of wmma', () => {
  const shape = 'sync.aligned';
  const fragments = (text: string) => kernel(`.shared .align 32 .b8 s[2048]; mov.u32 %r1, s; mov.u32 %r2, 16; ${text}`);
  it(
    'of 8 × 32: two matrices, twice four, and floats whose pairs lie in the columns',
    check(
      fragments(`wmma.load.a.${shape}.row.m8n32k16.shared.f16 {%r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10}, [%r1], %r2;
        wmma.load.b.${shape}.col.m8n32k16.shared.f16 {%r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10}, [%r1], %r2;
        mov.u32 %r2, 32;
        wmma.store.d.${shape}.row.m8n32k16.shared.f32 [%r1], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, %r2;`),
      [
        'shared load 16 B: 1 requests of 32 lanes, 4 of 2 wavefronts',
        ...Array(2).fill('shared load 16 B: 1 requests of 32 lanes, 8 of 4 wavefronts'),
        ...Array(8).fill('shared store 4 B: 1 requests of 32 lanes, 4 of 1 wavefronts'),
      ],
    ),
  );
});
