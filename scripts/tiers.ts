/** Both front ends on one file, for the scripts that compare them: launches of the source tier, programs of both. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { launchBoundsOf } from '../server/src/analysis/bounds';
import { findKernels } from '../server/src/analysis/kernels';
import { type PlannedLaunch, planLaunches } from '../server/src/analysis/launch-plan';
import { matchLaunches } from '../server/src/analysis/launches';
import { assumedGrid, resolveInputs } from '../server/src/analysis/sampling';
import { argumentsWithoutLaunch } from '../server/src/analysis/template-arguments';
import { execute } from '../server/src/execute/execute';
import type { Execution, LaunchShape } from '../server/src/execute/execution';
import type { MemoryModel } from '../server/src/hardware/memory-model';
import { readAnnotations } from '../server/src/launch/annotation';
import { findLaunches } from '../server/src/launch/find-launches';
import { createUnitContext, lowerKernel } from '../server/src/lower/lower-kernel';
import { argumentKey } from '../server/src/lower/records';
import { machineProgram } from '../server/src/machine/machine';
import { parse } from '../server/src/parse/parse';
import { predefinedMacros } from '../server/src/preprocess/predefined';
import { preprocess } from '../server/src/preprocess/preprocess';
import type { Program, SourcePlace } from '../server/src/program/program';
import { locationOf } from '../server/src/report/positions';
import { definesOf } from './compiled-program';

export interface SourceLaunch {
  readonly kernel: string;
  readonly templateArguments: readonly string[];
  readonly parameterNames: readonly (string | undefined)[];
  readonly plan: PlannedLaunch;
  /** The source tier's program, with what the compiler changes. */
  readonly program: Program;
}

export interface SourceUnit {
  readonly launches: readonly SourceLaunch[];
  /** File and line of a place of the source tier. */
  readonly locate: (place: SourcePlace) => { readonly file: string; readonly line: number; readonly endLine: number };
}

export const includeFrom =
  (folder: string, more: readonly string[] = []) =>
  (name: string, quoted: boolean, from: string) => {
    for (const base of [...(quoted ? [path.dirname(from)] : []), ...more]) {
      const file = path.resolve(base, name);
      const isInside = file.startsWith(folder) || more.some((each) => file.startsWith(each));
      if (isInside && fs.existsSync(file)) return { path: file, text: fs.readFileSync(file, 'utf8') };
    }
    return undefined;
  };

/** Launches of all kernels of a file, as the source tier plans them. */
export function sourceUnit(file: string, computeCapability: string, includes: readonly string[] = []): SourceUnit {
  const text = fs.readFileSync(file, 'utf8');
  const options = { computeCapability, defines: new Map(), assume: new Map() };
  const include = includeFrom(path.dirname(file), includes);
  const defines = new Map([...predefinedMacros(computeCapability), ...definesOf(text)]);
  const source = preprocess({ path: file, text, defines, include });
  const tree = parse(source.tokens, source.pragmas);
  const context = createUnitContext(tree, source.tokens);
  const kernels = findKernels(tree, context.scope);
  const matched = matchLaunches(
    context,
    kernels,
    findLaunches(tree, source.tokens, source.comments, { assume: options.assume }),
  );
  const annotations = readAnnotations(kernels, source.comments);
  const launches = kernels.flatMap((kernel): SourceLaunch[] => {
    const { declaration } = kernel;
    if (declaration.broken) return [];
    const plans = planLaunches({
      launches: matched.filter((launch) => launch.kernel.declaration === declaration),
      annotation: annotations.get(kernel),
      maxThreads: () => launchBoundsOf(context, kernel, [])?.maxThreads,
      options,
    });
    const programs = new Map<string, Program>();
    return plans.map((plan) => {
      const values =
        plan.launch?.templateArguments ?? argumentsWithoutLaunch(context, tree, kernel, annotations.get(kernel)).values;
      const templateArguments = values.map(argumentKey);
      const key = templateArguments.join(',');
      const lowered = () =>
        machineProgram(lowerKernel(context, { declaration, scope: kernel.scope, templateArguments: values }));
      const program = programs.get(key) ?? lowered();
      programs.set(key, program);
      const parameterNames = declaration.parameters.map((parameter) => parameter.name);
      return { kernel: kernel.name, templateArguments, parameterNames, plan, program };
    });
  });
  return {
    launches,
    locate: (place) =>
      place.location
        ? { ...place.location, endLine: place.location.line }
        : locationOf(source.tokens, place.first, place.last),
  };
}

/** What a line of the user's code does to one space with one operation. */
export interface LineGroup {
  readonly file: string;
  readonly line: number;
  readonly endLine: number;
  /** Lines of the calls through which it was inlined. */
  readonly calls: readonly string[];
  readonly space: string;
  readonly operation: string;
  requests: number;
  unknownRequests: number;
  wavefronts: number;
  idealWavefronts: number;
  sectors: number;
  idealSectors: number;
  reason?: string;
  /** Executed under a condition that is not known: why. */
  speculative?: string;
}

/** Executes a program for a planned launch, generously: the scripts compare figures, not speed. */
export function runLaunch(program: Program, launch: SourceLaunch, model: MemoryModel): Execution {
  const { plan, parameterNames } = launch;
  const resolved = resolveInputs(program, plan, { assume: new Map(), parameterNames, sample: 0 });
  const shape: LaunchShape = {
    grid: plan.grid ?? assumedGrid(plan.block, 0),
    block: plan.block,
    dynamicSharedBytes: plan.dynamicSharedBytes,
    inputs: resolved.values,
  };
  return execute(program, shape, model, { warpInstructions: 4_000_000, blocks: 256 });
}

/** Counters of a group that add up. */
const figures = [
  'requests',
  'unknownRequests',
  'wavefronts',
  'idealWavefronts',
  'sectors',
  'idealSectors',
] as const satisfies readonly (keyof LineGroup)[];

/**
 * The counters of an execution by line.
 * @param isCharged at the lines that a profiler charges, as far as they are known; else where the access stands
 */
export function lineGroups(
  program: Program,
  execution: Execution,
  locate: SourceUnit['locate'],
  isCharged = false,
): LineGroup[] {
  const groups = new Map<string, LineGroup>();
  for (const counts of execution.accesses) {
    const site = program.accesses[counts.access];
    const calls = callsOf(site.place, locate);
    const foreseen = site.charged ? [site.charged] : [];
    const charged = isCharged ? (site.machine?.flatMap(({ place }) => place ?? []) ?? foreseen) : [];
    const places = charged.length > 0 ? charged : [site.place];
    for (const place of places) {
      const { file, line, endLine } = locate(place);
      const key = `${file}:${line}:${calls.join()}:${counts.space}:${site.operation}`;
      const none = { requests: 0, unknownRequests: 0, wavefronts: 0, idealWavefronts: 0, sectors: 0, idealSectors: 0 };
      const known = groups.get(key);
      const group = known ?? { file, line, endLine, calls, space: counts.space, operation: site.operation, ...none };
      for (const figure of figures) group[figure] += counts[figure] / places.length;
      group.reason ??= counts.unknownReason;
      group.speculative ??= counts.speculative;
      groups.set(key, group);
    }
  }
  return [...groups.values()];
}

/** `file:line` of every call around a place. */
function callsOf(place: SourcePlace, locate: SourceUnit['locate']): string[] {
  const calls: string[] = [];
  for (let call = place.call; call && calls.length < 64; call = call.call) {
    const { file, line } = locate(call);
    calls.push(`${file}:${line}`);
  }
  return calls;
}

/**
 * One group for a line: of those that stand on it, else of those called from it (the profiler charges some instructions of
 * an inlined function to the line of the call). Undefined when there is none.
 */
export function groupOfLine(
  groups: readonly LineGroup[],
  line: number,
  space: string,
  operation: string,
): LineGroup | undefined {
  const fits = groups.filter((group) => group.space === space && group.operation === operation);
  const here = fits.filter((group) => group.line === line);
  const around = fits.filter((group) => group.line <= line && line <= group.endLine);
  const called = fits.filter((group) => group.calls.some((call) => call.endsWith(`:${line}`)));
  const chosen = here.length > 0 ? here : around.length > 0 ? around : called;
  return chosen.length === 0 ? undefined : chosen.reduce(added);
}

/** The sum of two groups, at the place of the first. */
export function added(a: LineGroup, b: LineGroup): LineGroup {
  return {
    ...a,
    requests: a.requests + b.requests,
    unknownRequests: a.unknownRequests + b.unknownRequests,
    wavefronts: a.wavefronts + b.wavefronts,
    idealWavefronts: a.idealWavefronts + b.idealWavefronts,
    sectors: a.sectors + b.sectors,
    idealSectors: a.idealSectors + b.idealSectors,
    reason: a.reason ?? b.reason,
    speculative: a.speculative ?? b.speculative,
  };
}

/** Groups that differ in their calls only, as one. */
export function byLine(groups: readonly LineGroup[]): LineGroup[] {
  const lines = new Map<string, LineGroup>();
  for (const group of groups) {
    const key = `${group.file}:${group.line}:${group.endLine}:${group.space}:${group.operation}`;
    const known = lines.get(key);
    lines.set(key, known ? added(known, group) : group);
  }
  return [...lines.values()];
}

/** Actual and ideal of the counter that matters in the space. */
export function costOf(group: LineGroup): { readonly actual: number; readonly ideal: number } {
  const isShared = group.space === 'shared' || group.space === 'constant';
  return isShared
    ? { actual: group.wavefronts, ideal: group.idealWavefronts }
    : { actual: group.sectors, ideal: group.idealSectors };
}
