/** Functions that the module of the host's program calls: those of the host are in run-host.ts, those of numbers in math.ts. */
import { Kind } from '../wasm/opcodes';
import type { Import } from './wasm';

const { i32, i64, f64 } = Kind;
const numbers = (count: number, kind: Kind) => Array.from({ length: count }, () => kind);

/** Those with a result but `allocate` give the number of instructions that they are worth. */
const hostImports: readonly Import[] = [
  { name: 'allocate', parameters: [i64, i32, i32], results: [i64] },
  { name: 'file', parameters: [i64, i64, i32, i32], results: [i64] },
  { name: 'touch', parameters: [i64, i32], results: [] },
  { name: 'release', parameters: [i64, i32], results: [] },
  { name: 'copy', parameters: [...numbers(6, i64), i32, i32, i32], results: [i64] },
  { name: 'fill', parameters: [i64, i64, i64, i32, i32, i32], results: [i64] },
  { name: 'wild', parameters: [i64, i32, i32, i32], results: [i64] },
  { name: 'seed', parameters: [i64, i32], results: [i64] },
  { name: 'launch', parameters: [i32], results: [] },
  { name: 'stop', parameters: [], results: [] },
];

const mathNames = [
  ...['rsqrt', 'rcp', 'exp', 'exp2', 'exp10', 'log', 'log2', 'log10', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan'],
  ...['sinh', 'cosh', 'tanh', 'erf', 'cbrt', 'round', 'roundHalf', 'roundBfloat'],
];
const mathImports: readonly Import[] = [
  ...mathNames.map((name) => ({ name, parameters: [f64], results: [f64] })),
  ...['pow', 'fmod', 'atan2', 'hypot'].map((name) => ({ name, parameters: [f64, f64], results: [f64] })),
  ...['abs32', 'ffs32', 'brev32'].map((name) => ({ name, parameters: [i32], results: [i32] })),
  ...['abs64', 'ffs64', 'brev64'].map((name) => ({ name, parameters: [i64], results: [i64] })),
  ...['mulhiS64', 'mulhiU64', 'minS64', 'maxS64', 'minU64', 'maxU64'].map((name) => ({
    name,
    parameters: [i64, i64],
    results: [i64],
  })),
  ...['mulhiS32', 'mulhiU32', 'minS32', 'maxS32', 'minU32', 'maxU32'].map((name) => ({
    name,
    parameters: [i32, i32],
    results: [i32],
  })),
  { name: 'fromHalf', parameters: [i32], results: [f64] },
  { name: 'toHalf', parameters: [f64], results: [i32] },
  { name: 'fromBfloat', parameters: [i32], results: [f64] },
  { name: 'toBfloat', parameters: [f64], results: [i32] },
];
export const imports: readonly Import[] = [...hostImports, ...mathImports];
export const importIndex = new Map(imports.map(({ name }, index) => [name, index]));

/** Functions that move bytes: as many instructions as they give back are spent. */
export const moving: ReadonlySet<string> = new Set(['copy', 'fill', 'wild']);

/** Instructions that take as long as a call and what always goes with it; of bytes that are moved: without them. */
const costs: Readonly<Record<string, number>> = {
  allocate: 200,
  file: 2000,
  copy: 200,
  fill: 200,
  wild: 80,
  launch: 1500,
  stop: 0,
};
/** A number handed over and back; one of 64 bits is an object there. */
const COST_OF_NUMBER = 5;
const COST_OF_LONG = 40;

export function costOf({ name, parameters }: Import): number {
  return costs[name] ?? (parameters.includes(i64) ? COST_OF_LONG : COST_OF_NUMBER);
}
