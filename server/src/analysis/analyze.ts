/** Entry of the analysis: a file's text in, its report out. Never throws; what is not understood is in the report. */
import { capability } from '../hardware/capabilities';
import { memoryModel } from '../hardware/memory-model';
import { type Annotation, annotationNotes, readAnnotations } from '../launch/annotation';
import type { UnitContext } from '../lower/context';
import { createUnitContext, lowerKernel } from '../lower/lower-kernel';
import { argumentKey } from '../lower/records';
import type { TemplateValue } from '../lower/types';
import { machineProgram } from '../machine/machine';
import type { FunctionDeclaration, TranslationUnit } from '../parse/ast';
import { parse } from '../parse/parse';
import { LexCache } from '../preprocess/lex-cache';
import { predefinedMacros } from '../preprocess/predefined';
import { preprocess } from '../preprocess/preprocess';
import type { PreprocessResult } from '../preprocess/token';
import type { Program } from '../program/program';
import { accessReports, branchReports } from '../report/assemble';
import { occupancyReport } from '../report/occupancy';
import { locationOf } from '../report/positions';
import type { FileReport, Finding, KernelReport, LaunchReport, Location } from '../report/report';
import { findingsOf } from '../rules/findings';
import type { TriedPadding } from '../rules/rule';
import { suppressed } from '../rules/suppression';
import { launchBoundsOf, maxRegistersOf } from './bounds';
import { Effort } from './effort';
import { type Fingerprint, Fingerprints } from './fingerprint';
import { type FoundKernel, findKernels, oncePerPlace } from './kernels';
import { LaunchCache } from './launch-cache';
import { type PlannedLaunch, planLaunches } from './launch-plan';
import { type Launch, matchLaunches } from './launches';
import type { AnalysisRequest } from './request';
import { type Simulation, simulateLaunch } from './simulate';
import { argumentsWithoutLaunch, type InstanceArguments } from './template-arguments';

/** Keeps results by content between calls: after an edit only what it touches is lowered and executed again. */
export interface Analyzer {
  analyze(request: AnalysisRequest): FileReport;
}

/** Everything known of one kernel, with token positions of the unit it was made from. */
interface KernelResult {
  readonly fingerprint: Fingerprint;
  /** Warp instructions executed for it. */
  readonly cost: number;
  /** Paddings tried for this text, so that they are not tried again at every key press elsewhere. */
  readonly tried: Map<string, TriedPadding | undefined>;
  readonly launches: readonly {
    /** Of the plan it was made from. */
    readonly index: number;
    readonly plan: PlannedLaunch;
    readonly simulation: Simulation;
    readonly program: Program;
  }[];
}

/** What an analyzer keeps between calls. */
interface Memory {
  readonly results: Map<string, KernelResult>;
  readonly lexCache: LexCache;
  readonly launches: LaunchCache;
}

const CACHE_SIZE = 512;

export function createAnalyzer(): Analyzer {
  const memory: Memory = { results: new Map(), lexCache: new LexCache(), launches: new LaunchCache() };
  return {
    analyze(request) {
      return analyzeUnit(request, memory);
    },
  };
}

/** One file, without memory of earlier calls. */
export function analyzeFile(request: AnalysisRequest): FileReport {
  return createAnalyzer().analyze(request);
}

interface Unit {
  readonly request: AnalysisRequest;
  readonly tree: TranslationUnit;
  readonly source: PreprocessResult;
  readonly context: UnitContext;
  readonly launches: readonly Launch[];
  readonly annotations: ReadonlyMap<FoundKernel, Annotation>;
  readonly fingerprints: Fingerprints;
  readonly effort: Effort;
  readonly notes: FileReport['notes'][number][];
  readonly locate: (first: number, last: number) => Location;
}

function analyzeUnit(request: AnalysisRequest, memory: Memory, withFindings = true): FileReport {
  const row = capability(request.options.computeCapability);
  if (!row) return emptyReport(request.path, `compute capability ${request.options.computeCapability} is not known`);
  const defines = new Map([...predefinedMacros(request.options.computeCapability), ...request.options.defines]);
  const source = preprocess({
    path: request.path,
    text: request.text,
    defines,
    include: request.include,
    lexCache: memory.lexCache,
  });
  const tree = parse(source.tokens, source.pragmas);
  const context = createUnitContext(tree, source.tokens);
  const kernels = oncePerPlace(findKernels(tree, context.scope), source.tokens);
  const wanted = request.options.kernel ? kernels.filter((k) => k.name === request.options.kernel) : kernels;
  const locate = (first: number, last: number) => locationOf(source.tokens, first, last);
  const fingerprints = new Fingerprints(tree, source.tokens);
  const found = memory.launches.find(tree, source, fingerprints, request.options.assume);
  const unit: Unit = {
    request,
    tree,
    source,
    context,
    launches: matchLaunches(context, kernels, found),
    annotations: readAnnotations(kernels, source.comments),
    fingerprints,
    effort: new Effort(wanted.length),
    notes: [],
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
          tryText: (text) => tryText(request, kernel.name, text, memory),
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
  return { path: request.path, kernels: reports, diagnostics: suppressed(findings, source), notes };
}

/** The whole way on another text, for one kernel, without findings: that is how a fix is tried. */
function tryText(request: AnalysisRequest, kernel: string, text: string, memory: Memory): FileReport {
  return analyzeUnit(
    { ...request, text, options: { ...request.options, kernel } },
    { ...memory, results: new Map() },
    false,
  );
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
      launches: [],
      skipped: [],
      problem: 'the kernel does not parse at the moment',
    };
    return { report };
  }
  const result = kernelResult(unit, kernel, results, model);
  const launches = result.launches.map((l) => launchReport(unit, kernel, l));
  const first = result.launches[0];
  return {
    report: {
      ...base,
      templateArguments: first ? instanceArguments(unit, kernel, first.plan).values.map(argumentKey) : [],
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

function dedupe<T extends Location & { reason: string }>(items: readonly T[]): T[] {
  const seen = new Map(items.map((i) => [`${i.file}:${i.line}:${i.column}:${i.reason}`, i]));
  return [...seen.values()];
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
    annotation: unit.annotations.get(kernel),
    maxThreads: launchBoundsOf(unit.context, kernel, [])?.maxThreads,
    options: unit.request.options,
  });
  const { options } = unit.request;
  const key = `${kernel.name}#${fingerprint.key}#${options.computeCapability}#${JSON.stringify([...options.assume])}#${plans.map(planKey).join(';')}`;
  const known = results.get(key);
  if (known) {
    results.delete(key);
    const moved = shifted(known, fingerprint, plans);
    results.set(key, moved);
    unit.effort.kernel(plans.length);
    unit.effort.charge(known.cost);
    for (const program of new Set(known.launches.map((l) => l.program))) unit.effort.chargeProgram(program);
    noteDropped(unit, kernel, plans.length - known.launches.length);
    return moved;
  }
  const programs = new Map<string, Program>();
  const effort = unit.effort.kernel(plans.length);
  const programOf = (templateArguments: readonly TemplateValue[]): Program | undefined => {
    const instance = templateArguments.map(argumentKey).join(',');
    const made = programs.get(instance);
    if (made || (programs.size > 0 && unit.effort.isLoweringSpent)) return made;
    const { declaration, scope } = kernel;
    const lowered = lowerKernel(unit.context, { declaration, scope, templateArguments }, unit.effort.lowering());
    const program = machineProgram(lowered);
    unit.effort.chargeProgram(program);
    programs.set(instance, program);
    return program;
  };
  const launches = plans.flatMap((plan, index) => {
    const program = programOf(instanceArguments(unit, kernel, plan).values);
    if (!program) return [];
    const simulation = simulateLaunch(program, plan, model, {
      assume: options.assume,
      parameterNames: kernel.declaration.parameters.map((p) => p.name),
      effort,
      cancelled: unit.request.cancelled,
    });
    return [{ index, plan, program, simulation }];
  });
  noteDropped(unit, kernel, plans.length - launches.length);
  unit.effort.charge(effort.spent);
  const result: KernelResult = { fingerprint, cost: effort.spent, tried: new Map(), launches };
  if (!unit.request.cancelled?.()) remember(results, key, result);
  return result;
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

/** The launch's arguments; for a template that nobody launches those of an annotation, an instantiation, or assumed ones. */
function instanceArguments(unit: Unit, kernel: FoundKernel, plan: PlannedLaunch): InstanceArguments {
  if (plan.launch) return { values: plan.launch.templateArguments, assumed: [] };
  return argumentsWithoutLaunch(unit.context, unit.tree, kernel, unit.annotations.get(kernel));
}

function remember(results: Map<string, KernelResult>, key: string, result: KernelResult): void {
  results.set(key, result);
  if (results.size > CACHE_SIZE) {
    const oldest = results.keys().next().value;
    if (oldest !== undefined) results.delete(oldest);
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
  ]);

/** The same result with the positions of the present text. */
function shifted(result: KernelResult, now: Fingerprint, plans: readonly PlannedLaunch[]): KernelResult {
  const before = result.fingerprint.pieces;
  const delta = now.pieces.map((p, i) => p.first - (before[i]?.first ?? p.first));
  const move = (token: number): number => {
    for (let i = 0; i < before.length; i++)
      if (token >= before[i].first && token <= before[i].last) return token + delta[i];
    return token;
  };
  if (delta.every((d) => d === 0))
    return {
      ...result,
      fingerprint: now,
      launches: result.launches.map((l) => ({ ...l, plan: plans[l.index] ?? l.plan })),
    };
  const programs = new Map<Program, Program>();
  const moved = (program: Program): Program => {
    let known = programs.get(program);
    if (!known) programs.set(program, (known = moveProgram(program, move)));
    return known;
  };
  return {
    ...result,
    fingerprint: now,
    launches: result.launches.map((l) => ({
      index: l.index,
      plan: plans[l.index] ?? l.plan,
      program: moved(l.program),
      simulation: { ...l.simulation, program: moved(l.simulation.program) },
    })),
  };
}

function moveProgram(program: Program, move: (token: number) => number): Program {
  type Place = Program['accesses'][number]['place'];
  const place = (p: Place): Place => ({ first: move(p.first), last: move(p.last), call: p.call && place(p.call) });
  return {
    ...program,
    accesses: program.accesses.map((a) => ({ ...a, place: place(a.place) })),
    branches: program.branches.map((b) => ({ ...b, place: place(b.place) })),
    objects: program.objects.map((o) => ({ ...o, place: place(o.place) })),
    skipped: program.skipped.map((s) => ({ ...s, place: place(s.place) })),
  };
}

function launchReport(
  unit: Unit,
  kernel: FoundKernel,
  { plan, simulation, program }: KernelResult['launches'][number],
): LaunchReport {
  const location = plan.place && unit.locate(plan.place.first, plan.place.last);
  const sample = simulation.samples[0];
  const { values, assumed } = instanceArguments(unit, kernel, plan);
  const bounds = launchBoundsOf(unit.context, kernel, values);
  const boundsPlace = kernel.declaration.specifiers.launchBoundsPlace;
  return {
    line: location?.line ?? 0,
    location,
    origin: plan.origin,
    grid: sample.shape.grid,
    block: sample.shape.block,
    dynamicSharedBytes: plan.dynamicSharedBytes,
    assumptions: sample.assumptions,
    occupancy: occupancyReport({
      program,
      plan,
      bounds,
      maxRegisters: maxRegistersOf(unit.context, kernel, values),
      options: unit.request.options,
      kernel: kernel.name,
      templateArguments: values.map(argumentKey),
    }),
    launchBounds: bounds && { ...bounds, location: boundsPlace && unit.locate(boundsPlace.first, boundsPlace.last) },
    accesses: accessReports(simulation, unit.locate),
    branches: branchReports(simulation, unit.locate),
    warpInstructions: sample.execution.blockExecutions.reduce(
      (sum, n, i) => sum + n * program.blocks[i].instructions.length,
      0,
    ),
    estimate: null,
    incomplete: sample.execution.incomplete,
    assumedTemplateArguments: assumed,
  };
}
