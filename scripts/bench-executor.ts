/** Warp instructions a second (of processor time, so that a busy machine does not matter much) of the executor, cold (first run in the process) and warm. Run: npx tsx scripts/bench-executor.ts */

import { execute } from '../server/src/execute/execute';
import type { LaunchShape } from '../server/src/execute/execution';
import { capability } from '../server/src/hardware/capabilities';
import { memoryModel } from '../server/src/hardware/memory-model';
import { launchOf } from '../test/unit/execute/run';
import { programFrom } from '../test/unit/program/program-text';

/** Integer arithmetic in vectors and few accesses. */
const arithmetic = `
  in tid i32 threadIdx.x
  in bid i32 blockIdx.x
  in n i32 parameter
  in p u64 parameter
  var x i32
  var i i32
  base = mul.i32 bid 256
  x = add.i32 base tid
  i = mov.i32 0
  loop:
    c = lt.i32 i n
    if c body end
  body:
    ${Array.from({ length: 12 }, (_, k) => `a${k} = mul.i32 x ${k + 3}\n    b${k} = xor.i32 a${k} i\n    x = add.i32 b${k} ${k}`).join('\n    ')}
    i = add.i32 i 1
    jump loop
  end:
    m = and.i32 x 1023
    w = convert.u64.i32 m
    o = mul.u64 w 4
    q = add.u64 p o
    store.f32 global [q] 0
    exit`;

/** A tiled matrix product, 16 × 16 tiles, inner loop not unrolled; the tile loop over n / 16 tiles. */
const product = `
  in tx i32 threadIdx.x
  in ty i32 threadIdx.y
  in bx i32 blockIdx.x
  in by i32 blockIdx.y
  in n i32 parameter
  in a u64 parameter
  in b u64 parameter
  in c u64 parameter
  shared as 1024
  shared bs 1024
  var t i32
  var k i32
  var sum f32
  by16 = mul.i32 by 16
  row = add.i32 by16 ty
  bx16 = mul.i32 bx 16
  col = add.i32 bx16 tx
  tiles = div.i32 n 16
  sum = mov.f32 0
  t = mov.i32 0
  outer:
    more = lt.i32 t tiles
    if more load done
  load:
    t16 = mul.i32 t 16
    rn = mul.i32 row n
    ac = add.i32 t16 tx
    ai = add.i32 rn ac
    aw = convert.u64.i32 ai
    ao = mul.u64 aw 4
    ap = add.u64 a ao
    av = load.f32 global [ap]
    s0 = mul.i32 ty 16
    s1 = add.i32 s0 tx
    s2 = convert.u64.i32 s1
    s3 = mul.u64 s2 4
    asp = add.u64 as s3
    store.f32 shared [asp] av
    br = add.i32 t16 ty
    bn = mul.i32 br n
    bi = add.i32 bn col
    bw = convert.u64.i32 bi
    bo = mul.u64 bw 4
    bp = add.u64 b bo
    bv = load.f32 global [bp]
    bsp = add.u64 bs s3
    store.f32 shared [bsp] bv
    barrier
    k = mov.i32 0
  inner:
    go = lt.i32 k 16
    if go step next
  step:
    r0 = add.i32 s0 k
    r1 = convert.u64.i32 r0
    r2 = mul.u64 r1 4
    ra = add.u64 as r2
    x = load.f32 shared [ra]
    u0 = mul.i32 k 16
    u1 = add.i32 u0 tx
    u2 = convert.u64.i32 u1
    u3 = mul.u64 u2 4
    ub = add.u64 bs u3
    y = load.f32 shared [ub]
    sum = fma.f32 x y sum
    k = add.i32 k 1
    jump inner
  next:
    barrier
    t = add.i32 t 1
    jump outer
  done:
    out = mul.i32 row n
    oi = add.i32 out col
    ow = convert.u64.i32 oi
    oo = mul.u64 ow 4
    op = add.u64 c oo
    store.f32 global [op] sum
    exit`;

/** About a hundred instructions in a straight line, guarded. */
const straight = `
  in tid i32 threadIdx.x
  in bid i32 blockIdx.x
  in dim i32 blockDim.x
  in n i32 parameter
  in p u64 parameter
  g0 = mul.i32 bid dim
  g = add.i32 g0 tid
  c = lt.i32 g n
  if c body end
  body:
    ${Array.from(
      { length: 14 },
      (_, k) =>
        `e${k} = mul.i32 g ${k + 1}\n    f${k} = add.i32 e${k} ${k}\n    h${k} = convert.u64.i32 f${k}\n    i${k} = mul.u64 h${k} 4\n    j${k} = add.u64 p i${k}\n    ${k % 2 ? `store.f32 global [j${k}] 0` : `v${k} = load.f32 global [j${k}]`}`,
    ).join('\n    ')}
  end:
    exit`;

const cases: readonly { name: string; text: string; shape: Partial<LaunchShape>; values: Record<string, number> }[] = [
  {
    name: 'straight line, 100 instructions',
    text: straight,
    shape: { grid: [4096, 1, 1], block: [256, 1, 1] },
    values: { n: 1 << 20 },
  },
  { name: 'arithmetic loop', text: arithmetic, shape: { grid: [64, 1, 1], block: [256, 1, 1] }, values: { n: 100 } },
  { name: 'tiled matrix product', text: product, shape: { grid: [32, 32, 1], block: [16, 16, 1] }, values: { n: 512 } },
];

const row = capability('9.0');
if (!row) throw new Error('capability 9.0 is missing');
const model = memoryModel(row);
const budget = { warpInstructions: 3_000_000, blocks: 64 };

for (const { name, text, shape, values } of cases) {
  const times: number[] = [];
  let instructions = 0;
  let counted = 0;
  let incomplete: string | undefined;
  for (let i = 0; i < 12; i++) {
    // A new program each time: nothing that is remembered of programs helps.
    const program = programFrom(text);
    const launch = launchOf(program, { ...shape, values });
    const start = process.cpuUsage();
    const execution = execute(program, launch, model, budget);
    const used = process.cpuUsage(start);
    times.push((used.user + used.system) / 1000);
    instructions = execution.simulatedWarpInstructions;
    incomplete = execution.incomplete;
    counted = execution.blockExecutions.reduce((sum, n, b) => sum + n * (program.blocks[b].instructions.length + 1), 0);
  }
  const warm = Math.min(...times);
  const rate = (ms: number) => `${(instructions / ms / 1000).toFixed(1)} M/s`;
  console.log(
    `${name}: ${instructions} of ${counted} warp instructions; cold ${times[0].toFixed(2)} ms (${rate(times[0])}), warm ${warm.toFixed(2)} ms (${rate(warm)})${incomplete ? `; ${incomplete}` : ''}`,
  );
}
