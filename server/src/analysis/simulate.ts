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
  /** What is reported. */
  readonly reported: Sample;
  readonly checks: CheckSamples;
  /** Names of sampled sizes that the access depends on, by access index; empty: the figure follows from the text. */
  readonly assumedFor: readonly (readonly string[])[];
  readonly gridAssumed: boolean;
}

/**
 * Executions for other values of the sizes that nobody gives, to see whether a figure holds under them. Only findings ask for
 * them, so that most kernels are executed once; they are kept as long as the result is.
 */
export class CheckSamples {
  private made: readonly Sample[] | undefined;

  /** @param make the execution of a sample from 1 on; undefined: there is nothing to be sampled */
  constructor(private readonly make: ((sample: number, cancelled?: () => boolean) => Sample) | undefined) {}

  /** Whether sizes were sampled. */
  get exist(): boolean {
    return this.make !== undefined;
  }

  /** @param cancelled true ends the executions; what they gave until then is not kept */
  get(cancelled?: () => boolean): readonly Sample[] {
    const { make } = this;
    if (!make) return [];
    if (this.made) return this.made;
    const made = SAMPLES.slice(1).map((_, i) => make(i + 1, cancelled));
    if (!cancelled?.()) this.made = made;
    return made;
  }
}

export interface SimulationOptions {
  readonly assume: ReadonlyMap<string, number>;
  readonly parameterNames: readonly (string | undefined)[];
  readonly effort: KernelEffort;
  readonly cancelled?: () => boolean;
}

export function simulateLaunch(
  program: Program,
  plan: PlannedLaunch,
  model: MemoryModel,
  options: SimulationOptions,
): Simulation {
  const first = runSample(program, plan, model, options, 0, options.cancelled);
  const assumedFor = assumedNames(program, plan, first.sampled);
  const isSampled = first.sampled.size > 0 && assumedFor.some((names) => names.length > 0);
  const checks = new CheckSamples(
    isSampled ? (sample, cancelled) => runSample(program, plan, model, options, sample, cancelled).sample : undefined,
  );
  return { program, reported: first.sample, checks, assumedFor, gridAssumed: plan.grid === undefined };
}

function runSample(
  program: Program,
  plan: PlannedLaunch,
  model: MemoryModel,
  options: SimulationOptions,
  sample: number,
  cancelled: (() => boolean) | undefined,
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
  const budget = { ...options.effort.budget(sample === 0), cancelled };
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
  if (sampled.size === 0 && !assumedBlock && plan.grid !== undefined && tickets.size === 0)
    return program.accesses.map(() => []);
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
