/** Entry of the analysis: a file's text in, its report out. Never throws; what is not understood is in the report. */
import { capability } from '../hardware/capabilities';
import { deviceProperties } from '../hardware/device-properties';
import { memoryModel } from '../hardware/memory-model';
import { annotationNotes, readAnnotations } from '../launch/annotation';
import { unitOf } from '../launch/host-tokens';
import { argumentKey } from '../lower/records';
import type { FunctionDeclaration, TranslationUnit } from '../parse/ast';
import { LexCache } from '../preprocess/lex-cache';
import type { PreprocessResult } from '../preprocess/token';
import { isPtxFile } from '../ptx/names';
import { locationOf } from '../report/positions';
import type { FileReport, Finding, KernelReport, Location } from '../report/report';
import { findingsOf } from '../rules/findings';
import { suppressed } from '../rules/suppression';
import { analyzePtx } from './analyze-ptx';
import { PreparedCompilation } from './compilation';
import { completedLaunches } from './completed-launches';
import { effortOf } from './effort';
import { HostDataCache } from './host-data';
import type { KernelResult } from './kernel-result';
import type { FoundKernel } from './kernels';
import { LaunchCache, roundsOf } from './launch-cache';
import { launchReport } from './launch-report';
import { matchLaunches } from './launches';
import { programOf, withDeviceCode } from './linked-program';
import { Linker } from './linker';
import type { ParsedUnit } from './parsed-unit';
import { remember } from './remember';
import type { AnalysisRequest } from './request';
import { withRunInstances } from './run-instances';
import { SampledLaunches } from './sampled-launches';
import { kernelResult } from './simulate-kernel';
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
  const parsed = parsedFrom(request, memory, !withFindings);
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
    const { programArguments } = request.options;
    const question = { assume, others: linked, device, programArguments, rounds, isSample, wanted: names };
    return matchLaunches(context, kernels, memory.launches.find(tree, source, fingerprints, question));
  };
  const found = launchesUnder(new Map(), false);
  const forFile = <T>(work: () => T): T => fileWork(request, work);
  const annotations = readAnnotations(kernels, source.comments);
  const data =
    request.options.followData === false
      ? undefined
      : memory.hostData.of(
          source.tokens.files[0]?.path,
          programOf(parsed, linked),
          fingerprints,
          request.options.defines,
          {
            patience: request.options.patience,
            mayRun: request.options.followData !== 'ready',
            properties: device,
            programArguments: request.options.programArguments,
            launches: found,
            kernels: kernels.map((k) => k.declaration),
            isTrial: !withFindings,
            around: forFile,
            onDefect: request.onDefect,
            cancelled: request.cancelled,
            files: request.dataFile,
          },
        );
  const unit: Unit = {
    request,
    tree,
    source,
    context,
    launches: completedLaunches(withRunInstances(found, data), data, (kernel) => annotations.has(kernel), rounds),
    sampled: new SampledLaunches(found, (values) => forFile(() => launchesUnder(values, true))),
    annotations,
    fingerprints,
    data,
    effort: effortOf(wanted.length, request.options),
    compiled: preparedCompilation(request, memory),
    notes: [],
    isTrial: !withFindings,
    locate,
  };
  const reports: KernelReport[] = [];
  const findings: Finding[] = [];
  const model = memoryModel(row);
  const told = (notes: FileReport['notes']): FileReport => ({
    path: request.path,
    kernels: [...reports],
    diagnostics: suppressed(findings, source),
    notes,
    dataPending: unit.data?.isPending ? true : undefined,
  });
  if (withFindings) request.onParsed?.();
  for (const [index, kernel] of wanted.entries()) {
    if (request.cancelled?.()) {
      unit.notes.push(leftOut(unit, wanted.slice(index)));
      break;
    }
    const { report, result } = analyzeSafely(unit, kernel, memory.results, model);
    reports.push(report);
    if (result && withFindings) {
      const launches = result.launches.map((l, i) => ({ ...l, report: report.launches[i] }));
      findings.push(
        ...findingsOf({
          report,
          // what only some data make of a launch is told, and no finding, but where nothing else comes
          launches: launches.filter(({ change }) => !change),
          later: launches.filter(({ change }) => change),
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
    if (withFindings && index + 1 < wanted.length) request.onPart?.(() => told([]));
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
  return told(parsed.isWhole ? notes : notes.filter(({ file }) => file === request.path));
}

/** Work that the first kernel to ask for it does for all of the file. */
function fileWork<T>({ onFileWork }: AnalysisRequest, work: () => T): T {
  onFileWork?.(true);
  const made = work();
  onFileWork?.(false);
  return made;
}

/** A header is understood from the file that includes it, as long as that one's conditions let it through. */
function parsedFrom(
  request: AnalysisRequest,
  { units, linker }: Memory,
  isTrial: boolean,
): ParsedUnit & { readonly isWhole: boolean } {
  const read = (asked: AnalysisRequest) => {
    const unit = units.parse(asked, isTrial);
    return withDeviceCode(unit, linker.linkDevice(unit, asked));
  };
  if (request.root) {
    const parsed = read(request);
    if (parsed.kernels.some((k) => isIn(parsed.source, k, request.path))) return { ...parsed, isWhole: false };
  }
  return { ...read({ ...request, root: undefined }), isWhole: true };
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
  // a compiler has seen a header on its own, and a file without those that are linked to it: kernels that call these keep the source's answer
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

/** Time was up: no kernel is missing without a word. */
function leftOut({ locate }: Unit, kernels: readonly FoundKernel[]): FileReport['notes'][number] {
  const { first, last } = kernels[0].declaration.name;
  const names = [...new Set(kernels.map(({ name }) => name))].join(', ');
  return { ...locate(first, last), message: `there was no time left to look at ${names}` };
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
      ...startOf(unit, result),
      skipped: dedupe(
        result.launches.flatMap((l) =>
          l.program.skipped.map((s) => ({ ...unit.locate(s.place.first, s.place.last), reason: s.reason })),
        ),
      ),
    },
    result,
  };
}

/** Told where the program has arguments and the text launches the kernel. */
function startOf({ request }: Unit, { launches }: KernelResult): Pick<KernelReport, 'startedWith'> {
  const { programArguments: given = [], programArgumentsFile: file } = request.options;
  if (given.length === 0 || launches.every(({ plan }) => plan.origin !== 'launch-site')) return {};
  return { startedWith: { arguments: given, file } };
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
