/** One launch of one kernel: executed for its known values, or for the samples of what is unknown. */
import { execute } from '../execute/execute';
import type { Execution, LaunchShape } from '../execute/execution';
import { ticketAccesses } from '../execute/tickets';
import type { MemoryModel } from '../hardware/memory-model';
import { dependencies } from '../program/dependence';
import type { Program } from '../program/program';
import type { Assumption } from '../report/report';
import type { KernelEffort } from './effort';
import type { PlannedLaunch, Triple } from './launch-plan';
import { assumedGrid, resolveInputs, SAMPLES } from './sampling';
import { withSymbolTables } from './symbols';

/** The execution for one set of values. */
export interface Sample {
  readonly shape: LaunchShape;
  readonly execution: Execution;
  readonly assumptions: readonly Assumption[];
}

export interface Simulation {
  readonly program: Program;
  /** First: what is reported. More only where sizes were sampled. */
  readonly samples: readonly Sample[];
  /** Names of sampled sizes that the access depends on, by access index; empty: the figure follows from the text. */
  readonly assumedFor: readonly (readonly string[])[];
  readonly gridAssumed: boolean;
}

export interface SimulationOptions {
  readonly assume: ReadonlyMap<string, number>;
  readonly parameterNames: readonly (string | undefined)[];
  readonly effort: KernelEffort;
  readonly cancelled?: () => boolean;
  /** Only the sample that is reported. */
  readonly firstSampleOnly?: boolean;
}

export function simulateLaunch(
  program: Program,
  plan: PlannedLaunch,
  model: MemoryModel,
  options: SimulationOptions,
): Simulation {
  const first = runSample(program, plan, model, options, 0);
  const assumedFor = assumedNames(program, plan, first.sampled);
  const needsSamples =
    options.firstSampleOnly !== true && first.sampled.size > 0 && assumedFor.some((names) => names.length > 0);
  const samples = [first.sample];
  if (needsSamples) {
    for (let i = 1; i < SAMPLES.length; i++) {
      if (options.cancelled?.()) break;
      samples.push(runSample(program, plan, model, options, i).sample);
    }
  }
  return { program, samples, assumedFor, gridAssumed: plan.grid === undefined };
}

function runSample(
  program: Program,
  plan: PlannedLaunch,
  model: MemoryModel,
  options: SimulationOptions,
  sample: number,
): { sample: Sample; sampled: ReadonlyMap<number, number> } {
  const resolved = resolveInputs(program, plan, {
    assume: options.assume,
    parameterNames: options.parameterNames,
    sample,
  });
  const grid: Triple = plan.grid ?? assumedGrid(plan.block, sample);
  const shape: LaunchShape = {
    grid,
    block: plan.block,
    dynamicSharedBytes: plan.dynamicSharedBytes,
    inputs: resolved.values,
  };
  const budget = { ...options.effort.budget(sample === 0), cancelled: options.cancelled };
  const execution = execute(withSymbolTables(program, plan.symbols), shape, model, budget);
  options.effort.charge(execution.simulatedWarpInstructions);
  const assumptions = [...plan.assumptions, ...resolved.assumptions];
  if (!plan.grid) assumptions.push({ name: 'gridDim.x', value: grid[0], origin: 'assumed' });
  return { sample: { shape, execution, assumptions }, sampled: resolved.sampled };
}

/** For every access the assumed values that its address or its execution rests on. */
function assumedNames(program: Program, plan: PlannedLaunch, sampled: ReadonlyMap<number, number>): string[][] {
  const assumedBlock = plan.assumptions.some(
    (a) => a.name.startsWith('blockDim') && (a.origin === 'assumed' || a.origin === 'launch-bounds'),
  );
  const tickets = ticketAccesses(program);
  if (sampled.size === 0 && !assumedBlock && plan.grid !== undefined) return program.accesses.map(() => []);
  const depends = dependencies(program);
  return program.accesses.map((_, access) => {
    const names = new Set<string>();
    for (const inputs of [depends.address[access], depends.execution[access]]) {
      for (const input of inputs ?? []) {
        const { source, name } = program.inputs[input];
        if (sampled.has(input)) names.add(name);
        if (assumedBlock && (source.kind === 'blockDim' || source.kind === 'threadIdx')) names.add('blockDim');
        if (plan.grid === undefined && source.kind === 'gridDim') names.add('gridDim');
      }
    }
    for (const loads of [depends.addressLoads[access], depends.executionLoads[access]]) {
      for (const load of loads ?? []) {
        if (tickets.has(load)) names.add(`order in which blocks draw from ${program.accesses[load].expression}`);
      }
    }
    return [...names];
  });
}
