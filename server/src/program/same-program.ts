/**
 * Whether two programs are the same, places and names included. Instances of a template often are, where they differ in a type of
 * a size or in an argument that decides nothing: what was found of one holds for the other.
 */
import type { Program } from './program';

export function isSameProgram(a: Program, b: Program): boolean {
  if (a.registers.length !== b.registers.length || a.accesses.length !== b.accesses.length) return false;
  const calls: Calls = new Map();
  const { blocks, ...rest } = a;
  const { blocks: otherBlocks, ...otherRest } = b;
  // what programs differ in first
  return isEqual(blocks, otherBlocks, calls) && isEqual(rest, otherRest, calls);
}

/** Chains of calls that registers and places share, with those of the other program that they are equal to. */
type Calls = Map<unknown, unknown>;

/** Of plain data: numbers, texts, lists and records. */
function isEqual(a: unknown, b: unknown, calls: Calls): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isEqual(a[i], b[i], calls)) return false;
    return true;
  }
  return Object.getPrototypeOf(a) === Object.prototype && isEqualRecord(a, b, calls);
}

function isEqualRecord(a: object, b: object, calls: Calls): boolean {
  const [one, other] = [a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>];
  let keys = 0;
  for (const key in one) {
    keys++;
    const [value, otherValue] = [one[key], other[key]];
    if (Object.is(value, otherValue) && (value !== undefined || key in other)) continue;
    if (key === 'call' && value !== undefined && calls.get(value) === otherValue) continue;
    if (!isEqual(value, otherValue, calls)) return false;
    if (key === 'call') calls.set(value, otherValue);
  }
  for (const _ in other) keys--;
  return keys === 0;
}
