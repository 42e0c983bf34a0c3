/** Runs small PTX texts: what the tests of this folder share. */
import { execute } from '../../../server/src/execute/execute';
import type { AccessCounts, Execution, InputValue } from '../../../server/src/execute/execution';
import { capability } from '../../../server/src/hardware/capabilities';
import { memoryModel } from '../../../server/src/hardware/memory-model';
import { addressWindows } from '../../../server/src/program/addresses';
import type { Program } from '../../../server/src/program/program';
import { verifyProgram } from '../../../server/src/program/verify';
import { lowerPtx } from '../../../server/src/ptx/lower';
import { parsePtx } from '../../../server/src/ptx/parse';

const hopper = capability('9.0');
if (!hopper) throw new Error('capability 9.0 is not in the table');
const model = memoryModel(hopper);

export interface Launch {
  readonly block?: readonly [number, number, number];
  readonly grid?: readonly [number, number, number];
  readonly dynamicSharedBytes?: number;
  /** By parameter: a number; pointers need none. */
  readonly parameters?: readonly (number | undefined)[];
}

/** A kernel `k` around a body: registers %r, %rd, %f, %fd, %rs, %p as nvcc names them, pointers in %rd90 and %rd91. */
export function kernel(body: string, parameters: readonly string[] = ['u64', 'u64', 'u32', 'u32']): string {
  const declared = parameters.map((type, index) => `.param .${type} k_param_${index}`);
  return `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(${declared.join(', ')})
{
  .reg .pred %p<100>; .reg .b16 %rs<100>; .reg .b32 %r<100>; .reg .b64 %rd<100>; .reg .f32 %f<100>; .reg .f64 %fd<100>;
  ld.param.u64 %rd90, [k_param_0];
  cvta.to.global.u64 %rd90, %rd90;
  mov.u32 %r90, %tid.x;
  ${body}
  ret;
}`;
}

export function lowered(text: string, name = 'k'): Program {
  const program = lowerPtx(parsePtx(text), name);
  const problems = verifyProgram(program);
  if (problems.length > 0) throw new Error(`unsound program: ${problems.join('; ')}`);
  return program;
}

export function run(program: Program, launch: Launch = {}): Execution {
  const inputs = new Map<number, InputValue>();
  program.inputs.forEach((input, index) => {
    if (input.source.kind !== 'parameter') return;
    const isPointer = program.objects.some((object) => object.register === input.register);
    const value = launch.parameters?.[input.source.parameter];
    if (value !== undefined) inputs.set(index, { kind: 'number', value });
    else if (isPointer) inputs.set(index, { kind: 'pointer', allocation: input.source.parameter, offset: 0 });
  });
  const { block = [32, 1, 1], grid = [1, 1, 1], dynamicSharedBytes = 0 } = launch;
  return execute(program, { block, grid, dynamicSharedBytes, inputs }, model, {
    warpInstructions: 100_000,
    blocks: 16,
  });
}

/** One line an access: `shared load 4 B: 32 requests, 1024 of 32 wavefronts`. */
export function accessesOf(text: string, launch: Launch = {}): string[] {
  const program = lowered(text);
  return run(program, launch).accesses.map((counts) => described(program, counts));
}

function described(program: Program, counts: AccessCounts): string {
  const { operation } = program.accesses[counts.access];
  const head = `${counts.space} ${operation} ${counts.bytesPerLane} B: ${counts.requests} requests of ${counts.activeLanes} lanes`;
  if (counts.unknownRequests > 0) return `${head}, unknown: ${counts.unknownReason}`;
  const isShared = counts.space === 'shared';
  const figures = isShared ? [counts.wavefronts, counts.idealWavefronts] : [counts.sectors, counts.idealSectors];
  return `${head}, ${figures[0]} of ${figures[1]} ${isShared ? 'wavefronts' : 'sectors'}`;
}

/**
 * The value of %r1 (as unsigned) in the first lanes, read off the addresses of a store at base + %r1; undefined where it is
 * not known.
 */
export function values(body: string, lanes: number, launch: Launch = {}): (number | undefined)[] {
  const text = kernel(`${body}
  mul.wide.u32 %rd80, %r1, 1;
  add.s64 %rd81, %rd90, %rd80;
  st.global.u8 [%rd81], 0;`);
  const program = lowered(text);
  const stores = run(program, launch).accesses.filter((a) => program.accesses[a.access].operation === 'store');
  const witness = stores[stores.length - 1]?.witness;
  return Array.from({ length: lanes }, (_, lane) => {
    const address = witness?.addresses[lane];
    return address === undefined || Number.isNaN(address) ? undefined : address - addressWindows.global;
  });
}

/** The value of %r1 in the first lane. */
export function value(body: string): number | undefined {
  return values(body, 1)[0];
}
