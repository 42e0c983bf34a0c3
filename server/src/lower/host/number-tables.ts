/**
 * Large tables of numbers at namespace scope (`int primes[1000] = {2, 3, …};`, the matrices of a generator): what they hold when the program begins
 * is data, and no instructions. A program's budget would not do for them, which are a hundred times what else it does.
 */
import { hasWriter } from '../../host/number-tables';
import type { Expression, InitListExpression, VariableInitializer } from '../../parse/ast';
import { isFloat, type MemoryObject } from '../../program/program';
import { scalarOf, type Type } from '../types';

/** Below that instructions do it: they cost little, and what is stored is known where it is loaded. */
const FEWEST = 256;
const MOST = 2 ** 20;

type Table = MemoryObject['begins'];

/** A program is lowered several times, of the same declarations with the same types. */
const known = new WeakMap<VariableInitializer, Table>();

/** The numbers of a table, zeros behind those that stand in its list; undefined where one of them is to be computed. */
export function numberTable(type: Type, initializer: VariableInitializer | undefined): Table {
  const count = countOf(type);
  if (!initializer || count < FEWEST || count > MOST) return undefined;
  if (!known.has(initializer)) known.set(initializer, tableOf(type, count, initializer));
  return known.get(initializer);
}

function tableOf(type: Type, count: number, initializer: VariableInitializer): Table {
  const list = initializer.form === 'braces' ? initializer.list : listIn(initializer);
  const element = elementOf(type);
  const scalar = element.kind === 'scalar' && scalarOf(element);
  if (!list || !scalar || !hasWriter(scalar)) return undefined;
  const values = new Array<number>(count).fill(0);
  return fill(values, 0, type, list, !isFloat(scalar)) ? { type: scalar, values } : undefined;
}

const listIn = (init: VariableInitializer): InitListExpression | undefined =>
  init.form === 'assign' && init.value.kind === 'initList' ? init.value : undefined;

const elementOf = (type: Type): Type => (type.kind === 'array' ? elementOf(type.of) : type);

const countOf = (type: Type): number => (type.kind === 'array' ? (type.count ?? 0) * countOf(type.of) : 1);

/** Each row of a table of several dimensions in braces of its own. */
function fill(values: number[], at: number, type: Type, { elements }: InitListExpression, isWhole: boolean): boolean {
  if (type.kind !== 'array' || elements.length > (type.count ?? 0)) return false;
  const step = countOf(type.of);
  return elements.every(({ designator, value }, i) => {
    if (designator !== undefined) return false;
    if (type.of.kind === 'array')
      return value.kind === 'initList' && fill(values, at + i * step, type.of, value, isWhole);
    const number = numberOf(value);
    if (number === undefined || (isWhole && !Number.isInteger(number))) return false;
    values[at + i] = number;
    return true;
  });
}

/** Of a literal; undefined where a double does not hold it. */
function numberOf(expression: Expression): number | undefined {
  if (expression.kind === 'unary' && expression.operator === '-') {
    const { operand } = expression;
    // of an unsigned number the negative is another
    const isSigned = operand.kind === 'float' || (operand.kind === 'integer' && !operand.type.startsWith('unsigned'));
    const number = isSigned ? numberOf(operand) : undefined;
    return number === undefined ? undefined : -number;
  }
  if (expression.kind === 'float') return expression.value;
  if (expression.kind !== 'integer') return undefined;
  const number = Number(expression.value);
  return Number.isSafeInteger(number) ? number : undefined;
}
