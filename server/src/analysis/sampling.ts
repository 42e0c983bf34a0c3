/**
 * Values for what a launch leaves open. Sizes that nobody gives are sampled: a power of two, a multiple of 32 that is none,
 * an odd number. A figure that differs between them is reported with its condition, and no warning rests on one alone.
 */
import type { InputValue } from '../execute/execution';
import type { HostValue } from '../launch/host-value';
import type { Input, Program } from '../program/program';
import { registersRead } from '../program/registers-read';
import type { Assumption, LaunchOrigin } from '../report/report';
import { keysOf } from './keys';
import { type PlannedLaunch, RANDOM_SEED } from './launch-plan';
import type { Launch } from './launches';
import type { RunNumber } from './run-symbols';

export const SAMPLES = [1024, 1056, 1021] as const;

export interface ResolvedInputs {
  readonly values: Map<number, InputValue>;
  /** Inputs that were sampled, with the value of this sample. */
  readonly sampled: ReadonlyMap<number, number>;
  readonly assumptions: readonly Assumption[];
}

export interface ResolveContext {
  readonly assume: ReadonlyMap<string, number>;
  readonly parameterNames: readonly (string | undefined)[];
  /** 0 … SAMPLES.length - 1, LARGE_SAMPLE or BORDER_SAMPLE */
  readonly sample: number;
  /** The launch as it would be under the sample. */
  readonly under?: Launch;
  /** What the run of `main` has put into constant memory. */
  readonly fromRun?: (input: Input) => RunNumber | undefined;
}

/** A power of two with one more at either end: rows with their border may be aligned where rows without are not. */
const WITHIN_BORDER = 1022;

/** Gives every parameter and global of a program a value for one launch and sample. */
export function resolveInputs(program: Program, plan: PlannedLaunch, context: ResolveContext): ResolvedInputs {
  const values = new Map<number, InputValue>();
  const sampled = new Map<number, number>();
  const assumptions: Assumption[] = [];
  const allocations = new Map<string, number>();
  const allocation = (name: string) => {
    let index = allocations.get(name);
    if (index === undefined) allocations.set(name, (index = allocations.size));
    return index;
  };
  program.inputs.forEach((input, index) => {
    const found = hostValueOf(input, plan, context);
    if (!found) return;
    const { value, origin, seed } = found;
    if (seed !== undefined && !assumptions.some(({ name }) => name === RANDOM_SEED))
      assumptions.push({ name: RANDOM_SEED, value: seed, origin: 'assumed' });
    if (value?.kind === 'number' && isSearchedFor(program, input, plan)) {
      values.set(index, { kind: 'unknown', reason: `which blocks come to ${input.name} is not known` });
    } else if (value?.kind === 'number') {
      values.set(index, { kind: 'number', value: value.value });
      assumptions.push({ name: input.name, value: value.value, origin });
    } else if (value?.kind === 'pointer') {
      values.set(index, {
        kind: 'pointer',
        allocation: allocation(value.allocation),
        offset: Number.isFinite(value.offsetBytes) ? value.offsetBytes : 0,
      });
    } else if (isPointerInput(program, input)) {
      values.set(index, { kind: 'pointer', allocation: allocation(`parameter ${input.name}`), offset: 0 });
    } else if (isInteger(program, input) && isNotGiven(input, plan)) {
      values.set(index, { kind: 'unknown', reason: `${input.name} is given no value` });
    } else if (isInteger(program, input) && !keysOf(program).has(input.register)) {
      const sample = computedValue(input, context.under) ?? sampleValue(input.name, context.sample);
      values.set(index, { kind: 'number', value: sample });
      // what nothing reads decides nothing
      if (registersRead(program)[input.register] === 0) return;
      sampled.set(index, sample);
      assumptions.push({ name: input.name, value: sample, origin: 'assumed' });
    } else {
      const reason =
        value?.kind === 'unknown' && !isInteger(program, input) ? value.reason : `${input.name} is not known`;
      values.set(index, { kind: 'unknown', reason });
    }
  });
  return { values, sampled, assumptions };
}

function hostValueOf(
  input: Input,
  plan: PlannedLaunch,
  context: ResolveContext,
): { value: HostValue | undefined; origin: LaunchOrigin; seed?: number } | undefined {
  const { source } = input;
  if (source.kind !== 'parameter' && source.kind !== 'global') return undefined;
  const path = source.path;
  const assumed = context.assume.get(input.name) ?? context.assume.get(path[path.length - 1]);
  const annotated = plan.named.get(input.name) ?? plan.named.get(path[path.length - 1]);
  const site = siteValue(input, plan);
  if (site && site.kind !== 'unknown') return { value: site, origin: 'launch-site' };
  if (annotated !== undefined) return { value: { kind: 'number', value: annotated }, origin: 'annotation' };
  if (assumed !== undefined) return { value: { kind: 'number', value: assumed }, origin: 'setting' };
  const left = isLeftOpen(input, plan) ? context.fromRun?.(input) : undefined;
  if (left) return { value: { kind: 'number', value: left.value }, origin: 'launch-site', seed: left.seed };
  return { value: site, origin: 'assumed' };
}

/** A number in constant memory that the text does not tell. */
export function isLeftOpen(input: Input, plan: Pick<PlannedLaunch, 'arguments' | 'symbols'>): boolean {
  if (input.source.kind !== 'global') return false;
  const site = siteValue(input, plan);
  return site === undefined || site.kind === 'unknown';
}

/** What the launch passes for a parameter, or has set a device global to. */
function siteValue({ source }: Input, launch: Pick<Launch, 'arguments' | 'symbols'>): HostValue | undefined {
  if (source.kind === 'parameter') return follow(launch.arguments[source.parameter], source.path.slice(1));
  return source.kind === 'global' ? follow(launch.symbols.get(source.path[0]), source.path.slice(1)) : undefined;
}

/**
 * An element of a list of which other elements are given: a list is filled as far as the launch reads it (the blocks and tensors of a multi-tensor
 * launch), and what is behind that is no size.
 */
function isNotGiven({ source }: Input, plan: PlannedLaunch): boolean {
  if (source.kind !== 'parameter' || source.path.length < 2 || !/^\d+$/.test(source.path.at(-1) ?? '')) return false;
  const list = follow(plan.arguments[source.parameter], source.path.slice(1, -1));
  return list?.kind === 'array' && list.elements.some((element) => element.kind === 'number');
}

/** The number that the host computes for an input from the sampled sizes; 0 and less is no size. */
function computedValue(input: Input, under: Launch | undefined): number | undefined {
  const value = under && siteValue(input, under);
  return value?.kind === 'number' && Number.isInteger(value.value) && value.value > 0 ? value.value : undefined;
}

function follow(value: HostValue | undefined, path: readonly string[]): HostValue | undefined {
  let at = value;
  for (const part of path) {
    if (at?.kind === 'struct') at = at.fields.get(part);
    else if (at?.kind === 'lambda') at = at.captures.get(part);
    else if (at?.kind === 'array') at = at.elements[Number(part)];
    else return at?.kind === 'unknown' ? at : undefined;
  }
  return at;
}

function isPointerInput(program: Program, input: Input): boolean {
  return program.objects.some((o) => o.register === input.register);
}

function isInteger(program: Program, input: Input): boolean {
  const type = program.registers[input.register].type;
  return (
    type === 'i32' ||
    type === 'u32' ||
    type === 'i64' ||
    type === 'u64' ||
    type === 'i16' ||
    type === 'u16' ||
    type === 'i8' ||
    type === 'u8' ||
    type === 'pred'
  );
}

/** Of grids up to this all blocks are executed, or enough of them. */
const MOST_BLOCKS_SEEN = 256;

/** Of a grid of which a few blocks are executed, none of them will come to what is looked for, be it known or not. */
function isSearchedFor(program: Program, input: Input, { grid }: PlannedLaunch): boolean {
  if (!grid || grid[0] * grid[1] * grid[2] <= MOST_BLOCKS_SEEN || !isInteger(program, input)) return false;
  return keysOf(program).get(input.register)?.isIndex === false;
}

/** The inner size of a product and a number of channels: loops run over them, and they are seldom as large as an image. */
const inner = /^[KC]$/;
const INNER = [64, 96, 31] as const;
/** Where something begins: as often on a boundary as not. */
const places = /^(offset|off|start|begin|base)$/i;
const PLACES = [32, 96, 3] as const;
/** Names that mean something small; everything else is taken for a size. */
const smallLetters = /^(k|r|c|ch|idx?)$/;
const small =
  /^(radius|halo|shift|iter|iters|iterations|steps?|level|stage|dim|dims|channels?|batch|heads?|num_heads|order|pass|bit|mode|flag|index|seed|lda_pad|pad|padding|dilation|type|is_.*|use_.*|has_.*)$/i;

/** The value that a size gets by its name. */
export function sampleValue(name: string, sample: number): number {
  const last = name.split('.').at(-1) ?? name;
  if (inner.test(last)) return INNER[sample] ?? INNER[0];
  if (places.test(last)) return PLACES[sample] ?? PLACES[0];
  if (isSmallName(last)) return [2, 3, 1, 64][sample] ?? 2;
  if (sample === BORDER_SAMPLE) return WITHIN_BORDER;
  return SAMPLES[sample] ?? SAMPLES[0];
}

/** Index of a further sample: the first again, with 64 for what is taken to be small. */
export const LARGE_SAMPLE = 3;
/** Index of another: sizes that are powers of two with a border of one at either end. */
export const BORDER_SAMPLE = 4;

/** Whether a name is taken for something small, of which nobody says that it is. */
export function isSmallName(name: string): boolean {
  const last = name.split('.').at(-1) ?? name;
  return small.test(last) || smallLetters.test(last);
}

/** A grid for a kernel whose launch does not say: enough blocks to cover the sampled size on every axis the block has. */
export function assumedGrid(
  block: readonly [number, number, number],
  sample: number,
): readonly [number, number, number] {
  const size = SAMPLES[sample] ?? SAMPLES[0];
  const blocks = (threads: number) => Math.max(1, Math.ceil(size / threads));
  if (block[1] === 1 && block[2] === 1) return [Math.max(4, blocks(block[0])), 1, 1];
  return [blocks(block[0]), blocks(block[1]), 1];
}
