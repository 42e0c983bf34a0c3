/**
 * A program from PTX knows lines; the source tier's program of the same kernel knows tokens, expressions and arrays. Each access
 * of the one gets the place of the access of the other that it is, so that carets, expressions and fixes stay.
 */

import { lineAndColumn } from '../preprocess/positions';
import type { TokenStream } from '../preprocess/token';
import type { AccessSite, BranchSite, MemoryObject, Program, SourcePlace } from '../program/program';
import type { TokenRange } from './token-lines';

/** What a site does when it runs, a request: tells two accesses of one line apart. */
export interface SiteLook {
  readonly bytesPerLane: number;
  readonly requests: number;
  readonly wavefronts: number;
  readonly sectors: number;
  /** Byte within its allocation that the first lane of one warp touches. */
  readonly offset?: number;
}

/** Lines of the text that was compiled, as tokens of the present one. */
export interface SourceLines {
  readonly tokens: TokenStream;
  /** Undefined for a file that is not of the unit, and a line without tokens. */
  readonly lineOf: (file: string, line: number) => TokenRange | undefined;
}

export interface SourceView {
  readonly lines: SourceLines;
  /** The source tier's program of the same kernel instance. */
  readonly source: Program;
  /** Token for what has no place of its own: the kernel's name. */
  readonly nameToken: number;
  /** By access index. Asked for only when a line has several accesses that may be meant. */
  readonly looksOf: (program: Program) => readonly (SiteLook | undefined)[];
}

/** The program with the source's places, expressions and objects. An access that the source tier lacks stands at its whole line. */
export function placedInSource(compiled: Program, view: SourceView): Program {
  const accessesAsWritten = compiled.accesses.map((site) => ({ ...site, place: writtenPlace(site.place, view) }));
  const program = { ...compiled, accesses: accessesAsWritten };
  const matched = new SiteMatcher(program, view).all();
  const objects = program.objects.map((object, index) =>
    withSourceObject(object, sourceObjectOf(program, view.source, matched, index), view),
  );
  const byName = new Map(objects.map((object, index) => [`${object.space} ${object.name}`, index]));
  const accesses = program.accesses.map((site, index): AccessSite => {
    const found = matched[index];
    const machine = site.machine?.map((each) => ({ ...each, place: machinePlace(each.place, view) }));
    if (!found) {
      const place = tokenPlace(site.place, view);
      return { ...site, place, expression: textOf(place, view), machine };
    }
    const own = found.object === undefined ? undefined : view.source.objects[found.object];
    const object = site.object ?? (own && byName.get(`${own.space} ${own.name}`));
    return { ...site, place: found.place, expression: found.expression, object, machine };
  });
  return {
    ...program,
    accesses,
    objects,
    branches: program.branches.map((branch) => placedBranch(branch, view)),
    skipped: program.skipped.map(({ place, reason }) => ({ place: tokenPlace(place, view), reason })),
  };
}

const recordKeywords = new Set(['struct', 'class', 'union']);

/**
 * A record that copies itself does so on the line of its name, where no access is written: the place of such a copy is where it is asked
 * for (H200: quantize_awq_gemm.cu:186, whose record stands in line 31).
 */
function writtenPlace(place: SourcePlace, view: SourceView): SourcePlace {
  const range = place.call && rangeOf(place, view);
  if (!range || !place.call) return place;
  const words = view.lines.tokens.text.slice(range.first, range.last + 1);
  const isWritten = view.source.accesses.some((a) => a.place.first >= range.first && a.place.first <= range.last);
  return !isWritten && words.some((word) => recordKeywords.has(word)) ? place.call : place;
}

interface Candidate {
  readonly site: AccessSite;
  readonly index: number;
  readonly line: number;
  readonly endLine: number;
}

interface Looks {
  readonly ptx: readonly (SiteLook | undefined)[];
  readonly source: readonly (SiteLook | undefined)[];
}

class SiteMatcher {
  /** Of the source tier's program, by file. */
  private readonly candidates = new Map<number, Candidate[]>();
  private known: Looks | undefined;
  /** How often a choice between equals was made. */
  private readonly turns = new Map<string, number>();

  constructor(
    private readonly program: Program,
    private readonly view: SourceView,
  ) {
    const { tokens } = view.lines;
    view.source.accesses.forEach((site, index) => {
      const { first, last } = site.place;
      if (first < 0 || first >= tokens.count) return;
      const file = tokens.file[first];
      const line = lineOfToken(tokens, first);
      const end = tokens.file[last] === file ? lineOfToken(tokens, last) : line;
      const list = this.candidates.get(file) ?? [];
      this.candidates.set(file, list);
      list.push({ site, index, line, endLine: Math.max(line, end) });
    });
  }

  /** By access of the PTX: the source tier's access that it is. */
  all(): (AccessSite | undefined)[] {
    const { program } = this;
    const matched = program.accesses.map((site, index) => this.match(site, index));
    const taken = new Set(matched);
    return matched.map((found, index) => found ?? this.moved(program.accesses[index], index, taken));
  }

  /**
   * An access that the compiler has moved to a line without one (`.loc 1 0` in front of a branch stands for both arms): the only
   * one that is missed elsewhere and does the same to the same array.
   */
  private moved(site: AccessSite, index: number, taken: ReadonlySet<AccessSite | undefined>): AccessSite | undefined {
    const missed = [...this.candidates.values()]
      .flat()
      .filter(
        (each) =>
          !taken.has(each.site) &&
          each.site.operation === site.operation &&
          isSameSpace(each.site.space, site.space) &&
          (site.object === undefined || this.isSameObject(each.site, site)),
      );
    if (missed.length === 0) return undefined;
    const { ptx, source } = this.looks();
    const mine = ptx[index];
    const fitting = missed.filter(({ index: at }) => {
      const its = source[at];
      return mine && its && distance(mine, its) < 0.1 && mine.requests === its.requests;
    });
    return oncePerPlace(fitting).length === 1 ? fitting[0].site : undefined;
  }

  /** The source tier's access on the line of an access of the PTX. */
  private match(site: AccessSite, index: number): AccessSite | undefined {
    const range = rangeOf(site.place, this.view);
    if (!range) return undefined;
    const { tokens } = this.view.lines;
    const line = lineOfToken(tokens, range.first);
    const here = (this.candidates.get(tokens.file[range.first]) ?? []).filter(
      (each) =>
        each.line <= line &&
        line <= each.endLine &&
        each.site.operation === site.operation &&
        isSameSpace(each.site.space, site.space),
    );
    if (here.length === 0) return undefined;
    const exact = preferred(here, (each) => each.line === line);
    const named = preferred(exact, (each) => this.isSameObject(each.site, site));
    const calls = preferred(named, (each) => this.callLine(each.site.place.call) === this.callLine(site.place.call));
    return oncePerPlace(calls).length === 1 ? calls[0].site : this.byLook(calls, index).site;
  }

  private isSameObject(source: AccessSite, ptx: AccessSite): boolean {
    if (source.object === undefined || ptx.object === undefined) return false;
    return this.view.source.objects[source.object].name === this.program.objects[ptx.object].name;
  }

  /** Line of the call, -1 for none. */
  private callLine(call: SourcePlace | undefined): number {
    const first = call?.location ? rangeOf(call, this.view)?.first : call?.first;
    return first === undefined ? -1 : lineOfToken(this.view.lines.tokens, first);
  }

  private looks(): Looks {
    const { program, view } = this;
    this.known ??= { ptx: view.looksOf(program), source: view.looksOf(view.source) };
    return this.known;
  }

  /** The candidate that moves what this access moves; among equals each in its turn. */
  private byLook(candidates: readonly Candidate[], index: number): Candidate {
    const { ptx, source } = this.looks();
    const distances = candidates.map((each) => distance(ptx[index], source[each.index]));
    const least = Math.min(...distances);
    const equal = candidates.filter((_, i) => distances[i] < least + 0.01);
    const key = equal.map((each) => each.index).join();
    const turn = this.turns.get(key) ?? 0;
    this.turns.set(key, turn + 1);
    return equal[turn % equal.length];
  }
}

/** Those that pass, or all when none does. */
function preferred(list: readonly Candidate[], passes: (each: Candidate) => boolean): readonly Candidate[] {
  const passing = list.filter(passes);
  return passing.length > 0 ? passing : list;
}

function oncePerPlace(list: readonly Candidate[]): readonly Candidate[] {
  return list.filter(
    ({ site }, i) =>
      list.findIndex((o) => o.site.place.first === site.place.first && o.site.place.last === site.place.last) === i,
  );
}

const isSameSpace = (a: string, b: string): boolean => a === b || a === 'generic' || b === 'generic';

/** Of sites that did not run the distance is that of the unlike. */
function distance(a: SiteLook | undefined, b: SiteLook | undefined): number {
  if (!a || !b) return a === b ? 0 : 10;
  const step = (x: number, y: number) => Math.abs(Math.log2((x + 1e-6) / (y + 1e-6)));
  // A copy of an unrolled loop makes a part of the requests only: their number says little.
  return (
    step(a.bytesPerLane, b.bytesPerLane) +
    2 * step(a.wavefronts, b.wavefronts) +
    2 * step(a.sectors, b.sectors) +
    0.1 * step(a.requests, b.requests) +
    (a.offset === b.offset ? 0 : 0.05)
  );
}

/** The object of the source's program: of the same name, else of the accesses that were matched. */
function sourceObjectOf(
  program: Program,
  source: Program,
  matched: readonly (AccessSite | undefined)[],
  index: number,
): MemoryObject | undefined {
  const object = program.objects[index];
  const named = source.objects.find((each) => each.name === object.name && each.space === object.space);
  if (named) return named;
  for (let i = 0; i < matched.length; i++) {
    const found = matched[i]?.object;
    if (program.accesses[i].object === index && found !== undefined && source.objects[found].space === object.space)
      return source.objects[found];
  }
  return undefined;
}

/** Size, alignment and address stay the compiler's. */
function withSourceObject(object: MemoryObject, own: MemoryObject | undefined, view: SourceView): MemoryObject {
  if (!own) return { ...object, place: tokenPlace(object.place, view) };
  const { name, dimensions, elementBytes, elementType, place } = own;
  return { ...object, name, dimensions, elementBytes, elementType, place };
}

function placedBranch(branch: BranchSite, view: SourceView): BranchSite {
  const place = tokenPlace(branch.place, view);
  const own = view.source.branches.find(
    (each) => each.kind === branch.kind && each.place.first >= place.first && each.place.first <= place.last,
  );
  return own ? { ...branch, place: own.place } : { ...branch, place };
}

/** Tokens for a place that has lines only. */
function tokenPlace(place: SourcePlace, view: SourceView, depth = 0): SourcePlace {
  const call = place.call && depth < 32 ? tokenPlace(place.call, view, depth + 1) : undefined;
  if (!place.location) return place.first >= 0 ? place : atName(view);
  const range = rangeOf(place, view);
  if (range) return { ...range, call };
  return call ?? atName(view);
}

/** Tokens of a line that machine code is charged to; undefined for a line without any. */
function machinePlace(place: SourcePlace | undefined, view: SourceView): SourcePlace | undefined {
  return place && rangeOf(place, view);
}

const rangeOf = ({ location }: SourcePlace, { lines }: SourceView): TokenRange | undefined =>
  location && lines.lineOf(location.file, location.line);

const lineOfToken = (tokens: TokenStream, token: number): number =>
  lineAndColumn(tokens.files[tokens.file[token]], tokens.start[token]).line;

const atName = ({ nameToken }: SourceView): SourcePlace => ({ first: nameToken, last: nameToken });

function textOf({ first, last }: SourcePlace, { lines: { tokens } }: SourceView): string {
  const { text } = tokens.files[tokens.file[first]];
  return text.slice(tokens.start[first], Math.max(tokens.end[first], tokens.end[last])).replace(/\s+/g, ' ');
}
