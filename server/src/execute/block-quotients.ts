/**
 * Rows of blocks in which places come again: `y = i / width % height` of a flat index. Where a condition rests on such a quotient, blocks
 * differ with the period of its divisor (the first and last rows of every plane, say), which samples spread over the row may all miss.
 */
import { definitionsOf } from '../program/definitions';
import { readsOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { asLaunched, type BlockOrder } from './block-numbers';
import type { LaunchShape } from './execution';
import { LaunchValues } from './launch-values';

type Quotient = Instruction & { readonly op: 'binary' };

const known = new WeakMap<Program, readonly Quotient[]>();

/** Divisions of integers that some branch rests on. */
function decidingQuotients(program: Program): readonly Quotient[] {
  let found = known.get(program);
  if (!found) known.set(program, (found = findDeciding(program)));
  return found;
}

function findDeciding(program: Program): Quotient[] {
  const definitions = definitionsOf(program);
  const seen = new Set<Register>();
  const pending: Register[] = [];
  const ask = (register: Register) => {
    if (seen.has(register)) return;
    seen.add(register);
    pending.push(register);
  };
  for (const { terminator } of program.blocks) if (terminator.kind === 'branch') ask(terminator.condition);
  const found: Quotient[] = [];
  for (let register = pending.pop(); register !== undefined; register = pending.pop()) {
    for (let entry = definitions.last(register); entry >= 0; entry = definitions.before(entry)) {
      const i = definitions.at(entry);
      if (i.op === 'load' || i.op === 'atomic') continue;
      if (i.op === 'binary' && isQuotient(i)) found.push(i);
      for (const read of readsOf(i)) ask(read);
    }
  }
  return found;
}

const isQuotient = ({ fn, type }: Quotient): boolean =>
  (fn === 'div' || fn === 'rem' || fn === 'shr' || fn === 'and') && type !== 'f32' && type !== 'f64' && type !== 'pred';

/** Longer periods cost more blocks than are executed of a row. */
const LONGEST_PERIOD = 128;

/** In which turns the blocks of a grid that is one row do the same again. */
export class TurnsOfRow {
  /** 1 where no condition rests on a quotient; undefined where the turns are not known. */
  private readonly period: number | undefined;

  /** @param order the shape in which the grid is looked at */
  constructor(program: Program, launch: LaunchShape, order = asLaunched(launch)) {
    const [, height, depth] = order.grid;
    this.period = height * depth === 1 ? quotientPeriod(program, launch, order) : 1;
  }

  /** A period of another cause together with this one, unless that is too long. */
  with(other: number): number {
    const both = leastCommonMultiple(other, this.period ?? 1);
    return both <= LONGEST_PERIOD ? both : other;
  }

  /** Whether blocks may differ that are one such period apart. */
  areLeftOutBy(other: number): boolean {
    return this.period === undefined || other % this.period !== 0;
  }
}

/**
 * Blocks of a row along x after which all quotients that conditions rest on come again; 1 where there is none, undefined where a
 * divisor or a step is not known.
 */
function quotientPeriod(program: Program, launch: LaunchShape, order: BlockOrder): number | undefined {
  const values = new LaunchValues(program, launch);
  let period = 1;
  for (const quotient of decidingQuotients(program)) {
    const own = periodOf(quotient, values, order);
    if (own === undefined) return undefined;
    period = leastCommonMultiple(period, own);
  }
  return period;
}

const origin = [0, 0, 0];

function periodOf(quotient: Quotient, values: LaunchValues, { grid, at }: BlockOrder): number | undefined {
  const first = values.at(quotient.a, origin, origin);
  const second = values.at(quotient.a, at([1, 0, 0]), origin);
  const last = values.at(quotient.a, at([grid[0] - 1, 0, 0]), origin);
  if (first === undefined || second === undefined || last === undefined) return 1;
  const step = Math.abs(second - first);
  if (step === 0 && last === first) return 1;
  const by = values.at(quotient.b, origin, origin);
  const divisor = by === undefined ? undefined : divisorOf(quotient.fn, by);
  return divisor === undefined ? undefined : divisor / gcd(divisor, step);
}

/** What a quotient or remainder divides by; a mask of low bits and a shift divide by powers of two. */
function divisorOf(fn: Quotient['fn'], by: number): number | undefined {
  const divisor = fn === 'shr' ? 2 ** by : fn === 'and' ? by + 1 : Math.abs(by);
  const isPower = 2 ** Math.round(Math.log2(divisor)) === divisor;
  return divisor > 0 && Number.isSafeInteger(divisor) && (fn !== 'and' || isPower) ? divisor : undefined;
}

const leastCommonMultiple = (a: number, b: number): number => (a / gcd(a, b)) * b;

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
