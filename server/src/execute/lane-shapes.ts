/** Shapes of loops over lanes (lane-code.ts): what a loop does with a lane is code that is put into one of these. */

import {
  type Bytes,
  f64,
  firstHalves,
  get,
  i32,
  load,
  loadDouble,
  loadWord,
  lowHalves,
  repeat,
  saturate,
  secondHalf,
  set,
  splat32,
  splat64,
  store,
  storeDouble,
  storeWord,
  V,
  type WasmFunction,
} from '../wasm/expressions';
import { Kind, op, truncate, V128 } from '../wasm/opcodes';

const { i32: I32, f64: F64 } = Kind;
const SAFE = Number.MAX_SAFE_INTEGER;

/**
 * A loop over lanes: the pointers come first, the first of which is the result's, then the number of lanes, then what else there is.
 * @param bytes of a lane, by pointer
 * @param lanes that the body does
 */
export function loop(
  bytes: readonly number[],
  lanes: number,
  body: Bytes,
  more: Partial<Pick<WasmFunction, 'parameters' | 'locals'>> & { readonly result?: Bytes } = {},
): WasmFunction {
  const count = bytes.length;
  const end = set(count, [...get(0), ...get(count), ...i32(bytes[0]), op.i32Mul, op.i32Add]);
  const advance = bytes.flatMap((size, pointer) => set(pointer, [...get(pointer), ...i32(size * lanes), op.i32Add]));
  return {
    parameters: [...bytes.map(() => I32), I32, ...(more.parameters ?? [])],
    locals: more.locals ?? [],
    body: [
      ...end,
      ...repeat([...body, ...advance, ...get(0), ...get(count), op.i32LtU]),
      ...(more.result ?? i32(0)),
      op.end,
    ],
  };
}

// ---- shapes of operations ----

export const words1 = (code: Bytes) => loop([4, 4], 4, store(0, [...load(1), ...code]));
export const words2 = (code: Bytes) => loop([4, 4, 4], 4, store(0, [...load(1), ...load(2), ...code]));
export const doubles1 = (code: Bytes) => loop([8, 8], 2, store(0, [...load(1), ...code]));
export const doubles2 = (code: Bytes) => loop([8, 8, 8], 2, store(0, [...load(1), ...load(2), ...code]));
/** A comparison of words gives all bits of a lane or none. */
export const asPredicate: Bytes = [...splat32(1), ...V.and];
export const compareWords = (code: Bytes) => words2([...code, ...asPredicate]);
export const compareDoubles = (code: Bytes) =>
  loop(
    [4, 8, 8],
    4,
    store(0, [
      ...[...load(1), ...load(2), ...code],
      ...[...load(1, 16), ...load(2, 16), ...code],
      ...lowHalves,
      ...asPredicate,
    ]),
  );
/** One lane after the other. */
export const eachWord1 = (code: Bytes) => loop([4, 4], 1, storeWord(0, [...loadWord(1), ...code]));

/** A result of integers in doubles, which fails beyond 2^53. @param checked what is computed before, and may not be beyond it either */
export function doublesChecked(operands: number, value: Bytes, checked: Bytes = []): WasmFunction {
  const [result, failed] = [operands + 2, operands + 3];
  const isBeyond = (local: number): Bytes => [
    ...[...get(local), ...splat64(SAFE), ...V.gtF64],
    ...[...get(local), ...splat64(-SAFE), ...V.ltF64],
    ...V.or,
  ];
  const note = (local: number) => set(failed, [...get(failed), ...isBeyond(local), ...V.or]);
  const bytes = [8, ...Array.from({ length: operands }, () => 8)];
  return loop(
    bytes,
    2,
    [
      ...(checked.length > 0 ? [...set(result, checked), ...note(result)] : []),
      ...set(result, value),
      ...note(result),
      ...store(0, get(result)),
    ],
    { locals: [V128, V128], result: [...get(failed), ...V.anyTrue] },
  );
}

export const rounded: Bytes = [...V.demote, ...V.promoteLow];

/** C's fmin and fmax: the other operand where one is not a number. */
export function extreme(code: Bytes): WasmFunction {
  const isNumber = (pointer: number): Bytes => [...load(pointer), ...load(pointer), ...V.eqF64];
  return loop(
    [8, 8, 8],
    2,
    store(0, [
      ...[...load(1), ...load(2), ...code, ...load(1), ...isNumber(2), ...V.bitselect],
      ...[...load(2), ...isNumber(1), ...V.bitselect],
    ]),
  );
}

/** Quotient or remainder of words; by zero it is 0, and failed. */
export function divided(code: number, isSigned: boolean): WasmFunction {
  const [x, y, failed] = [4, 5, 6];
  // -1 would trap for the least number: divided by 1 and taken with the other sign it does not
  const isMinusOne: Bytes = isSigned ? [...get(y), ...i32(-1), op.i32Eq] : i32(0);
  const isRemainder = code === op.i32RemS || code === op.i32RemU;
  const byMinusOne: Bytes = isRemainder ? i32(0) : [...i32(0), ...get(x), op.i32Sub];
  const divisor: Bytes = [...i32(1), ...get(y), ...get(y), op.i32Eqz, ...isMinusOne, op.i32Or, op.select];
  const plain: Bytes = [...get(x), ...divisor, code];
  return loop(
    [4, 4, 4],
    1,
    [
      ...set(x, loadWord(1)),
      ...set(y, loadWord(2)),
      ...set(failed, [...get(failed), ...get(y), op.i32Eqz, op.i32Or]),
      ...storeWord(0, [...i32(0), ...byMinusOne, ...plain, ...isMinusOne, op.select, ...get(y), op.i32Eqz, op.select]),
    ],
    { locals: [I32, I32, I32], result: get(failed) },
  );
}

/** Shifts of words by what may be 32 and more. */
export function shifted(code: number, isSigned: boolean): WasmFunction {
  const isWithin: Bytes = [...loadWord(2), ...i32(32), op.i32LtU];
  const plain = (count: Bytes): Bytes => [...loadWord(1), ...count, code];
  return loop(
    [4, 4, 4],
    1,
    storeWord(
      0,
      isSigned
        ? plain([...loadWord(2), ...i32(31), ...isWithin, op.select])
        : [...plain(loadWord(2)), ...i32(0), ...isWithin, op.select],
    ),
  );
}

/** A power of two: its exponent as a word, in a double. */
const powerOfTwo = (exponent: Bytes): Bytes => [
  ...exponent,
  ...i32(1023),
  op.i32Add,
  op.i64ExtendI32S,
  op.i64Const,
  52,
  op.i64Shl,
  op.f64ReinterpretI64,
];

/** 64-bit integers times a power of two; counts beyond 62, and results beyond 2^53, fail. */
export function shiftedLeft64(): WasmFunction {
  const [result, count, failed] = [4, 5, 6];
  const isSafe: Bytes = [...get(result), op.f64Abs, ...f64(SAFE), op.f64Le];
  return loop(
    [8, 8, 8],
    1,
    [
      ...set(count, [...loadDouble(2), ...saturate(truncate.i32F64S)]),
      ...set(result, [...loadDouble(1), ...powerOfTwo([...get(count), ...i32(63), op.i32And]), op.f64Mul]),
      ...storeDouble(0, get(result)),
      ...set(failed, [...get(failed), ...isSafe, op.i32Eqz, op.i32Or, ...i32(62), ...get(count), op.i32LtU, op.i32Or]),
    ],
    { locals: [F64, I32, I32], result: get(failed) },
  );
}

/** 64-bit integers over a power of two, rounded down. Of unsigned ones it fails where a count is large or the sign is set. */
export function shiftedRight64(isSigned: boolean): WasmFunction {
  const [count, x, failed] = [4, 5, 6];
  const floor = op.f64Floor;
  const clamped: Bytes = [...i32(63), ...get(count), ...i32(63), ...get(count), op.i32LtU, op.select];
  const fails: Bytes = [...i32(63), ...get(count), op.i32LtU, ...get(x), ...f64(0), op.f64Ge, op.i32Eqz, op.i32Or];
  return loop(
    [8, 8, 8],
    1,
    [
      ...set(count, [...loadDouble(2), ...saturate(truncate.i32F64S)]),
      ...set(x, loadDouble(1)),
      ...storeDouble(0, [...get(x), ...powerOfTwo([...i32(0), ...clamped, op.i32Sub]), op.f64Mul, floor]),
      ...(isSigned ? [] : set(failed, [...get(failed), ...fails, op.i32Or])),
    ],
    { locals: [I32, F64, I32], result: isSigned ? i32(0) : get(failed) },
  );
}

/** Bits of 64-bit integers. */
export function bits64(code: number): WasmFunction {
  const [result, failed] = [4, 5];
  const whole = (pointer: number): Bytes => [...loadDouble(pointer), ...saturate(truncate.i64F64S)];
  return loop(
    [8, 8, 8],
    1,
    [
      ...set(result, [...whole(1), ...whole(2), code, op.f64ConvertI64S]),
      ...storeDouble(0, get(result)),
      ...set(failed, [...get(failed), ...get(result), op.f64Abs, ...f64(SAFE), op.f64Le, op.i32Eqz, op.i32Or]),
    ],
    { locals: [F64, I32], result: get(failed) },
  );
}

/** The high word of a product of words. */
export const highWord = (extend: number): WasmFunction => {
  const wide = (pointer: number): Bytes => [...loadWord(pointer), extend];
  return loop(
    [4, 4, 4],
    1,
    storeWord(0, [...wide(1), ...wide(2), op.i64Mul, op.i64Const, 32, op.i64ShrU, op.i32WrapI64]),
  );
};

/** Doubles made of words, four lanes at a time. */
export const fromWords = (code: Bytes) =>
  loop([8, 4], 4, [...store(0, [...load(1), ...code]), ...store(0, [...secondHalf(load(1)), ...code], 16)]);

/** Floating-point numbers as words, which fails outside of what they hold. */
export function truncated(least: number, most: number, code: Bytes): WasmFunction {
  const [first, second, failed] = [3, 4, 5];
  const isWithin = (local: number): Bytes => [
    ...[...get(local), ...splat64(most), ...V.leF64],
    ...[...splat64(least), ...get(local), ...V.leF64],
    ...V.and,
  ];
  return loop(
    [4, 8],
    4,
    [
      ...set(first, [...load(1), ...V.truncF64]),
      ...set(second, [...load(1, 16), ...V.truncF64]),
      ...set(failed, [...get(failed), ...isWithin(first), ...isWithin(second), ...V.and, ...V.not, ...V.or]),
      ...store(0, [...get(first), ...code, ...get(second), ...code, ...firstHalves]),
    ],
    { locals: [V128, V128, V128], result: [...get(failed), ...V.anyTrue] },
  );
}

/** Four marks of a mask, a byte each, as words with all bits or none. */
const widened = (pointer: number): Bytes => [
  ...get(pointer),
  ...V.load32Zero,
  0,
  0,
  ...V.extendLowU8,
  ...V.extendLowU16,
  ...splat32(0),
  ...V.ne32,
];

/** Where the mask is set: what the second pointer has, or the same for all. */
export function assigned(bytes: 4 | 8, isSame: boolean): WasmFunction {
  const pointers = isSame ? [bytes, 1] : [bytes, 1, bytes];
  const count = pointers.length;
  const splat = bytes === 4 ? V.splat32 : V.splatF64;
  const value = (offset: number): Bytes => (isSame ? [...get(count + 1), ...splat] : load(2, offset));
  const mask = count + (isSame ? 2 : 1);
  const put = (offset: number, marks: Bytes): Bytes =>
    store(0, [...value(offset), ...load(0, offset), ...marks, ...V.bitselect], offset);
  return loop(
    pointers,
    4,
    [
      ...set(mask, widened(1)),
      ...(bytes === 4
        ? put(0, get(mask))
        : [...put(0, [...get(mask), ...V.extendLow32]), ...put(16, [...get(mask), ...V.extendHigh32])]),
    ],
    { parameters: isSame ? [bytes === 4 ? I32 : F64] : [], locals: [V128] },
  );
}

export function selected(bytes: 4 | 8): WasmFunction {
  const marks: Bytes = [...load(1), ...splat32(0), ...V.ne32];
  const put = (offset: number, mask: Bytes): Bytes =>
    store(0, [...load(2, offset), ...load(3, offset), ...mask, ...V.bitselect], offset);
  return loop(
    [bytes, 4, bytes, bytes],
    4,
    bytes === 4 ? put(0, marks) : [...put(0, [...marks, ...V.extendLow32]), ...put(16, [...marks, ...V.extendHigh32])],
  );
}

/** The same in all lanes. */
export const filled = (bytes: 4 | 8) =>
  loop([bytes], bytes === 4 ? 4 : 2, store(0, [...get(2), ...(bytes === 4 ? V.splat32 : V.splatF64)]), {
    parameters: [bytes === 4 ? I32 : F64],
  });

/** A row that begins with a number and goes on by steps, all of which are integers; four lanes or a multiple. */
export function row(bytes: 4 | 8): WasmFunction {
  const [start, step, low, high] = [2, 3, 4, 5];
  const isWord = bytes === 4;
  const [kind, splat, add, times] = isWord ? [I32, V.splat32, V.add32, V.mul32] : [F64, V.splatF64, V.addF64, V.mulF64];
  const numbers = (of: readonly number[]): Bytes => [
    ...V.const,
    ...new Uint8Array((isWord ? Int32Array : Float64Array).from(of).buffer),
  ];
  const all = (local: number): Bytes => [...get(local), ...splat];
  const from = (of: readonly number[]): Bytes => [...all(step), ...numbers(of), ...times, ...all(start), ...add];
  const by = numbers(isWord ? [4, 4, 4, 4] : [4, 4]);
  const advance = (local: number) => set(local, [...get(local), ...all(step), ...by, ...times, ...add]);
  const body = isWord
    ? [...store(0, get(low)), ...advance(low)]
    : [...store(0, get(low)), ...store(0, get(high), 16), ...advance(low), ...advance(high)];
  const first = isWord ? set(low, from([0, 1, 2, 3])) : [...set(low, from([0, 1])), ...set(high, from([2, 3]))];
  const made = loop([bytes], 4, body, { parameters: [kind, kind], locals: [V128, V128] });
  return { ...made, body: [...first, ...made.body] };
}

/**
 * Parts a mask by a predicate: the lanes where it is set, those where it is not, behind each of the two masks how many lanes each warp has.
 * Parameters: the first mask, the mask that is parted, the predicate, the second mask, warps, bytes of a mask's lanes.
 */
export function parted(): WasmFunction {
  const [ifTrue, mask, predicate, ifFalse, left, ahead] = [0, 1, 2, 3, 4, 5];
  const [marks, count, total, counter] = [6, 7, 8, 9];
  const isSet = (offset: number): Bytes => [...load(predicate, offset), ...splat32(0), ...V.ne32];
  const half = (part: number): Bytes => [
    ...set(marks, [
      ...[...isSet(64 * part), ...isSet(64 * part + 16), ...V.narrow32],
      ...[...isSet(64 * part + 32), ...isSet(64 * part + 48), ...V.narrow32],
      ...V.narrow16,
      ...[...load(mask, 16 * part), ...V.and],
    ]),
    ...store(ifTrue, get(marks), 16 * part),
    ...store(ifFalse, [...load(mask, 16 * part), ...get(marks), ...V.xor], 16 * part),
  ];
  const bitsOf = (pointer: number, part: number): Bytes => [
    ...[...load(pointer, 16 * part), ...i32(0), ...V.splat8, ...V.ne8],
    ...V.bitmask8,
    op.i32Popcnt,
  ];
  const countOf = (pointer: number): Bytes => [...bitsOf(pointer, 0), ...bitsOf(pointer, 1), op.i32Add];
  const note = (pointer: number): Bytes => [
    ...get(pointer),
    ...get(counter),
    op.i32Add,
    ...countOf(pointer),
    op.i32Store8,
    0,
    0,
  ];
  const advance = (local: number, by: number) => set(local, [...get(local), ...i32(by), op.i32Add]);
  return {
    parameters: [I32, I32, I32, I32, I32, I32],
    locals: [V128, I32, I32, I32],
    body: [
      ...set(counter, get(ahead)),
      ...repeat([
        ...half(0),
        ...half(1),
        ...set(count, countOf(ifTrue)),
        ...set(total, [...get(total), ...get(count), op.i32Add]),
        ...note(ifTrue),
        ...note(ifFalse),
        ...advance(ifTrue, 32),
        ...advance(ifFalse, 32),
        ...advance(mask, 32),
        ...advance(predicate, 128),
        // the counts lie a byte a warp behind the lanes, from which the pointers move away
        ...advance(counter, -31),
        ...set(left, [...get(left), ...i32(1), op.i32Sub]),
        ...get(left),
      ]),
      ...get(total),
      op.end,
    ],
  };
}

/** x < y of 64-bit integers without a sign, of which the upper half is held as negative numbers. */
export function lessUnsigned64(): WasmFunction {
  const part = (offset: number): Bytes => {
    const isNegative = (pointer: number): Bytes => [...load(pointer, offset), ...splat64(0), ...V.ltF64];
    return [
      ...[...load(1, offset), ...load(2, offset), ...V.ltF64],
      ...[...isNegative(1), ...isNegative(2), ...V.xor, ...V.xor],
    ];
  };
  return loop([4, 8, 8], 4, store(0, [...part(0), ...part(16), ...lowHalves, ...asPredicate]));
}
