/**
 * The data that the host gives its kernels: main is run once for a text of the host, when the first kernel asks for what it loads, and
 * every launch is paired with the time that the run came to it.
 */
import type { GlobalData } from '../execute/execution';
import type { HostRound, HostRun } from '../host/run-host';
import { runMain } from '../host/run-main';
import type { TranslationUnit } from '../parse/ast';
import type { PreprocessResult } from '../preprocess/token';
import type { Program } from '../program/program';
import { sliceForCounters } from '../program/slice';
import type { Fingerprint, Fingerprints } from './fingerprint';
import { shift } from './launch-cache';
import type { PlannedLaunch } from './launch-plan';

const SIZE = 2;

interface Entry {
  readonly fingerprint: Fingerprint;
  readonly run: HostRun | undefined;
}

/** Runs of the host between edits: while only kernels change, nothing is run again. */
export class HostDataCache {
  private readonly entries = new Map<string, Entry>();

  /**
   * The data of a unit; nothing is run before something is asked of it.
   * @param mayRun false: only what was run before, so that the answer is not kept waiting
   */
  of(
    tree: TranslationUnit,
    source: PreprocessResult,
    fingerprints: Fingerprints,
    defines: ReadonlyMap<string, string>,
    { patience = 1, mayRun = true }: { patience?: number; mayRun?: boolean },
  ): HostData {
    const fingerprint = fingerprints.ofHost();
    const key = `${source.tokens.files[0]?.path}#${fingerprint.key}#${JSON.stringify([...defines])}#${patience}`;
    return new HostData(key, fingerprint, () => {
      const known = this.entries.get(key);
      if (known || !mayRun) return known;
      const entry = { fingerprint, run: runMain(tree, source.tokens, patience) };
      this.entries.set(key, entry);
      const oldest = this.entries.keys().next().value;
      if (this.entries.size > SIZE && oldest !== undefined) this.entries.delete(oldest);
      return entry;
    });
  }
}

export class HostData {
  private entry: Entry | undefined;
  private isMissing = false;

  constructor(
    private readonly text: string,
    private readonly now: Fingerprint,
    private readonly run: () => Entry | undefined,
  ) {}

  /** Equal keys: equal data. */
  get key(): string {
    return this.isPending ? `${this.text}#pending` : this.text;
  }

  /** The key of what is to be had now. */
  ask(): string {
    this.entry ??= this.run();
    this.isMissing ||= this.entry === undefined;
    return this.key;
  }

  /** Something was asked for that has to be run first. */
  get isPending(): boolean {
    return this.isMissing;
  }

  /** What memory holds at a launch; undefined where the run did not come to it as it is planned. */
  at(plan: PlannedLaunch, program: Program, numbers: ReadonlyMap<number, number>): GlobalData | undefined {
    const { place } = plan;
    if (!place || !plan.grid) return undefined;
    this.entry ??= this.run();
    if (!this.entry) {
      this.isMissing = true;
      return undefined;
    }
    const { run, fingerprint } = this.entry;
    if (!run) return undefined;
    const move = shift(fingerprint, this.now);
    const round = run.rounds.find((r) => {
      let at: HostRound['launch']['place'] | undefined = r.launch.place;
      while (at && move(at.first) !== place.first) at = at.call;
      return at !== undefined && isPlanned(r, plan, program, numbers);
    });
    if (!round) return undefined;
    return { blocks: round.contents, pointers: pointersOf(round, program), symbols: run.symbols };
  }
}

/** Whether a round launches what is planned: the same grid and block, and the same numbers as far as both are known. */
function isPlanned(
  round: HostRound,
  plan: PlannedLaunch,
  program: Program,
  numbers: ReadonlyMap<number, number>,
): boolean {
  const values = valuesByName(round);
  const isShape = round.launch.values.every((value, i) => {
    if (value.kind === 'parameter') return true;
    const wanted = value.kind === 'dynamicSharedBytes' ? plan.dynamicSharedBytes : plan[value.kind]?.[value.axis];
    return round.values[i] === wanted;
  });
  if (!isShape) return false;
  for (const [input, number] of numbers) {
    const { source } = program.inputs[input];
    if (source.kind !== 'parameter') continue;
    const given = values.get(nameOf(source.parameter, source.path));
    if (given === undefined || given !== number) return false;
  }
  return true;
}

const nameOf = (parameter: number, path: readonly string[]): string => `${parameter}.${path.slice(1).join('.')}`;

function valuesByName(round: HostRound): Map<string, number> {
  const values = new Map<string, number>();
  round.launch.values.forEach((value, i) => {
    const given = round.values[i];
    if (value.kind === 'parameter' && given !== undefined) values.set(nameOf(value.parameter, value.path), given);
  });
  return values;
}

function pointersOf(round: HostRound, program: Program): Map<number, number> {
  const values = valuesByName(round);
  const pointers = new Map<number, number>();
  program.inputs.forEach(({ source, register }, input) => {
    if (source.kind !== 'parameter' || !program.objects.some((o) => o.register === register)) return;
    const address = values.get(nameOf(source.parameter, source.path));
    if (address !== undefined && address !== 0) pointers.set(input, address);
  });
  return pointers;
}

const wanting = new WeakMap<Program, readonly number[]>();

/**
 * Accesses that load from global (or constant) memory what addresses, conditions or what follows from them rest on; tables whose contents
 * the source gives are none.
 */
export function dataLoads(program: Program): readonly number[] {
  let loads = wanting.get(program);
  if (!loads) {
    const { needed, kept } = sliceForCounters(program);
    const found = new Set<number>();
    for (const i of kept.flat()) {
      if (i.op !== 'load' || !i.dst.some((r) => needed[r] === 1)) continue;
      const { space, object } = program.accesses[i.access];
      const isTable = object !== undefined && program.objects[object]?.contents !== undefined;
      if ((space === 'global' || space === 'generic' || space === 'constant') && !isTable) found.add(i.access);
    }
    wanting.set(program, (loads = [...found]));
  }
  return loads;
}
