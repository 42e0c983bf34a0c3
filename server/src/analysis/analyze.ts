/** Entry of the analysis: a file's text in, its report out. Never throws; what is not understood is in the report. */
import { capability } from '../hardware/capabilities';
import { deviceProperties } from '../hardware/device-properties';
import { memoryModel } from '../hardware/memory-model';
import { annotationNotes, readAnnotations } from '../launch/annotation';
import { unitOf } from '../launch/host-tokens';
import { lowerKernel } from '../lower/lower-kernel';
import { argumentKey } from '../lower/records';
import type { TemplateValue } from '../lower/types';
import type { FunctionDeclaration, TranslationUnit } from '../parse/ast';
import { LexCache } from '../preprocess/lex-cache';
import type { PreprocessResult } from '../preprocess/token';
import { dataLoads } from '../program/data-loads';
import type { Program } from '../program/program';
import { isPtxFile } from '../ptx/names';
import { locationOf } from '../report/positions';
import type { FileReport, Finding, KernelReport, Location } from '../report/report';
import { findingsOf } from '../rules/findings';
import { suppressed } from '../rules/suppression';
import { AlikeInstances } from './alike-instances';
import { analyzePtx } from './analyze-ptx';
import { launchBoundsOf } from './bounds';
import { PreparedCompilation, programFromPtx } from './compilation';
import { completedLaunches } from './completed-launches';
import { deviceCode } from './device-code';
import { Effort, type KernelEffort } from './effort';
import type { Fingerprint } from './fingerprint';
import { HostDataCache } from './host-data';
import { type KernelResult, kept, shifted } from './kernel-result';
import type { FoundKernel } from './kernels';
import { LaunchCache, roundsOf } from './launch-cache';
import { type PlannedLaunch, planLaunches } from './launch-plan';
import { launchReport } from './launch-report';
import { matchLaunches } from './launches';
import { Linker } from './linker';
import type { ParsedUnit } from './parsed-unit';
import type { AnalysisRequest } from './request';
import { SampledLaunches } from './sampled-launches';
import { checkable, KnownRuns, simulateLaunch } from './simulate';
import { TriedTexts } from './tried-texts';
import { instanceArguments, type Unit } from './unit';
import { UnitCache } from './unit-cache';

/** Keeps results by content between calls: after an edit only what it touches is lowered and executed again. */
export interface Analyzer {
  analyze(request: AnalysisRequest): FileReport;
}

/** What an analyzer keeps between calls. */
interface Memory {
  readonly results: Map<string, KernelResult>;
  readonly units: UnitCache;
  readonly launches: LaunchCache;
  readonly linker: Linker;
  readonly hostData: HostDataCache;
  readonly compilations: Map<string, PreparedCompilation>;
  readonly tried: TriedTexts;
}

const CACHE_SIZE = 512;
const COMPILATIONS = 3;

export function createAnalyzer(): Analyzer {
  const lexCache = new LexCache();
  const memory: Memory = {
    results: new Map(),
    units: new UnitCache(lexCache),
    launches: new LaunchCache(),
    linker: new Linker(lexCache),
    hostData: new HostDataCache(),
    compilations: new Map(),
    tried: new TriedTexts(),
  };
  return {
    analyze(request) {
      return isPtxFile(request.path) ? analyzePtx(request) : analyzeUnit(request, memory);
    },
  };
}

/** One file, without memory of earlier calls. */
export function analyzeFile(request: AnalysisRequest): FileReport {
  return createAnalyzer().analyze(request);
}

function analyzeUnit(request: AnalysisRequest, memory: Memory, withFindings = true): FileReport {
  const row = capability(request.options.computeCapability);
  if (!row) return emptyReport(request.path, `compute capability ${request.options.computeCapability} is not known`);
  const parsed = parsedFrom(request, memory.units, !withFindings);
  const { source, tree, context, kernels, fingerprints } = parsed;
  const named = request.options.kernel ? kernels.filter((k) => k.name === request.options.kernel) : kernels;
  const wanted = parsed.isWhole ? named : named.filter((k) => isIn(source, k, request.path));
  const linked = memory.linker.link(parsed, request);
  const locate = (first: number, last: number) => {
    const { base, tokens } = unitOf(linked, first) ?? { base: 0, tokens: source.tokens };
    return locationOf(tokens, first - base, last - base);
  };
  const device = deviceProperties(request.options.computeCapability, request.options.device);
  const names = kernels.map(({ name }) => name);
  const rounds = roundsOf(request.options.patience);
  const launchesUnder = (values: ReadonlyMap<string, number>, isSample: boolean) => {
    const assume = new Map([...values, ...request.options.assume]);
    const question = { assume, others: linked, device, rounds, isSample, wanted: names };
    return matchLaunches(context, kernels, memory.launches.find(tree, source, fingerprints, question));
  };
  const found = launchesUnder(new Map(), false);
  const annotations = readAnnotations(kernels, source.comments);
  const data =
    request.options.followData === false
      ? undefined
      : memory.hostData.of(tree, source, fingerprints, request.options.defines, {
          patience: request.options.patience,
          mayRun: request.options.followData !== 'ready',
          properties: device,
          device: deviceCode(context, kernels, found),
          kernels: kernels.map((k) => k.declaration),
          isTrial: !withFindings,
        });
  const unit: Unit = {
    request,
    tree,
    source,
    context,
    launches: completedLaunches(found, data, (kernel) => annotations.has(kernel), rounds),
    sampled: new SampledLaunches(found, (values) => launchesUnder(values, true)),
    annotations,
    fingerprints,
    data,
    effort: new Effort(wanted.length, request.options.patience),
    compiled: preparedCompilation(request, memory),
    notes: [],
    isTrial: !withFindings,
    locate,
  };
  const reports: KernelReport[] = [];
  const findings: Finding[] = [];
  const model = memoryModel(row);
  if (withFindings) request.onParsed?.();
  for (const kernel of wanted) {
    if (request.cancelled?.()) break;
    const { report, result } = analyzeSafely(unit, kernel, memory.results, model);
    reports.push(report);
    if (result && withFindings) {
      findings.push(
        ...findingsOf({
          report,
          launches: result.launches.map((l, i) => ({ ...l, report: report.launches[i] })),
          capability: row,
          request,
          tokens: source.tokens,
          locate,
          tried: result.tried,
          tryText: (text) => tryText(request, kernel.name, result, text, memory),
        }),
      );
    }
    if (withFindings) request.onKernel?.(report);
  }
  const notes = [
    ...source.notes.map((n) => ({ ...spanOf(source, n.file, n.start, n.end), message: n.message })),
    ...annotationNotes(
      kernels,
      hostFunctionsOf(tree),
      source.comments.filter((c) => c.keyword === 'warplens'),
      source.tokens.files,
    ).map((n) => ({
      ...spanOf(source, n.file, n.start, n.end),
      message: n.message,
    })),
    ...tree.notes.map((n) => ({ ...locate(n.first, n.last), message: n.message })),
    ...unit.notes,
  ];
  const own = parsed.isWhole ? notes : notes.filter(({ file }) => file === request.path);
  const dataPending = unit.data?.isPending ? true : undefined;
  return {
    path: request.path,
    kernels: reports,
    diagnostics: suppressed(findings, source),
    notes: own,
    dataPending,
  };
}

/** A header is understood from the file that includes it, as long as that one's conditions let it through. */
function parsedFrom(
  request: AnalysisRequest,
  units: UnitCache,
  isTrial: boolean,
): ParsedUnit & { readonly isWhole: boolean } {
  if (request.root) {
    const parsed = units.parse(request, isTrial);
    if (parsed.kernels.some((k) => isIn(parsed.source, k, request.path))) return { ...parsed, isWhole: false };
  }
  return { ...units.parse({ ...request, root: undefined }, isTrial), isWhole: true };
}

function isIn({ tokens }: PreprocessResult, { declaration }: FoundKernel, path: string): boolean {
  return tokens.files[tokens.file[declaration.nameToken]]?.path === path;
}

/** The compilation of the request, remembered: its PTX and the text it was made from are read once. */
function preparedCompilation(
  request: AnalysisRequest,
  { compilations, units }: Memory,
): PreparedCompilation | undefined {
  const { compilation } = request;
  if (!compilation) return undefined;
  const known = compilations.get(compilation.id);
  if (known) {
    compilations.delete(compilation.id);
    compilations.set(compilation.id, known);
    return known;
  }
  const { text, include } = compilation;
  // a compiler has seen a header on its own
  const alone = { ...request, text, include: include ?? request.include, root: undefined };
  const before = [...compilations.values()].findLast(({ path }) => path === request.path);
  const prepared = new PreparedCompilation(request.path, compilation, units.parse(alone), before);
  remember(compilations, compilation.id, prepared, COMPILATIONS);
  return prepared;
}

/**
 * The whole way on another text, for one kernel, without findings: that is how a fix is tried. No compiler has seen it, so what was
 * found before one had answered still holds.
 */
function tryText(
  request: AnalysisRequest,
  kernel: string,
  { sourceKey, dataKey }: KernelResult,
  text: string,
  memory: Memory,
): FileReport {
  return memory.tried.of([request.path, sourceKey, dataKey, text], request.cancelled, () => {
    const trial = { ...request, text, compilation: undefined, options: { ...request.options, kernel } };
    // what mends are compared with is what the source tier has said before
    const results = text === request.text ? new Map(memory.results) : new Map<string, KernelResult>();
    return analyzeUnit(trial, { ...memory, results }, false);
  });
}

/** Functions in which an annotation may give values to variables. */
function hostFunctionsOf(tree: TranslationUnit): { declaration: FunctionDeclaration }[] {
  return tree.declarations.flatMap((d) =>
    d.kind === 'function' && d.body && !d.specifiers.isGlobal ? [{ declaration: d }] : [],
  );
}

function spanOf(source: PreprocessResult, file: number, start: number, end: number): Location {
  const tokens = source.tokens;
  const stream = {
    ...tokens,
    file: Int32Array.of(file),
    start: Int32Array.of(start),
    end: Int32Array.of(end),
    count: 1,
  };
  return locationOf(stream, 0, 0);
}

function emptyReport(path: string, message: string): FileReport {
  return {
    path,
    kernels: [],
    diagnostics: [],
    notes: [{ file: path, line: 1, column: 1, endLine: 1, endColumn: 1, message }],
  };
}

/** A defect of ours in one kernel must not cost the others: it is said, and that is all. */
function analyzeSafely(
  unit: Unit,
  kernel: FoundKernel,
  results: Map<string, KernelResult>,
  model: ReturnType<typeof memoryModel>,
): { report: KernelReport; result?: KernelResult } {
  try {
    return analyzeKernel(unit, kernel, results, model);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return {
      report: {
        ...identityOf(unit, kernel),
        templateArguments: [],
        origin: 'source',
        launches: [],
        skipped: [],
        problem: `the analysis failed (${what}): please report it`,
      },
    };
  }
}

function identityOf(
  unit: Unit,
  { declaration, name }: FoundKernel,
): Pick<KernelReport, 'name' | 'line' | 'nameRange' | 'range'> {
  const nameRange = unit.locate(declaration.nameToken, declaration.nameToken);
  return { name, line: nameRange.line, nameRange, range: unit.locate(declaration.first, declaration.last) };
}

function analyzeKernel(
  unit: Unit,
  kernel: FoundKernel,
  results: Map<string, KernelResult>,
  model: ReturnType<typeof memoryModel>,
): { report: KernelReport; result?: KernelResult } {
  const { declaration } = kernel;
  const base = identityOf(unit, kernel);
  if (declaration.broken) {
    const report: KernelReport = {
      ...base,
      templateArguments: [],
      origin: 'source',
      launches: [],
      skipped: [],
      problem: 'the kernel does not parse at the moment',
    };
    return { report };
  }
  const result = kernelResult(unit, kernel, results, model);
  const resources = unit.compiled?.resources(kernel.name, result.fingerprint);
  const launches = result.launches.map((l) => launchReport(unit, kernel, l, resources));
  const first = result.launches[0];
  return {
    report: {
      ...base,
      templateArguments: first ? instanceArguments(unit, kernel, first.plan).values.map(argumentKey) : [],
      ...originOf(unit, result),
      launches,
      skipped: dedupe(
        result.launches.flatMap((l) =>
          l.program.skipped.map((s) => ({ ...unit.locate(s.place.first, s.place.last), reason: s.reason })),
        ),
      ),
    },
    result,
  };
}

function originOf({ compiled }: Unit, { launches }: KernelResult): Pick<KernelReport, 'origin' | 'originReason'> {
  const isCompiled = launches.length > 0 && launches.every((l) => l.program !== l.source);
  if (isCompiled || !compiled) return { origin: isCompiled ? 'ptx' : 'source' };
  return {
    origin: 'source',
    originReason: launches.find((l) => l.reason)?.reason ?? 'it has changed since it was compiled',
  };
}

function dedupe<T extends Location & { reason: string }>(items: readonly T[]): T[] {
  const seen = new Map(items.map((i) => [`${i.file}:${i.line}:${i.column}:${i.reason}`, i]));
  return [...seen.values()];
}

/** A result that rests on data holds for these data; one that waits for them no longer than that. */
function isOfData({ dataKey }: KernelResult, { name }: FoundKernel, data: Unit['data']): boolean {
  return dataKey === undefined || dataKey === data?.ask(name);
}

function kernelResult(
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
    maxThreads: launchBoundsOf(unit.context, kernel, [])?.maxThreads,
    options: unit.request.options,
  });
  const { options } = unit.request;
  const compiled = unit.compiled?.isCurrent(kernel.name, fingerprint) ? unit.compiled : undefined;
  const keyFor = (compilation: string): string =>
    `${kernel.name}#${fingerprint.key}#${compilation}#${options.computeCapability}#${JSON.stringify([...options.assume])}#${plans.map(planKey).join(';')}`;
  const sourceKey = keyFor('');
  const key = compiled ? keyFor(compiled.idOf(kernel.name, fingerprint)) : sourceKey;
  const simulating = (effort: KernelEffort) => ({
    assume: options.assume,
    parameterNames: kernel.declaration.parameters.map((p) => p.name),
    effort,
    runs: new KnownRuns(),
    cancelled: unit.request.cancelled,
    data: unit.data,
  });
  const known = results.get(key);
  if (known && isOfData(known, kernel, unit.data)) {
    results.delete(key);
    const moved = shifted(known, fingerprint, plans);
    results.set(key, kept(moved));
    const effort = unit.effort.kernel(plans.length);
    effort.charge(known.cost);
    unit.effort.charge(known.cost);
    unit.effort.chargeProgram({ effort: known.made });
    noteDropped(unit, kernel, plans.length - known.launches.length);
    const again = simulating(effort);
    const launches = moved.launches.map((l) => ({ ...l, simulation: checkable(l.simulation, l.plan, model, again) }));
    return { ...moved, launches };
  }
  const programs = new Map<string, InstancePrograms>();
  const instances = new AlikeInstances();
  let loweringEffort = 0;
  const effort = unit.effort.kernel(plans.length);
  const first = simulating(effort);
  // The source tier has mostly answered before the compiler: its programs are at hand then.
  const earlier = compiled && results.get(sourceKey);
  const sources = earlier && shifted(earlier, fingerprint, plans).launches;
  const programsOf = (plan: PlannedLaunch, index: number): InstancePrograms | undefined => {
    const templateArguments = instanceArguments(unit, kernel, plan).values;
    const instance = templateArguments.map(argumentKey).join(',');
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
  const launches = plans.flatMap((plan, index) => {
    const made = programsOf(plan, index);
    if (!made) return [];
    const simulation = simulateLaunch(made.program, plan, model, first);
    return [{ index, plan, simulation, ...made }];
  });
  noteDropped(unit, kernel, plans.length - launches.length);
  unit.effort.charge(effort.spent);
  const dataKey = launches.some((l) => dataLoads(l.program).length > 0) ? unit.data?.keyOf(kernel.name) : undefined;
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

function remember<T>(kept: Map<string, T>, key: string, value: T, most: number): void {
  kept.set(key, value);
  if (kept.size > most) {
    const oldest = kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
  }
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
