/** The time of a launch, where all that it rests on is known: its counters from the simulation, handed to the model of a device. */
import type { PlannedLaunch } from '../analysis/launch-plan';
import type { Sample, Simulation } from '../analysis/simulate';
import type { Execution } from '../execute/execution';
import { isSwapLoop } from '../hardware/atomic-class';
import { device, devices } from '../hardware/devices';
import { SWAP } from '../hardware/shared-memory';
import { estimateTime, type TimeEstimate, type TimingCounters, timedDevices, type WarpChain } from '../hardware/timing';
import { type BlockLatency, blockLatencies, isDivision } from '../machine/latency';
import type { Instruction, Program } from '../program/program';

export interface EstimateInputs {
  readonly plan: PlannedLaunch;
  readonly simulation: Simulation;
  readonly blocksPerSm: number;
  readonly computeCapability: string;
  /** As the user named it. */
  readonly device: string | undefined;
}

/** Null where anything that it needs is assumed or not known, and for devices that were not measured. */
export function timeEstimate(inputs: EstimateInputs): TimeEstimate | null {
  const { plan, simulation, blocksPerSm } = inputs;
  const name = deviceFor(inputs);
  const sample = simulation.reported;
  if (name === undefined || plan.grid === undefined || !isKnown(sample)) return null;
  if (callsOut(simulation.program, sample.execution)) return null;
  const counters = countersOf(inputs, sample.execution);
  return estimateTime({ ...counters, blocksPerSm }, name) ?? null;
}

/** The device chosen; without a choice one of the capability that was measured. */
function deviceFor({ device: chosen, computeCapability }: EstimateInputs): string | undefined {
  const wanted = chosen === undefined ? undefined : device(chosen);
  const isOf = (name: string) => devices.some((each) => each.name === name && each.cc === computeCapability);
  if (wanted !== undefined && wanted.cc === computeCapability)
    return timedDevices.includes(wanted.name) ? wanted.name : undefined;
  return timedDevices.find(isOf);
}

function isKnown({ execution, assumptions }: Sample): boolean {
  return (
    execution.incomplete === undefined &&
    assumptions.every(({ origin }) => origin !== 'assumed' && origin !== 'launch-bounds') &&
    execution.accesses.every(
      ({ unknownRequests, speculative }) => unknownRequests === 0 && speculative === undefined,
    ) &&
    execution.branches.every(({ unknown }) => unknown === 0)
  );
}

/** A warp calls what is not inlined: a `printf` takes 25 to 95 µs on an H200, and nobody knows how long another function does. */
function callsOut(program: Program, { blockExecutions }: Execution): boolean {
  const isCall = (i: Instruction) => i.op === 'work' && i.fence === 'call';
  return program.blocks.some(({ instructions }, block) => blockExecutions[block] > 0 && instructions.some(isCall));
}

type Counters = Omit<TimingCounters, 'blocksPerSm'>;

/** An edit elsewhere leaves the execution as it is. */
const known = new WeakMap<Execution, Counters>();

function countersOf({ plan, simulation }: EstimateInputs, execution: Execution): Counters {
  const { program } = simulation;
  let counters = known.get(execution);
  if (counters === undefined) {
    const { grid, block } = simulation.reported.shape;
    const blocks = grid[0] * grid[1] * grid[2];
    const warps = blocks * Math.ceil((block[0] * block[1] * block[2]) / 32);
    const { updatesOfOneLine } = execution;
    counters = {
      blocks,
      updatesOfOneLine,
      ...memoryCounters(program, plan, execution),
      swapRounds: swapRounds(program, execution) / warps,
      ...work(program, execution, warps),
    };
    known.set(execution, counters);
  }
  return counters;
}

/** Machine instructions that a division is made of, about. */
const DIVISION = 9;

function work(program: Program, execution: Execution, warps: number): Pick<Counters, 'instructions' | 'chains'> {
  const spaces = new Map(execution.accesses.map(({ access, space }) => [access, space]));
  const latencies = blockLatencies(program, (access) => spaces.get(access));
  let instructions = 0;
  const chains: WarpChain[] = program.blocks.map((block, index) => {
    const executed = execution.blockExecutions[index];
    const divisions = block.instructions.filter(isDivision).length;
    instructions += executed * (block.instructions.length + (DIVISION - 1) * divisions);
    // what only some warps do, they do all the same
    const times = Math.max(executed / warps, Math.min(1, executed));
    return scaled(latencies[index], block.instructions.length, times);
  });
  return { instructions, chains: byOverlap(chains) };
}

const scaled = (latency: BlockLatency, instructions: number, times: number): WarpChain => ({
  overlap: latency.overlap,
  instructions: instructions * times,
  arithmetic: latency.arithmetic * times,
  globalDepth: latency.globalDepth * times,
  sharedDepth: latency.sharedDepth * times,
});

function byOverlap(chains: readonly WarpChain[]): WarpChain[] {
  const sums = new Map<WarpChain['overlap'], WarpChain>();
  for (const chain of chains) {
    const sum = sums.get(chain.overlap);
    sums.set(
      chain.overlap,
      sum === undefined
        ? chain
        : {
            overlap: chain.overlap,
            instructions: sum.instructions + chain.instructions,
            arithmetic: sum.arithmetic + chain.arithmetic,
            globalDepth: sum.globalDepth + chain.globalDepth,
            sharedDepth: sum.sharedDepth + chain.sharedDepth,
          },
    );
  }
  return [...sums.values()];
}

function memoryCounters(
  program: Program,
  plan: PlannedLaunch,
  execution: Execution,
): Pick<Counters, 'sharedWavefronts' | 'constantPasses' | 'sectors' | 'storeSectors' | 'dramBytes'> {
  let sharedWavefronts = 0;
  let constantPasses = 0;
  let sectors = 0;
  let storeSectors = 0;
  const read = new Map<string, { bytes: number; size: number }>();
  for (const counts of execution.accesses) {
    if (counts.space === 'shared') sharedWavefronts += counts.wavefronts;
    if (counts.space === 'constant') constantPasses += counts.wavefronts;
    if (counts.space !== 'global') continue;
    sectors += counts.sectors;
    const { operation, object } = program.accesses[counts.access];
    if (operation !== 'load') {
      storeSectors += counts.sectors;
      continue;
    }
    const buffer = bufferOf(program, plan, object);
    const name = buffer?.name ?? `access ${counts.access}`;
    const bytes = (read.get(name)?.bytes ?? 0) + counts.sectors * 32;
    read.set(name, { bytes, size: buffer?.bytes ?? Number.POSITIVE_INFINITY });
  }
  // every byte of a buffer comes from memory once at most, caches that hold it granted
  const dramBytes = [...read.values()].reduce((sum, { bytes, size }) => sum + Math.min(bytes, size), 0);
  return { sharedWavefronts, constantPasses, sectors, storeSectors, dramBytes };
}

/** Of all warps. */
function swapRounds(program: Program, { accesses }: Execution): number {
  let wavefronts = 0;
  for (const { access, space, wavefronts: own } of accesses) {
    const { atomic, operation } = program.accesses[access];
    if (space === 'shared' && operation === 'atomic' && isSwapLoop(atomic)) wavefronts += own;
  }
  return wavefronts / SWAP;
}

/** The buffer that a pointer parameter was given, with its size where the host code shows it. */
function bufferOf(
  program: Program,
  plan: PlannedLaunch,
  object: number | undefined,
): { name: string; bytes?: number } | undefined {
  if (object === undefined) return undefined;
  const { register, name } = program.objects[object];
  const source = program.inputs.find((input) => input.register === register)?.source;
  const value = source?.kind === 'parameter' ? plan.arguments[source.parameter] : undefined;
  return value?.kind === 'pointer' ? { name: value.allocation, bytes: value.bytes } : { name };
}
