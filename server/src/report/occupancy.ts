/** Occupancy of a launch, with where its register count comes from. */
import type { PlannedLaunch } from '../analysis/launch-plan';
import type { AnalysisOptions, CompiledKernel } from '../analysis/request';
import { matchKernel } from '../compiler/match-kernels';
import { type Capability, capability } from '../hardware/capabilities';
import { type OccupancyRequest, occupancy } from '../hardware/occupancy';
import { occupancyCurves } from '../hardware/occupancy-curves';
import { describeStep, occupancySteps } from '../hardware/occupancy-steps';
import { type CompilerBound, compilerBound } from '../hardware/register-bounds';
import { estimateRegisters } from '../machine/registers';
import type { Program } from '../program/program';
import { registersRead } from '../program/registers-read';
import type { OccupancyReport, StepReport } from './report';
import { launchWaves } from './waves';

export interface LaunchBounds {
  readonly maxThreads: number;
  readonly minBlocks?: number;
}

export interface OccupancyInputs {
  readonly program: Program;
  readonly plan: PlannedLaunch;
  readonly bounds: LaunchBounds | undefined;
  /** `__maxnreg__` of the kernel. */
  readonly maxRegisters?: number;
  readonly options: AnalysisOptions;
  readonly kernel: string;
  /** As `argumentKey` spells them. */
  readonly templateArguments: readonly string[];
}

/** Launches of one kernel share its program. */
const knownBytes = new WeakMap<Program, number>();

/**
 * Static shared memory of a kernel in bytes, its arrays laid out one after the other. What nothing reads or writes takes none (nvcc 13.0: the storage of
 * collectives that shuffle).
 */
export function staticSharedBytes(program: Program): number {
  let bytes = knownBytes.get(program);
  if (bytes === undefined) knownBytes.set(program, (bytes = computeSharedBytes(program)));
  return bytes;
}

function computeSharedBytes(program: Program): number {
  let end = 0;
  if (!program.objects.some(({ space, isDynamic }) => space === 'shared' && !isDynamic)) return 0;
  const used = program.skipped.length > 0 ? undefined : registersRead(program);
  for (const o of program.objects) {
    if (o.space !== 'shared' || o.isDynamic || (used && used[o.register] === 0 && !o.isGathered)) continue;
    end = Math.ceil(end / o.alignment) * o.alignment + (o.bytes ?? 0);
  }
  const granule = program.sharedGranule ?? 1;
  return Math.ceil(end / granule) * granule;
}

/** Null for a capability that is not known and a block without threads. */
export function occupancyReport(inputs: OccupancyInputs): OccupancyReport | null {
  const { program, plan, options } = inputs;
  const row = capability(options.computeCapability);
  const threads = plan.block[0] * plan.block[1] * plan.block[2];
  if (!row || !(threads > 0)) return null;
  const compiled = matchKernel(options.compiled ?? [], inputs.kernel, inputs.templateArguments);
  const staticBytes = compiled && !compiled.isStale ? compiled.sharedBytes : staticSharedBytes(program);
  const bound = compilerBound(row, {
    launchBounds: inputs.bounds,
    maxRegisters: inputs.maxRegisters,
    flag: options.maxRegisters,
  });
  const registers = registersOf(row, inputs, compiled, bound);
  const request = {
    threadsPerBlock: threads,
    registersPerThread: registers.registersPerThread,
    sharedBytesPerBlock: staticBytes + plan.dynamicSharedBytes,
  };
  const found = occupancy(row, request);
  const blocks = plan.grid && plan.grid[0] * plan.grid[1] * plan.grid[2];
  return {
    ...found,
    ...registers,
    registersBound: bound,
    staticSharedBytes: staticBytes,
    blocksRange: blocksRange(row, request, registers.registersRange),
    steps: stepsOf(row, request, registers.registersRange !== undefined),
    waves: blocks ? launchWaves(row.cc, options.device, blocks, found.blocksPerSm) : undefined,
    compiled: compiled && compiledOf(compiled),
    curves: options.withCurves ? occupancyCurves(row, request) : undefined,
  };
}

type Registers = Pick<OccupancyReport, 'registersPerThread' | 'registersOrigin' | 'registersRange'>;

/** An option goes before the compiler's word, and that before the estimate within its bounds. */
function registersOf(
  row: Capability,
  { program, options }: OccupancyInputs,
  compiled: CompiledKernel | undefined,
  bound: CompilerBound | undefined,
): Registers {
  if (options.registersPerThread !== undefined)
    return { registersPerThread: options.registersPerThread, registersOrigin: 'option' };
  if (compiled) return { registersPerThread: compiled.registers, registersOrigin: 'compiler' };
  const free = estimateRegisters(program, row.limits);
  const estimate = bound === undefined ? free : estimateRegisters(program, row.limits, bound.registers);
  const isBound = bound?.by === '__launch_bounds__' && bound.registers < free.registers;
  return {
    registersPerThread: estimate.registers,
    registersOrigin: isBound ? 'launch-bounds' : 'estimate',
    registersRange: estimate.range,
  };
}

function blocksRange(
  row: Capability,
  request: OccupancyRequest,
  range: readonly [number, number] | undefined,
): readonly [number, number] | undefined {
  if (!range) return undefined;
  const [few, many] = range.map((registersPerThread) => occupancy(row, { ...request, registersPerThread }).blocksPerSm);
  return few === many ? undefined : [many, few];
}

/** Steps by capability and request: an edit elsewhere changes none, and each costs hundreds of occupancies. */
const knownSteps = new Map<string, readonly StepReport[]>();
const MOST_KNOWN = 1000;

function stepsOf(row: Capability, request: OccupancyRequest, isEstimated: boolean): readonly StepReport[] {
  const key = `${row.cc} ${request.threadsPerBlock} ${request.registersPerThread} ${request.sharedBytesPerBlock} ${isEstimated}`;
  const known = knownSteps.get(key);
  if (known) return known;
  if (knownSteps.size >= MOST_KNOWN) knownSteps.clear();
  const steps = occupancySteps(row, request).map((step) => ({
    resource: step.resource,
    effect: step.effect,
    from: step.from,
    to: step.to,
    blocksPerSm: step.after.blocksPerSm,
    theoretical: step.after.theoretical,
    text: describeStep(step, isEstimated),
  }));
  knownSteps.set(key, steps);
  return steps;
}

function compiledOf({ spillStoreBytes, spillLoadBytes, stackBytes, barriers, isStale }: CompiledKernel) {
  return { spillStoreBytes, spillLoadBytes, stackBytes, barriers, isStale: isStale ?? false };
}
