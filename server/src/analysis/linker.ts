/**
 * Translation units of the workspace that make one program with a unit: they call what it defines (a kernel's launch, or the arguments
 * of the wrapper around it, may stand in another file), or define what the program calls. They are parsed for their host code only.
 */
import type { OtherUnit } from '../launch/find-launches';
import type { HostTokens } from '../launch/host-tokens';
import { definedFor, missingDeviceCode, missingFunctions } from '../launch/missing-functions';
import { mayUse, outsideNames } from '../launch/outside-names';
import { type HostIndex, indexUnit } from '../launch/scope';
import { hasMain, type WantedFunction } from '../launch/wanted-functions';
import type { Declaration, TranslationUnit } from '../parse/ast';
import { parse } from '../parse/parse';
import { renumber } from '../parse/renumber';
import type { LexCache } from '../preprocess/lex-cache';
import { predefinedMacros } from '../preprocess/predefined';
import { preprocess } from '../preprocess/preprocess';
import type { Pragma, TokenStream } from '../preprocess/token';
import { withOwnNames } from './internal-names';
import type { ParsedUnit } from './parsed-unit';
import type { AnalysisRequest, OtherFile } from './request';

/** A unit linked with the one under analysis. */
export interface LinkedUnit extends OtherUnit {
  /** Equal ids: the same text, parsed the same way. */
  readonly id: string;
  readonly pragmas: readonly Pragma[];
  /** Of all its declarations, headers' too. */
  readonly index: HostIndex;
}

interface Kept extends LinkedUnit {
  readonly file: OtherFile;
  readonly slot: number;
  readonly words: ReadonlySet<string>;
}

type Missing = ReadonlyMap<string, WantedFunction>;

/** Token numbers of the linked units: above any unit's own (which has 2 million at most), below the library's. */
const FIRST_BASE = 2 ** 24;
const SLOT = 2 ** 21;
/** Units kept between calls. */
const KEPT = 128;
/** Units that use a unit, and how many are looked at for each step of the way to a main. */
const MOST_USERS = 8;
const MOST_TRIED = 12;
/** Folders that what defines a missing function may be away: repositories hold many programs. */
const FARTHEST = 2;
/** Units that one program is linked from: so many whatever their size, and more of them as long as all have no more tokens, with their headers. */
const FEW_LINKED = 12;
const MOST_LINKED = 96;
const MOST_TOKENS = 2 ** 20;

export class Linker {
  private readonly kept = new Map<string, Kept>();
  private version = 0;

  constructor(private readonly lexCache: LexCache) {}

  /**
   * The units that use what nobody in the unit itself uses, their users, and so on until a main is reached; then those that define what
   * this program calls.
   */
  link(unit: ParsedUnit, request: AnalysisRequest): readonly LinkedUnit[] {
    if (unit.kernels.length === 0) return [];
    const linked = ofOneProgram(unit, this.allUsers(unit, request));
    this.addDefiners(unit, linked, request, missingFunctions);
    return this.withoutClashes(unit, linked).sort(byBase);
  }

  /** The units that define what kernels call and their unit only declares, in the order in which they were found. */
  linkDevice(unit: ParsedUnit, request: AnalysisRequest): readonly LinkedUnit[] {
    if (unit.kernels.length === 0 || !request.definers) return [];
    const kernels = unit.kernels.map(({ declaration }) => declaration);
    const linked: Kept[] = [];
    this.addDefiners(unit, linked, request, (index) => missingDeviceCode(index, kernels), true);
    return this.withoutClashes(unit, linked);
  }

  /** What these units leave open in turn, too. */
  private addDefiners(
    unit: ParsedUnit,
    linked: Kept[],
    request: AnalysisRequest,
    missingOf: (index: HostIndex) => Missing,
    isOfDevice = false,
  ): void {
    const find = () => this.definers(unit, linked, request, missingOf(indexOf(unit, linked)), isOfDevice);
    for (let found = find(); found.length > 0; found = find()) linked.push(...found);
  }

  /**
   * The nearest users; where these lead to no main, those farther away with them that do: of a library some layers stand beside the kernels and
   * serve nobody here, while tests and benchmarks use the kernels themselves.
   */
  private allUsers(unit: ParsedUnit, request: AnalysisRequest): Kept[] {
    const own = new Set(unit.source.tokens.files.map(({ path }) => path));
    const near = this.usersUpToMain(unit, request, own);
    if (near.length === 0 || near.some(({ index }) => hasMain(index))) return near;
    const far = this.usersUpToMain(unit, request, own);
    return far.some(({ index }) => hasMain(index)) ? [...near, ...far] : near;
  }

  /** @param own files that are not asked for; those found are among them from then on */
  private usersUpToMain(unit: ParsedUnit, request: AnalysisRequest, own: Set<string>): Kept[] {
    const linked: Kept[] = [];
    // each step finds one at least: programs in layers have a file for each between a kernel and main
    while (linked.length < MOST_USERS) {
      const found = this.users(unit, linked, request, own);
      if (found.length === 0) break;
      linked.push(...found);
      for (const { file } of found) own.add(file.path);
      if (found.some(({ index }) => hasMain(index))) break;
    }
    return linked;
  }

  /** Of the files that mention one of the open names the nearest that may use it. */
  private users(
    unit: ParsedUnit,
    linked: readonly Kept[],
    { others, options }: AnalysisRequest,
    own: ReadonlySet<string>,
  ): Kept[] {
    const units: HostTokens = [{ base: 0, tokens: unit.source.tokens }, ...[...linked].sort(byBase)];
    const names = outsideNames(indexOf(unit, linked), units);
    const found: Kept[] = [];
    if (names.size === 0 || !others) return found;
    const headers = new Set(units.flatMap(({ tokens }) => pathsOf(tokens).slice(1)));
    let distance: number | undefined;
    let tried = 0;
    for (const file of others([...names.keys()], own)) {
      if (distance !== undefined && file.distance > distance) break;
      if (++tried > MOST_TRIED || linked.length + found.length >= MOST_USERS) break;
      const parsed = this.parsed(file, options.computeCapability);
      if (!mayUse(parsed.index, names, parsed.words, (each) => headers.has(pathOf(parsed, each)))) continue;
      distance = file.distance;
      found.push(parsed);
    }
    return found;
  }

  /**
   * Of the files that define something that the program calls and does not define, the nearest; of several the one in the unit's own
   * language (programs that were ported stand beside what they were made from), and where that leaves two, neither.
   */
  private definers(
    unit: ParsedUnit,
    linked: readonly Kept[],
    { definers, options }: AnalysisRequest,
    missing: Missing,
    isOfDevice: boolean,
  ): Kept[] {
    if (missing.size === 0 || !definers || isFull(linked)) return [];
    const present = new Set([unit.source.tokens, ...linked.map(({ tokens }) => tokens)].flatMap(pathsOf));
    const nearest = new Map<string, Kept[]>();
    const tried: Kept[] = [];
    for (const file of definers([...missing.keys()], present)) {
      if (file.distance > FARTHEST || isFull(tried)) break;
      const parsed = this.parsed(file, options.computeCapability);
      tried.push(parsed);
      if (hasMain(parsed.index)) continue;
      for (const name of definedFor(parsed.index, missing, isOfDevice)) {
        const known = nearest.get(name);
        if (!known) nearest.set(name, [parsed]);
        else if (known[0].file.distance === file.distance) known.push(parsed);
      }
    }
    const found = [...nearest.values()].flatMap((candidates) => {
      const alike = candidates.filter(({ file }) => isAlike(file.path, unit));
      return candidates.length === 1 ? candidates : alike.length === 1 ? alike : [];
    });
    return upToFull(linked, new Set(found));
  }

  /** Each without what an earlier one has too, and with names of its own for what another means otherwise. */
  private withoutClashes(unit: ParsedUnit, linked: readonly Kept[]): LinkedUnit[] {
    const parts: LinkedUnit[] = [];
    const own = { base: 0, tokens: unit.source.tokens, declarations: unit.tree.declarations };
    for (const each of linked) {
      const part = withoutRepeats(each, own.tokens, parts);
      const tokens = withOwnNames(part, [own, ...parts], each.declarations);
      parts.push(tokens ? withoutRepeats(this.renamed(each, tokens), own.tokens, parts) : part);
    }
    return parts;
  }

  private renamed(unit: Kept, tokens: TokenStream): LinkedUnit {
    const { declarations } = parse(tokens, unit.pragmas);
    renumber(declarations, unit.base);
    return { ...unit, tokens, declarations };
  }

  private parsed(file: OtherFile, computeCapability: string): Kept {
    const key = `${computeCapability}#${file.path}`;
    const known = this.kept.get(key);
    if (known) this.kept.delete(key);
    const fresh = known && isCurrent(known, file) ? known : this.parse(file, computeCapability);
    this.kept.set(key, fresh);
    return fresh;
  }

  private parse(file: OtherFile, computeCapability: string): Kept {
    const slot = this.freeSlot();
    const base = FIRST_BASE + slot * SLOT;
    const macros = new Map([...predefinedMacros(computeCapability), ...file.defines]);
    if (!/\.cuh?$/i.test(file.path)) for (const name of ['__CUDACC__', '__NVCC__']) macros.delete(name);
    const { path, text, include } = file;
    const { tokens, pragmas } = preprocess({ path, text, defines: macros, include, lexCache: this.lexCache });
    const { declarations } = parse(tokens, pragmas);
    renumber(declarations, base);
    const id = `${path}#${++this.version}`;
    const index = indexUnit(declarations);
    return { id, file, slot, base, tokens, pragmas, declarations, words: new Set(tokens.text), index };
  }

  /** A range of numbers that no unit kept has; the unit asked for longest ago makes room. */
  private freeSlot(): number {
    const used = new Set([...this.kept.values()].map(({ slot }) => slot));
    if (used.size >= KEPT) {
      const [oldest] = this.kept.entries();
      this.kept.delete(oldest[0]);
      return oldest[1].slot;
    }
    let slot = 0;
    while (used.has(slot)) slot++;
    return slot;
  }
}

const pathOf = ({ tokens, base }: Kept, { first }: Declaration): string =>
  tokens.files[tokens.file[first - base]]?.path ?? '';

function isFull(linked: readonly Kept[]): boolean {
  if (linked.length < FEW_LINKED) return false;
  const count = linked.reduce((sum, { tokens }) => sum + tokens.count, 0);
  return linked.length >= MOST_LINKED || count > MOST_TOKENS;
}

function upToFull(linked: readonly Kept[], more: Iterable<Kept>): Kept[] {
  const all = [...linked];
  for (const each of more) if (!isFull(all)) all.push(each);
  return all.slice(linked.length);
}

const pathsOf = ({ files }: TokenStream): string[] => files.map(({ path }) => path);

const indexes = new WeakMap<TranslationUnit, HostIndex>();

/** Asked for several times an analysis. */
export function indexOfUnit({ tree }: ParsedUnit): HostIndex {
  let index = indexes.get(tree);
  if (!index) indexes.set(tree, (index = indexUnit(tree.declarations)));
  return index;
}

const indexOf = (unit: ParsedUnit, linked: readonly Kept[]): HostIndex =>
  linked.length === 0
    ? indexOfUnit(unit)
    : indexUnit([unit.tree.declarations, ...linked.map(({ declarations }) => declarations)].flat());

/** Neither the file nor a header of it has changed. */
const isCurrent = ({ tokens }: Kept, file: OtherFile): boolean =>
  tokens.files.every(({ path, text }) => (path === file.path ? file.text : file.read(path)) === text);

/** Where two files have a main, and one of them is in the unit's own language, without the other. */
function ofOneProgram(unit: ParsedUnit, linked: Kept[]): Kept[] {
  const mains = linked.filter(({ index }) => hasMain(index));
  const alike = mains.filter(({ file }) => isAlike(file.path, unit));
  return alike.length === 0 ? linked : linked.filter((each) => !mains.includes(each) || alike.includes(each));
}

const extensionOf = (path: string): string => /\.\w+$/.exec(path)?.[0] ?? '';

/** Whether a file has the extension of the unit's own. */
const isAlike = (path: string, { source }: ParsedUnit): boolean =>
  extensionOf(path) === extensionOf(source.tokens.files[0]?.path ?? '');

const byBase = (a: OtherUnit, b: OtherUnit): number => a.base - b.base;

/** Without declarations of headers that the unit, or one linked before, has too. */
function withoutRepeats(unit: LinkedUnit, own: TokenStream, earlier: readonly LinkedUnit[]): LinkedUnit {
  const known = new Set([own, ...earlier.map(({ tokens }) => tokens)].flatMap(pathsOf));
  const isRepeat = ({ first }: Declaration): boolean =>
    known.has(unit.tokens.files[unit.tokens.file[first - unit.base]]?.path);
  return { ...unit, declarations: unit.declarations.filter((declaration) => !isRepeat(declaration)) };
}
