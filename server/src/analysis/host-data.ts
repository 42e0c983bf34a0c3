/**
 * The data that the host gives its kernels: main is run once for a text of the host, when the first kernel asks for what it loads, and
 * every launch is paired with the time that the run came to it.
 */
import type { GlobalData } from '../execute/execution';
import type { DeviceProperties } from '../hardware/device-properties';
import type { ReadFile } from '../host/opened-files';
import { type HostRound, type HostRun, shapeOf } from '../host/run-host';
import { nameOf } from '../host/run-kernel';
import { runMain } from '../host/run-main';
import { isSameInstance, mayBeInstance } from '../lower/records';
import type { TemplateValue } from '../lower/types';
import type { FunctionDeclaration } from '../parse/ast';
import type { Input, Program } from '../program/program';
import { registersRead } from '../program/registers-read';
import type { Fingerprint, Fingerprints } from './fingerprint';
import { shift } from './launch-cache';
import type { PlannedLaunch } from './launch-plan';
import { byteOfLine, type Launch } from './launches';
import type { ProgramText } from './linked-program';
import { pointersIn } from './round-parts';
import { numberAt, type RunNumber } from './run-symbols';

const SIZE = 2;
const NO_NUMBERS: ReadonlyMap<number, number> = new Map();
const NO_SYMBOLS: HostRun['symbols'] = new Map();
/** Key of a kernel of another unit: its text is in the program's key. */
const LINKED = 'linked';

interface Entry {
  readonly fingerprint: Fingerprint;
  readonly run: HostRun | undefined;
  /** Of the kernels that it rests on: the keys of their code. */
  readonly kernels: ReadonlyMap<FunctionDeclaration, string>;
}

export interface HostDataOptions {
  readonly patience?: number;
  /** false: only what was run before, so that the answer is not kept waiting */
  readonly mayRun?: boolean;
  /** Launches of the unit's kernels, of whose instances those are that the host's program launches. */
  readonly launches: readonly Launch[];
  /** Answers what the program asks its device. */
  readonly properties?: DeviceProperties;
  /** What the program is started with. */
  readonly programArguments?: readonly string[];
  /** Gives what a file holds that the program reads. */
  readonly files?: ReadFile;
  /** Of the unit. */
  readonly kernels: readonly FunctionDeclaration[];
  /** A fix is tried: it changes how kernels come to what they write, not what that is. No kernel is executed for it. */
  readonly isTrial: boolean;
  /** What the run is made in, for those who measure. */
  readonly around?: (run: () => HostRun | undefined) => HostRun | undefined;
  readonly onDefect?: (error: unknown) => void;
  /** True ends a run: what it gave is not kept. */
  readonly cancelled?: () => boolean;
}

/** Runs of the host between edits: while only kernels change that were not executed in them, nothing is run again. */
export class HostDataCache {
  private readonly entries = new Map<string, Entry>();

  /** The data of a unit; nothing is run before something is asked of it. @param path of the unit */
  of(
    path: string | undefined,
    program: ProgramText,
    fingerprints: Fingerprints,
    defines: ReadonlyMap<string, string>,
    options: HostDataOptions,
  ): HostData {
    const { patience = 1, mayRun = true, launches, properties, programArguments, kernels, isTrial } = options;
    const { around = (run) => run(), onDefect, cancelled, files } = options;
    const isRead = ({ run }: Entry) => [...(run?.files ?? [])].every(([name, bytes]) => files?.(name) === bytes);
    const fingerprint = fingerprints.ofHost();
    const text = `${path}#${program.key}#${fingerprint.key}#${JSON.stringify([...defines])}#${patience}#${properties?.row.cc}#${properties?.device?.name}#${programArguments?.join('\n')}`;
    const present = lazily(() => new Set([LINKED, ...kernels.map((k) => fingerprints.of(k).key)]));
    const isCurrent = (key: string) => isTrial || present().has(key);
    return new HostData(text, fingerprint, program, isCurrent, () => {
      const known = this.entries.get(text);
      if (known && (!mayRun || (isRead(known) && [...known.kernels.values()].every(isCurrent)))) return known;
      if (!mayRun || cancelled?.()) return undefined;
      const key = isTrial ? `${text}#trial` : text;
      const tried = isTrial ? this.entries.get(key) : undefined;
      if (tried && isRead(tried)) return tried;
      const run = around(() => {
        const { tree, tokens, device } = program.read(launches);
        const ofKernels = isTrial ? undefined : device;
        return runMain(tree, tokens, {
          patience,
          device: ofKernels,
          properties,
          programArguments,
          files,
          onDefect,
          cancelled,
        });
      });
      if (cancelled?.()) return undefined;
      const keyOf = (k: FunctionDeclaration) => (kernels.includes(k) ? fingerprints.of(k).key : LINKED);
      const consulted = [...(run?.consulted ?? [])].map((k) => [k, keyOf(k)] as const);
      const entry = { fingerprint, run, kernels: new Map(consulted) };
      this.entries.delete(key);
      this.entries.set(key, entry);
      const oldest = this.entries.keys().next().value;
      if (this.entries.size > SIZE && oldest !== undefined) this.entries.delete(oldest);
      return entry;
    });
  }
}

const stamps = new WeakMap<Uint8Array, string>();
let lastStamp = 0;

/** Equal for the same reading of a file only. */
function stampOf(bytes: Uint8Array | undefined): string {
  if (!bytes) return '';
  const stamp = stamps.get(bytes) ?? `file ${++lastStamp}`;
  stamps.set(bytes, stamp);
  return stamp;
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

export class HostData {
  private entry: Entry | undefined;
  private isMissing = false;

  /** @param isCurrent whether the code of a kernel, by its key, is still what it was when the host was run */
  constructor(
    private readonly text: string,
    private readonly now: Fingerprint,
    private readonly program: ProgramText,
    private readonly isCurrent: (key: string) => boolean,
    private readonly run: () => Entry | undefined,
  ) {}

  /** Equal keys: equal data for the launches of a kernel. Nothing is run for it. @param kernel its name */
  keyOf(kernel: string): string {
    if (!this.entry) return `${this.text}#${this.isMissing ? 'pending' : ''}`;
    const keys = new Set<string>([...(this.entry.run?.files.values() ?? [])].map(stampOf));
    for (const round of this.entry.run?.rounds ?? [])
      if (round.launch.kernel === kernel) for (const key of this.keysOf(round)) keys.add(key);
    return [this.text, ...keys].join('#');
  }

  /** The key of what is to be had now. */
  ask(kernel: string): string {
    this.load();
    return this.keyOf(kernel);
  }

  /** Something was asked for that has to be run first. */
  get isPending(): boolean {
    return this.isMissing;
  }

  /** What it has can be had without running anything now. */
  get wasAsked(): boolean {
    return this.entry !== undefined;
  }

  private load(): Entry | undefined {
    this.entry ??= this.run();
    this.isMissing ||= !this.entry || ![...this.entry.kernels.values()].every(this.isCurrent);
    return this.entry;
  }

  /** Keys of the kernels whose results a launch finds; 'pending' for one that has changed since. */
  private keysOf({ after }: HostRound): string[] {
    return [...after].map((kernel) => {
      const key = this.entry?.kernels.get(kernel);
      return key !== undefined && this.isCurrent(key) ? key : 'pending';
    });
  }

  /**
   * Times that the run came to the launch at a place of the text; none that rest on what has to be run first.
   * @param instance of the kernel, as its launch has it; that of a round may be written another way
   */
  roundsAt(first: number, instance: string | undefined): readonly HostRound[] {
    return this.roundsAtAll([first], instance);
  }

  /** The same for several places, one after the other. */
  roundsAtAll(places: readonly number[], instance: string | undefined): readonly HostRound[] {
    return [...new Set(places.flatMap((first) => this.roundsOf(first, instance)))];
  }

  private roundsOf(first: number, instance: string | undefined): readonly HostRound[] {
    const entry = this.load();
    if (!entry?.run) return [];
    const move = shift(entry.fingerprint, this.now);
    const wanted = this.program.numberOf(first);
    const rounds = entry.run.rounds.filter((round) => {
      let at: HostRound['launch']['place'] | undefined = round.launch.place;
      while (at && move(at.first) !== wanted) at = at.call;
      return at !== undefined && !this.keysOf(round).includes('pending');
    });
    const instances = new Set(rounds.map(({ launch }) => launch.instance));
    if (instance === undefined) return rounds;
    const own = rounds.filter(({ launch }) => isSameInstance(launch.instance, instance));
    if (own.length > 0 || instances.size > 1) return own;
    return rounds.filter(({ launch }) => mayBeInstance(launch.instance, instance));
  }

  /** Of the instance of a template that the run launched. */
  templateArgumentsOf({ launch }: HostRound): readonly TemplateValue[] | undefined {
    return this.entry?.run?.instances.get(launch)?.templateArguments;
  }

  /** Whether a time that the run came to a launch is one of those that are planned. @param numbers by input */
  isPlanned(round: HostRound, plan: PlannedLaunch, program: Program, numbers: ReadonlyMap<number, number>): boolean {
    return isPlanned(round, this.symbols, plan, program, numbers);
  }

  private get symbols(): HostRun['symbols'] {
    return this.entry?.run?.symbols ?? NO_SYMBOLS;
  }

  /** How often the run launched the same kernel in the same shape before. */
  ordinalOf(round: HostRound): number {
    const rounds = this.entry?.run?.rounds ?? [];
    const shape = instanceAndShapeOf(round);
    let ordinal = 0;
    for (const other of rounds) {
      if (other === round) break;
      if (instanceAndShapeOf(other) === shape) ordinal++;
    }
    return ordinal;
  }

  /** What memory holds at a launch; undefined where the run did not come to it as it is planned. */
  at(plan: PlannedLaunch, program: Program, numbers: ReadonlyMap<number, number>): GlobalData | undefined {
    const rounds = this.roundsFor(plan);
    const round =
      plan.round === undefined
        ? rounds.find((r) => isPlanned(r, this.symbols, plan, program, numbers, rounds.length === 1))
        : rounds[plan.round];
    const run = this.entry?.run;
    if (!round || !run) return undefined;
    const { contents: blocks, seed, files } = round;
    return { blocks, pointers: pointersOf(round, program), symbols: run.symbols, seed, files };
  }

  /** A number that the program of the host has put into constant memory before a launch; undefined where it is not always the same. */
  numberOf(plan: PlannedLaunch, program: Program, input: Input): RunNumber | undefined {
    const all = this.roundsFor(plan);
    // the planned round is gone where the run waits to be made anew
    const rounds =
      plan.round === undefined
        ? all.filter((r) => isPlanned(r, this.symbols, plan, program, NO_NUMBERS))
        : all.slice(plan.round, plan.round + 1);
    const symbols = this.entry?.run?.symbols;
    return symbols && rounds.length > 0 ? numberAt(rounds, symbols, program, input) : undefined;
  }

  private roundsFor({ place, grid, sites, launch }: PlannedLaunch): readonly HostRound[] {
    if (!place || !grid) return [];
    return this.roundsAtAll(sites?.map((site) => site.first) ?? [place.first], launch?.instance);
  }
}

/** Equal for launches of one instance of a kernel in one shape. */
const instanceAndShapeOf = ({ launch, values }: HostRound): string =>
  `${launch.kernel}<${launch.instance}>${shapeOf(launch, values)}`;

/**
 * Whether a round launches what is planned: the same grid and block, and the same numbers, those in constant memory too, as far as both are known.
 * @param isOnly the run came to the launch this once
 */
function isPlanned(
  round: HostRound,
  symbols: HostRun['symbols'],
  plan: PlannedLaunch,
  program: Program,
  numbers: ReadonlyMap<number, number>,
  isOnly = false,
): boolean {
  const values = valuesByName(round);
  const isShape = round.launch.values.every((value, i) => {
    if (value.kind === 'parameter') return true;
    const wanted = value.kind === 'dynamicSharedBytes' ? plan.dynamicSharedBytes : plan[value.kind]?.[value.axis];
    return round.values[i] === wanted;
  });
  if (!isShape) return false;
  for (const [input, number] of numbers) {
    const { source, register } = program.inputs[input];
    if (source.kind === 'global' && isInteger(program, input)) {
      const left = numberAt([round], symbols, program, program.inputs[input]);
      if (left !== undefined && left.value !== number) return false;
    }
    // what nothing reads may be anything: the member of a record that nobody looks at was only guessed
    if (source.kind !== 'parameter' || registersRead(program)[register] !== 1) continue;
    const given = values.get(nameOf(source.parameter, source.path));
    // what the run does not know is another time's, perhaps
    if (given === undefined ? !isOnly : given !== number) return false;
  }
  return isAligned(round, plan);
}

const isInteger = ({ inputs, registers }: Program, input: number): boolean =>
  /^[iu]/.test(registers[inputs[input].register].type);

/** Whether its pointers lead to the same byte of a line as those that are planned. */
function isAligned(round: HostRound, { launch }: PlannedLaunch): boolean {
  return pointersIn(round).every(({ part, offset }) => {
    const planned = launch?.arguments[Number(part)];
    return planned?.kind !== 'pointer' || byteOfLine(planned.offsetBytes) === byteOfLine(offset);
  });
}

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
