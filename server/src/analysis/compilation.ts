/** What a compiler made of a text of the file, and which of it still holds for the present text. */
import type { MachineCode } from '../cubin/machine-access';
import { execute } from '../execute/execute';
import type { MemoryModel } from '../hardware/memory-model';
import type { TokenStream } from '../preprocess/token';
import { addressWindows } from '../program/addresses';
import type { Program } from '../program/program';
import { assembledProgram } from '../ptx/assemble';
import { bindParameters } from '../ptx/bind-parameters';
import { codeText } from '../ptx/code-text';
import { entriesNamed, findEntry } from '../ptx/find-entry';
import { lowerPtx } from '../ptx/lower';
import type { PtxFunction, PtxModule } from '../ptx/module';
import { parsePtx } from '../ptx/parse';
import { placedInSource, type SiteLook, type SourceLines, type SourceView } from '../ptx/place-in-source';
import { TokenLines } from '../ptx/token-lines';
import type { Fingerprint } from './fingerprint';
import type { PlannedLaunch } from './launch-plan';
import type { ParsedUnit } from './parsed-unit';
import type { Compilation, CompiledKernel } from './request';
import { assumedGrid, resolveInputs } from './sampling';

/** Instructions of an entry beyond which its PTX is not read: the source tier's answer is the better one then. */
const MOST_ITEMS = 60_000;

/** A compilation, its PTX parsed once, and the kernels of the text that was compiled. */
export class PreparedCompilation {
  private readonly kernels: ReadonlyMap<string, Fingerprint>;
  private readonly lines: TokenLines;
  private parsed: PtxModule | undefined;
  private readonly ids = new Map<string, string>();

  /**
   * @param unit of the text that was compiled
   * @param before the compilation of the file before
   */
  constructor(
    readonly path: string,
    readonly compilation: Compilation,
    { kernels, fingerprints, source }: ParsedUnit,
    private before?: PreparedCompilation,
  ) {
    // only what it was asked for is followed further back, or all compilations would be kept
    if (before) before.before = undefined;
    const all = kernels.map(({ name, declaration }) => ({ name, fingerprint: fingerprints.of(declaration) }));
    this.kernels = new Map(all.map(({ name, fingerprint }) => [keyOf(name, fingerprint), fingerprint]));
    this.lines = new TokenLines(source.tokens);
  }

  /** Whether a kernel stands as it was compiled, with everything that it reaches. */
  isCurrent(name: string, fingerprint: Fingerprint): boolean {
    return this.kernels.has(keyOf(name, fingerprint));
  }

  /**
   * Equal ids: the compiler made the same of a current kernel. It is mostly so where another kernel was edited between two compilations,
   * and what was found of the earlier one holds.
   */
  idOf(name: string, fingerprint: Fingerprint): string {
    const key = keyOf(name, fingerprint);
    let id = this.ids.get(key);
    if (id === undefined) {
      const { before } = this;
      const isSame = before?.isCurrent(name, fingerprint) && before.codeOf(name, key) === this.codeOf(name, key);
      this.ids.set(key, (id = before && isSame ? before.idOf(name, fingerprint) : this.compilation.id));
    }
    return id;
  }

  /** The code of a kernel of the text that was compiled, in words that hold wherever the kernel stands. */
  private codeOf(name: string, key: string): string | undefined {
    const { module, machine } = this;
    const pieces = this.kernels.get(key)?.pieces ?? [];
    const place = (path: string, line: number): string => {
      const file = this.lines.fileOf(path);
      const range = file === undefined ? undefined : this.lines.lineOf(file, line);
      const piece = range ? pieces.findIndex(({ first, last }) => range.first >= first && range.first <= last) : -1;
      if (!range || piece < 0) return `${path}:${line}`;
      return `${piece}:${range.first - pieces[piece].first}-${range.last - range.first}`;
    };
    const entries = module && entriesNamed(module, name).map(({ entry }) => entry);
    return entries && codeText(module, entries, { place, machine });
  }

  /** What the compiler said of the kernels, each marked when its text has changed since. */
  resources(name: string, fingerprint: Fingerprint): readonly CompiledKernel[] | undefined {
    const { kernels } = this.compilation;
    return this.isCurrent(name, fingerprint) ? kernels : kernels?.map((each) => ({ ...each, isStale: true }));
  }

  get module(): PtxModule | undefined {
    const { ptx } = this.compilation;
    if (ptx !== undefined) this.parsed ??= parsePtx(ptx);
    return this.parsed;
  }

  /** What the assembler made of the PTX, with the text whose lines it names. */
  get machine(): { readonly code: MachineCode; readonly text: string } | undefined {
    const { machine: code, ptx: text } = this.compilation;
    return code !== undefined && text !== undefined ? { code, text } : undefined;
  }

  /** The lines that the PTX of a current kernel names, in the present text, wherever they have moved to. */
  linesOf(name: string, fingerprint: Fingerprint, tokens: TokenStream): SourceLines {
    const before = this.kernels.get(keyOf(name, fingerprint))?.pieces ?? [];
    const isSameText = tokens === this.lines.tokens;
    const moved = (token: number): number | undefined => {
      if (isSameText) return token;
      const piece = before.findIndex(({ first, last }) => token >= first && token <= last);
      return piece < 0 ? undefined : token - before[piece].first + fingerprint.pieces[piece].first;
    };
    return {
      tokens,
      lineOf: (path, line) => {
        const file = this.lines.fileOf(path);
        const range = file === undefined ? undefined : this.lines.lineOf(file, line);
        const first = range && moved(range.first);
        const last = range && moved(range.last);
        return first === undefined ? undefined : { first, last: last ?? first };
      },
    };
  }

  isOfUnit(path: string): boolean {
    return this.lines.fileOf(path) !== undefined;
  }
}

const keyOf = (name: string, { key }: Fingerprint): string => `${name}#${key}`;

/** Which instance of which kernel. */
export interface InstanceRequest {
  readonly name: string;
  readonly templateArguments: readonly string[];
  readonly parameterNames: readonly (string | undefined)[];
  /** The source tier's program of it. */
  readonly source: Program;
  /** Tokens of the kernel's definition. */
  readonly declaration: { readonly first: number; readonly last: number };
  readonly view: Pick<SourceView, 'lines' | 'nameToken'>;
  readonly isUserFile: (path: string) => boolean;
  readonly plan: PlannedLaunch;
  readonly model: MemoryModel;
  readonly machine?: PreparedCompilation['machine'];
}

/** The program of a kernel instance from PTX at the source's places, or why there is none. */
export function programFromPtx(module: PtxModule, request: InstanceRequest): Program | { readonly reason: string } {
  const { name, templateArguments, parameterNames, source, view, isUserFile, machine } = request;
  const entry = findEntry(module, name, templateArguments);
  if (!entry) return { reason: 'the compiler made no code for this instance' };
  if (!isWithin(entry, { ...request, module })) return { reason: 'the PTX of this name is another kernel’s' };
  if (entry.isCut) return { reason: 'its PTX is cut off' };
  if ((entry.body?.length ?? 0) > MOST_ITEMS) return { reason: 'its PTX is too long' };
  const lowered = lowerPtx(module, entry.name, { parameterNames, isUserFile, machine });
  // What PTX says in one instruction (a fragment of a shape that was never measured) the source may say in plain accesses.
  const missed = lowered.skipped.find((each) => each.isAccess) ?? lowered.skipped[0];
  const isLess = missed && (lowered.accesses.length === 0 || (missed.isAccess && source.skipped.length === 0));
  if (isLess) return { reason: missed.reason };
  const bound = assembledProgram(bindParameters(lowered, source));
  const looksOf = (program: Program) => siteLooks(program, request);
  return placedInSource(bound, { ...view, source, looksOf });
}

/** Whether an entry begins in the kernel's definition: of two kernels of one name perhaps only the other was compiled. */
function isWithin(
  { location }: PtxFunction,
  { module, view, declaration }: InstanceRequest & { module: PtxModule },
): boolean {
  const range = location && view.lines.lineOf(module.files.get(location.file) ?? '', location.line);
  return range === undefined || (range.last >= declaration.first && range.first <= declaration.last);
}

/** What each site does in a first few warps: enough to tell `a[i]` from `a[32 * i]`. */
function siteLooks(program: Program, { plan, parameterNames, model }: InstanceRequest): (SiteLook | undefined)[] {
  const { values } = resolveInputs(program, plan, { assume: new Map(), parameterNames, sample: 0 });
  const { block, dynamicSharedBytes } = plan;
  const shape = { grid: plan.grid ?? assumedGrid(block, 0), block, dynamicSharedBytes, inputs: values };
  const looks: (SiteLook | undefined)[] = program.accesses.map(() => undefined);
  for (const counts of execute(program, shape, model, { warpInstructions: 5_000, blocks: 2 }).accesses) {
    const { requests, bytesPerLane, wavefronts, sectors, witness } = counts;
    const address = witness?.addresses.find((each) => !Number.isNaN(each));
    if (requests > 0)
      looks[counts.access] = {
        bytesPerLane,
        requests,
        wavefronts: wavefronts / requests,
        sectors: sectors / requests,
        // Allocations are numbered differently in the two programs; the byte within one is the same.
        offset: address === undefined ? undefined : address % addressWindows.global,
      };
  }
  return looks;
}
