/** From a kernel and its launches to what is simulated of them; results from before hold as long as their text and launches do. */

import type { memoryModel } from '../hardware/memory-model';
import { lowerKernel } from '../lower/lower-kernel';
import { argumentKey, instanceKey } from '../lower/records';
import type { TemplateValue } from '../lower/types';
import { dataLoads } from '../program/data-loads';
import type { Program } from '../program/program';
import { AlikeInstances } from './alike-instances';
import { launchBoundsOf } from './bounds';
import { type PreparedCompilation, programFromPtx } from './compilation';
import type { KernelEffort } from './effort';
import type { Fingerprint } from './fingerprint';
import { type KernelResult, kept, shifted } from './kernel-result';
import type { FoundKernel } from './kernels';
import { type PlannedLaunch, planLaunches } from './launch-plan';
import { remember } from './remember';
import { isLeftOpen } from './sampling';
import { checkable, KnownRuns, simulateLaunch } from './simulate';
import { withFurtherRounds } from './told-rounds';
import { instanceArguments, type Unit } from './unit';

/** Results of kernels that are kept. */
const CACHE_SIZE = 512;

/** A result that rests on data holds for these data; one that waits for them no longer than that. */
function isOfData({ dataKey }: KernelResult, { name }: FoundKernel, data: Unit['data']): boolean {
  return dataKey === undefined || dataKey === data?.ask(name);
}

/** What the run of `main` has put into memory may count. */
const asksRun = ({ program, plan }: KernelResult['launches'][number]): boolean =>
  dataLoads(program).length > 0 || program.inputs.some((input) => isLeftOpen(input, plan));

/** What is known of a kernel from before, or what its simulation gives; kept under its text, its launches and the settings. */
export function kernelResult(
  unit: Unit,
  kernel: FoundKernel,
  results: Map<string, KernelResult>,
  model: ReturnType<typeof memoryModel>,
): KernelResult {
  const fingerprint = unit.fingerprints.of(kernel.declaration);
  const plans = planLaunches({
    launches: unit.launches.filter((l) => l.kernel.declaration === kernel.declaration),
    sampled: unit.sampled,
    annotation: unit.annotations.get(kernel),
    maxThreads: () => launchBoundsOf(unit.context, kernel, [])?.maxThreads,
    options: unit.request.options,
  });
  const { options } = unit.request;
  const compiled = unit.compiled?.isCurrent(kernel.name, fingerprint) ? unit.compiled : undefined;
  const keyFor = (compilation: string): string =>
    `${kernel.name}#${fingerprint.key}#${compilation}#${options.computeCapability}#${JSON.stringify([...options.assume])}#${plans.map(planKey).join(';')}`;
  const sourceKey = keyFor('');
  const key = compiled ? keyFor(compiled.idOf(kernel.name, fingerprint)) : sourceKey;
  const known = results.get(key);
  if (known && isOfData(known, kernel, unit.data)) {
    results.delete(key);
    const moved = shifted(known, fingerprint, plans);
    results.set(key, kept(moved));
    return again(unit, kernel, moved, plans.length, model);
  }
  const programs = new Map<string, InstancePrograms>();
  const instances = new AlikeInstances();
  let loweringEffort = 0;
  const effort = unit.effort.kernel(plans.length);
  const first = simulating(unit, kernel, effort);
  // The source tier has mostly answered before the compiler: its programs are at hand then.
  const earlier = compiled && results.get(sourceKey);
  const sources = earlier && shifted(earlier, fingerprint, plans).launches;
  const programsOf = (plan: PlannedLaunch, index: number): InstancePrograms | undefined => {
    const templateArguments = instanceArguments(unit, kernel, plan).values;
    const instance = instanceKey(templateArguments);
    const made = programs.get(instance);
    if (made || (programs.size > 0 && unit.effort.isLoweringSpent)) return made;
    const { declaration, scope } = kernel;
    const instanceOf = { declaration, scope, templateArguments };
    const source =
      sources?.find((l) => l.index === index)?.source ??
      instances.machineProgram(lowerKernel(unit.context, instanceOf, unit.effort.lowering()));
    const fresh = instancePrograms(unit, kernel, { compiled, fingerprint, source, templateArguments, plan, model });
    unit.effort.chargeProgram(source);
    loweringEffort += source.effort ?? 0;
    programs.set(instance, fresh);
    return fresh;
  };
  const planned = plans.flatMap((plan, index) => {
    const made = programsOf(plan, index);
    if (!made) return [];
    const simulation = simulateLaunch(made.program, plan, model, first);
    return [{ index, plan, simulation, ...made }];
  });
  noteDropped(unit, kernel, plans.length - planned.length);
  const launches = withFurtherRounds(unit, planned, (program, plan) => simulateLaunch(program, plan, model, first));
  unit.effort.charge(effort.spent);
  const dataKey = launches.some(asksRun) ? unit.data?.keyOf(kernel.name) : undefined;
  const result = {
    fingerprint,
    sourceKey,
    dataKey,
    cost: effort.spent,
    made: loweringEffort,
    tried: new Map(),
    launches,
  };
  if (!unit.request.cancelled?.()) remember(results, key, kept(result), CACHE_SIZE);
  return result;
}

/** A result from before in the present unit: it costs what it did, and its samples can be made. */
function again(
  unit: Unit,
  kernel: FoundKernel,
  known: KernelResult,
  planned: number,
  model: ReturnType<typeof memoryModel>,
): KernelResult {
  const effort = unit.effort.kernel(planned);
  effort.charge(known.cost);
  unit.effort.charge(known.cost);
  unit.effort.chargeProgram({ effort: known.made });
  noteDropped(unit, kernel, planned - known.launches.length);
  const options = simulating(unit, kernel, effort);
  const launches = known.launches.map((l) => ({ ...l, simulation: checkable(l.simulation, l.plan, model, options) }));
  return { ...known, launches };
}

const simulating = (unit: Unit, { declaration }: FoundKernel, effort: KernelEffort) => ({
  assume: unit.request.options.assume,
  parameterNames: declaration.parameters.map((p) => p.name),
  effort,
  runs: new KnownRuns(),
  cancelled: unit.request.cancelled,
  data: unit.data,
});

type InstancePrograms = Pick<KernelResult['launches'][number], 'program' | 'source' | 'reason'>;

/** The program that is simulated for an instance: the compiler's where it has one, else the source tier's. */
function instancePrograms(
  unit: Unit,
  { declaration, name }: FoundKernel,
  { compiled, fingerprint, source, templateArguments, plan, model }: InstanceInputs,
): InstancePrograms {
  const module = compiled?.module;
  if (!compiled || !module) return { program: source, source };
  const found = programFromPtx(module, {
    name,
    templateArguments: templateArguments.map(argumentKey),
    parameterNames: declaration.parameters.map((p) => p.name),
    declaration,
    source,
    view: { lines: compiled.linesOf(name, fingerprint, unit.source.tokens), nameToken: declaration.nameToken },
    isUserFile: (path) => compiled.isOfUnit(path),
    plan,
    model,
    machine: compiled.machine,
  });
  return 'reason' in found ? { program: source, source, reason: found.reason } : { program: found, source };
}

interface InstanceInputs {
  readonly compiled: PreparedCompilation | undefined;
  readonly fingerprint: Fingerprint;
  readonly source: Program;
  readonly templateArguments: readonly TemplateValue[];
  readonly plan: PlannedLaunch;
  readonly model: ReturnType<typeof memoryModel>;
}

/** Instances that the file's budget leaves out are said. */
function noteDropped(unit: Unit, { declaration, name }: FoundKernel, count: number): void {
  if (count === 0) return;
  const place = unit.locate(declaration.nameToken, declaration.nameToken);
  const what = count === 1 ? 'one launch is' : `${count} launches are`;
  unit.notes.push({
    ...place,
    message: `${name}: ${what} left out, the instances before have used up the file's budget`,
  });
}

const planKey = (plan: PlannedLaunch): string =>
  JSON.stringify([
    plan.origin,
    plan.block,
    plan.grid,
    plan.dynamicSharedBytes,
    plan.launch?.key,
    [...plan.named],
    [...plan.symbols.keys()],
    plan.under?.(0)?.key,
    plan.under?.(0)?.grid,
  ]);
