/** A PTX file on its own (a compiler's cache, `nvcc -ptx`): no source, so kernels and findings stand at its own lines. */
import type { AccessCounts } from '../execute/execution';
import { capability } from '../hardware/capabilities';
import { memoryModel } from '../hardware/memory-model';
import type { TokenStream } from '../preprocess/token';
import type { AccessSite, Program, SourcePlace } from '../program/program';
import { assembledProgram } from '../ptx/assemble';
import { demangle } from '../ptx/demangle';
import { lowerPtx } from '../ptx/lower';
import type { PtxFunction, PtxModule } from '../ptx/module';
import { entriesOf, parsePtx } from '../ptx/parse';
import { isUserFile } from '../ptx/places';
import { placedInText } from '../ptx/text-places';
import { accessReports, branchReports } from '../report/assemble';
import { occupancyReport } from '../report/occupancy';
import type { FileReport, Finding, KernelReport, LaunchReport, Location } from '../report/report';
import { findingsOf } from '../rules/findings';
import { effortOf } from './effort';
import { type PlannedLaunch, planLaunches, type Triple } from './launch-plan';
import type { AnalysisRequest } from './request';
import { type Simulation, simulateLaunch } from './simulate';

/**
 * The report of a PTX text. Launch shapes come from the request, `.reqntid` or `.maxntid`; parameters have no names, so
 * `parameter 3` is the third one's. Never throws: what is not understood is in the notes.
 */
export function analyzePtx(request: AnalysisRequest): FileReport {
  const { path, text, options } = request;
  const row = capability(options.computeCapability);
  const lines = new PtxLines(path, text);
  if (!row)
    return reportOf(
      path,
      [],
      [{ ...lines.at(1), message: `compute capability ${options.computeCapability} is not known` }],
    );
  const module = placedInText(parsePtx(text), text, path);
  const entries = entriesOf(module).filter((entry) => isWanted(entry, options.kernel));
  request.onParsed?.();
  const effort = effortOf(entries.length, request.options);
  const model = memoryModel(row);
  const kernels: KernelReport[] = [];
  const findings: Finding[] = [];
  for (const entry of entries) {
    if (request.cancelled?.()) break;
    const program = assembledProgram(lowerPtx(module, entry.name, { isUserFile: (file) => file === path }));
    const plan = planOf(entry, request);
    const kernelEffort = effort.kernel(1);
    const { cancelled } = request;
    const simulated = simulateLaunch(program, plan, model, {
      assume: options.assume,
      parameterNames: [],
      effort: kernelEffort,
      cancelled,
    });
    effort.charge(kernelEffort.spent);
    const simulation = { ...simulated, program: lines.placed(simulated) };
    const report = kernelReport(entry, lines, launchReport(entry, plan, simulation, request, lines), simulation);
    kernels.push(report);
    findings.push(
      ...findingsOf({
        report,
        launches: [{ plan, simulation, program: simulation.program, report: report.launches[0] }],
        later: [],
        capability: row,
        request,
        tokens: noTokens,
        locate: lines.locate,
        tried: new Map(),
        tryText: () => reportOf(path, [], []),
      }),
    );
    request.onKernel?.(report);
  }
  return reportOf(
    path,
    kernels,
    notesOf(module, entries, lines),
    findings.map((each) => withSource(each, lines)),
  );
}

function reportOf(
  path: string,
  kernels: readonly KernelReport[],
  notes: FileReport['notes'],
  diagnostics: readonly Finding[] = [],
): FileReport {
  return { path, kernels, diagnostics, notes };
}

/** By the name in the source, or the mangled one. */
const isWanted = (entry: PtxFunction, wanted: string | undefined): boolean =>
  wanted === undefined || wanted === entry.name || demangle(entry.name)?.name === wanted;

function planOf({ directives }: PtxFunction, { options }: AnalysisRequest): PlannedLaunch {
  const required = directives.get('reqntid');
  const bound = directives.get('maxntid');
  const maxThreads = bound?.reduce((product, each) => product * each, 1);
  const [plan] = planLaunches({ launches: [], annotation: undefined, maxThreads: () => maxThreads, options });
  if (options.block || !required || required.length === 0) return plan;
  const block: Triple = [required[0] ?? 1, required[1] ?? 1, required[2] ?? 1];
  return { ...plan, block, origin: 'launch-bounds', assumptions: [] };
}

function kernelReport(
  entry: PtxFunction,
  lines: PtxLines,
  launch: LaunchReport,
  { program }: Simulation,
): KernelReport {
  const nameRange = lines.at(entry.location?.line ?? 1);
  const last = entry.body?.findLast((item) => item.kind === 'instruction');
  const end = last?.kind === 'instruction' ? lines.lineOf(last.at) : nameRange.line;
  const demangled = demangle(entry.name);
  return {
    name: demangled?.name ?? entry.name,
    line: nameRange.line,
    templateArguments: demangled?.templateArguments ?? [],
    origin: 'ptx',
    nameRange,
    range: { ...nameRange, endLine: Math.max(end, nameRange.line), endColumn: lines.at(end).endColumn },
    launches: [launch],
    skipped: program.skipped.map(({ place, reason }) => ({ ...lines.locate(place.first), reason })),
  };
}

function launchReport(
  entry: PtxFunction,
  plan: PlannedLaunch,
  simulation: Simulation,
  request: AnalysisRequest,
  lines: PtxLines,
): LaunchReport {
  const { program } = simulation;
  const { shape, assumptions, execution } = simulation.reported;
  const demangled = demangle(entry.name);
  return {
    line: 0,
    origin: plan.origin,
    templateArguments: demangled?.templateArguments ?? [],
    grid: shape.grid,
    block: shape.block,
    dynamicSharedBytes: plan.dynamicSharedBytes,
    assumptions,
    occupancy: occupancyReport({
      program,
      plan,
      bounds: undefined,
      options: { ...request.options, compiled: request.compilation?.kernels },
      kernel: demangled?.name ?? entry.name,
      templateArguments: demangled?.templateArguments ?? [],
    }),
    accesses: accessReports(simulation, lines.locate),
    branches: branchReports(simulation, lines.locate),
    warpInstructions: execution.blockExecutions.reduce(
      (sum, n, i) => sum + n * program.blocks[i].instructions.length,
      0,
    ),
    estimate: null,
    incomplete: execution.incomplete,
  };
}

/** A finding with the line of the source that its instruction was made from. */
function withSource(finding: Finding, lines: PtxLines): Finding {
  const source = lines.sourceOf(finding.line);
  return source
    ? { ...finding, related: [...finding.related, { ...source, message: 'made from this line' }] }
    : finding;
}

const MOST_NOTES = 20;

function notesOf(module: PtxModule, entries: readonly PtxFunction[], lines: PtxLines): FileReport['notes'] {
  const problems = module.problems.slice(0, MOST_NOTES).map(({ line, message }) => ({ ...lines.at(line), message }));
  if (entries.length > 0) return problems;
  return [{ ...lines.at(1), message: 'no kernel was found in this PTX' }, ...problems];
}

/** Places are lines here: a "token" is a line of the text. */
class PtxLines {
  private readonly lines: readonly string[];
  private readonly starts: number[] = [];
  /** By line of the PTX. */
  private readonly sources = new Map<number, Location>();

  constructor(
    private readonly path: string,
    text: string,
  ) {
    this.lines = text.split('\n');
    let at = 0;
    for (const line of this.lines) {
      this.starts.push(at);
      at += line.length + 1;
    }
  }

  /** The instruction that stands on a line. */
  at(line: number): Location {
    const text = (this.lines[line - 1] ?? '').replace(/[\s;]+$/, '');
    const column = text.length - text.trimStart().length + 1;
    return { file: this.path, line, column, endLine: line, endColumn: Math.max(column, text.length) + 1 };
  }

  readonly locate = (first: number): Location => this.at(Math.max(1, first));

  lineOf(offset: number): number {
    const next = this.starts.findIndex((start) => start > offset);
    return next < 0 ? this.starts.length : next;
  }

  sourceOf(line: number): Location | undefined {
    return this.sources.get(line);
  }

  /**
   * The program with lines for tokens and instructions for expressions. What was made from one place of the source and does the
   * same to the same object (copies of an unrolled loop) is one access, at the first of its instructions.
   */
  placed({ program, reported }: Simulation): Program {
    const looks = new Map(reported.execution.accesses.map((counts) => [counts.access, lookOf(counts)]));
    const shown = new Map<string, SourcePlace>();
    const site = (each: AccessSite, index: number): AccessSite => {
      const own = this.place(each.place);
      const source = this.sources.get(own.first);
      const key = `${source?.file}:${source?.line}:${source?.column}:${each.operation}:${each.object}:${looks.get(index)}`;
      const at = (source && shown.get(key)) ?? own;
      shown.set(key, at);
      return { ...each, place: at, expression: (this.lines[at.first - 1] ?? '').replace(/;?\s*$/, '').trim() };
    };
    return {
      ...program,
      accesses: program.accesses.map(site),
      objects: program.objects.map((each) => ({ ...each, place: this.place(each.place) })),
      branches: program.branches.map((each) => ({ ...each, place: this.place(each.place) })),
      skipped: program.skipped.map(({ place, reason }) => ({ place: this.place(place), reason })),
    };
  }

  private place(given: SourcePlace): SourcePlace {
    const { location } = given;
    const line = location?.file === this.path ? location.line : 1;
    if (!this.sources.has(line)) {
      const source = sourceOf(given.call, this.path);
      if (source) this.sources.set(line, source);
    }
    return { first: line, last: line };
  }
}

/** The innermost place in a file that is neither the PTX nor of a toolkit, else the innermost. */
function sourceOf(call: SourcePlace | undefined, path: string): Location | undefined {
  const places: Location[] = [];
  for (let at = call; at && places.length < 64; at = at.call) {
    if (!at.location || at.location.file === path) continue;
    const { file, line } = at.location;
    const column = Math.max(1, at.location.column);
    places.push({ file, line, column, endLine: line, endColumn: column });
  }
  return places.find(({ file }) => isUserFile(file)) ?? places[0];
}

const lookOf = ({ bytesPerLane, requests, wavefronts, sectors }: AccessCounts): string => {
  const each = (value: number) => (requests > 0 ? (value / requests).toFixed(2) : '');
  return `${bytesPerLane}:${each(wavefronts)}:${each(sectors)}`;
};

const noTokens: TokenStream = {
  count: 0,
  kind: new Uint8Array(0),
  text: [],
  flags: new Uint8Array(0),
  file: new Int32Array(0),
  start: new Int32Array(0),
  end: new Int32Array(0),
  expansion: new Int32Array(0),
  expansions: [],
  files: [],
};
