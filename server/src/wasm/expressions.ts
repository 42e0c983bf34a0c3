/** Code of WebAssembly as rows of bytes that are put together: for code that is written once, where `host/wasm.ts` writes as it goes. */
import { Kind, op, type V128, vector } from './opcodes';

export type Bytes = readonly number[];

const EMPTY = 0x40;
/** Behind this come the instructions on vectors, and those that saturate. */
const VECTOR = 0xfd;
const SATURATING = 0xfc;

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7) {
    if (rest >= -64 && rest < 64) return [...bytes, rest & 127];
    bytes.push((rest & 127) | 128);
  }
}

export const get = (local: number): Bytes => [op.localGet, local];
export const set = (local: number, value: Bytes): Bytes => [...value, op.localSet, local];
export const i32 = (value: number): Bytes => [op.i32Const, ...signed(value)];
export const f64 = (value: number): Bytes => [op.f64Const, ...new Uint8Array(new Float64Array([value]).buffer)];
/** @param code of `truncate` */
export const saturate = (code: number): Bytes => [SATURATING, code];

/** Instructions on vectors, by their names. */
export const V = Object.fromEntries(
  Object.entries(vector).map(([name, code]) => [name, [VECTOR, ...unsigned(code)]]),
) as unknown as Readonly<Record<keyof typeof vector, Bytes>>;

export const splat64 = (value: number): Bytes => [...f64(value), ...V.splatF64];
export const splat32 = (value: number): Bytes => [...i32(value), ...V.splat32];

export const shuffle = (lanes: Bytes): Bytes => [...V.shuffle, ...lanes];
/** Of two vectors of two words each: their low halves side by side. */
export const lowHalves = shuffle([0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]);
/** Of two vectors: their first eight bytes side by side. */
export const firstHalves = shuffle([0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]);
export const secondHalf = (value: Bytes): Bytes => [
  ...value,
  ...value,
  ...shuffle([8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]),
];

export const load = (pointer: number, offset = 0): Bytes => [...get(pointer), ...V.load, 0, offset];
export const store = (pointer: number, value: Bytes, offset = 0): Bytes => [
  ...get(pointer),
  ...value,
  ...V.store,
  0,
  offset,
];
export const loadWord = (pointer: number): Bytes => [...get(pointer), op.i32Load, 0, 0];
export const storeWord = (pointer: number, value: Bytes): Bytes => [...get(pointer), ...value, op.i32Store, 0, 0];
export const loadDouble = (pointer: number): Bytes => [...get(pointer), op.f64Load, 0, 0];
export const storeDouble = (pointer: number, value: Bytes): Bytes => [...get(pointer), ...value, op.f64Store, 0, 0];

/** Repeats a body while its condition, which it leaves on the stack, holds. */
export const repeat = (body: Bytes): Bytes => [op.loop, EMPTY, ...body, op.brIf, 0, op.end];

/** A function with one result, a word; its body ends with `op.end`. */
export interface WasmFunction {
  readonly parameters: readonly (Kind | typeof V128)[];
  readonly locals: readonly (Kind | typeof V128)[];
  readonly body: Bytes;
}

const counted = (items: readonly Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()];
const section = (id: number, content: Bytes): Bytes => [id, ...unsigned(content.length), ...content];
const text = (value: string): Bytes => counted([...value].map((letter) => [letter.charCodeAt(0)]));
const FUNCTION_TYPE = 0x60;

/** A module over a memory `env.memory`, which exports functions by their names. */
export function moduleOver(named: Readonly<Record<string, WasmFunction>>): Uint8Array<ArrayBuffer> {
  const all = Object.values(named);
  const typeOf = ({ parameters }: WasmFunction): Bytes => [
    ...[FUNCTION_TYPE, ...counted(parameters.map((kind) => [kind]))],
    ...[1, Kind.i32],
  ];
  const codeOf = ({ locals, body }: WasmFunction): Bytes => {
    const code = [...counted(locals.map((kind) => [1, kind])), ...body];
    return [...unsigned(code.length), ...code];
  };
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, counted(all.map(typeOf))),
    ...section(2, counted([[...text('env'), ...text('memory'), 2, 0, 1]])),
    ...section(3, counted(all.map((_, index) => unsigned(index)))),
    ...section(7, counted(Object.keys(named).map((name, index) => [...text(name), 0, ...unsigned(index)]))),
    ...section(10, counted(all.map(codeOf))),
  ]);
}
