/**
 * Loops over lanes as WebAssembly, four lanes of 32 bits or two of 64 at a time: the same as the loops in JavaScript beside whose definitions
 * their names stand, in a fifth of the time and less. It is one module for all kernels: code for a kernel of its own would run cold.
 * Pointers are bytes of the lanes' memory, counts multiples of 32.
 */

type Bytes = readonly number[];

const [I32, F64, V128] = [0x7f, 0x7c, 0x7b];
const EMPTY = 0x40;
const SAFE = Number.MAX_SAFE_INTEGER;

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

const get = (local: number): Bytes => [0x20, local];
const set = (local: number, value: Bytes): Bytes => [...value, 0x21, local];
const i32 = (value: number): Bytes => [0x41, ...signed(value)];
const f64 = (value: number): Bytes => [0x44, ...new Uint8Array(new Float64Array([value]).buffer)];
const simd = (code: number): Bytes => [0xfd, ...unsigned(code)];
const saturate = (code: number): Bytes => [0xfc, code];
const splat64 = (value: number): Bytes => [...f64(value), ...simd(0x14)];
const splat32 = (value: number): Bytes => [...i32(value), ...simd(0x11)];

// scalar instructions, by their names in the specification
const i32Eqz = 0x45;
const i32LtU = 0x49;
const i32Add = 0x6a;
const i32Sub = 0x6b;
const i32Mul = 0x6c;
const i32And = 0x71;
const i32Or = 0x72;
const i32Shl = 0x74;
const select = 0x1b;

/** Vector instructions, by their numbers behind the prefix. */
const v = {
  not: simd(0x4d),
  and: simd(0x4e),
  or: simd(0x50),
  xor: simd(0x51),
  bitselect: simd(0x52),
  anyTrue: simd(0x53),
  bitmask8: simd(0x64),
  narrow16: simd(0x65),
  narrow32: simd(0x85),
  ne8: simd(0x24),
  ne32: simd(0x38),
  demote: simd(0x5e),
  promote: simd(0x5f),
  widenLow: simd(0xc7),
  widenHigh: simd(0xc8),
  eq64: simd(0x47),
  lt64: simd(0x49),
  gt64: simd(0x4a),
  le64: simd(0x4b),
  add64: simd(0xf0),
  mul64: simd(0xf2),
  min64: simd(0xf4),
  max64: simd(0xf5),
  trunc64: simd(0x7a),
  toDouble: simd(0xfe),
  toDoubleUnsigned: simd(0xff),
};

const shuffle = (lanes: Bytes): Bytes => [...simd(0x0d), ...lanes];
/** Of two vectors of two words each: their low halves side by side. */
const lowHalves = shuffle([0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]);
/** Of two vectors: their first eight bytes side by side. */
const firstHalves = shuffle([0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]);
const secondHalf = (value: Bytes): Bytes => [
  ...value,
  ...value,
  ...shuffle([8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]),
];

const load = (pointer: number, offset = 0): Bytes => [...get(pointer), ...simd(0), 0, offset];
const store = (pointer: number, value: Bytes, offset = 0): Bytes => [...get(pointer), ...value, ...simd(11), 0, offset];
const loadWord = (pointer: number): Bytes => [...get(pointer), 0x28, 0, 0];
const storeWord = (pointer: number, value: Bytes): Bytes => [...get(pointer), ...value, 0x36, 0, 0];
const loadDouble = (pointer: number): Bytes => [...get(pointer), 0x2b, 0, 0];
const storeDouble = (pointer: number, value: Bytes): Bytes => [...get(pointer), ...value, 0x39, 0, 0];

interface LaneFunction {
  readonly parameters: readonly number[];
  readonly locals: readonly number[];
  readonly body: Bytes;
}

/** Repeats a body while its condition, which it leaves on the stack, holds. */
const repeat = (body: Bytes): Bytes => [0x03, EMPTY, ...body, 0x0d, 0, 0x0b];

/**
 * A loop over lanes: the pointers come first, the first of which is the result's, then the number of lanes, then what else there is.
 * @param bytes of a lane, by pointer
 * @param lanes that the body does
 */
function loop(
  bytes: readonly number[],
  lanes: number,
  body: Bytes,
  more: { readonly parameters?: readonly number[]; readonly locals?: readonly number[]; readonly result?: Bytes } = {},
): LaneFunction {
  const count = bytes.length;
  const end = set(count, [...get(0), ...get(count), ...i32(bytes[0]), i32Mul, i32Add]);
  const advance = bytes.flatMap((size, pointer) => set(pointer, [...get(pointer), ...i32(size * lanes), i32Add]));
  return {
    parameters: [...bytes.map(() => I32), I32, ...(more.parameters ?? [])],
    locals: more.locals ?? [],
    body: [
      ...end,
      ...repeat([...body, ...advance, ...get(0), ...get(count), i32LtU]),
      ...(more.result ?? i32(0)),
      0x0b,
    ],
  };
}

// ---- shapes of operations ----

const words1 = (code: Bytes) => loop([4, 4], 4, store(0, [...load(1), ...code]));
const words2 = (code: Bytes) => loop([4, 4, 4], 4, store(0, [...load(1), ...load(2), ...code]));
const doubles1 = (code: Bytes) => loop([8, 8], 2, store(0, [...load(1), ...code]));
const doubles2 = (code: Bytes) => loop([8, 8, 8], 2, store(0, [...load(1), ...load(2), ...code]));
/** A comparison of words gives all bits of a lane or none. */
const asPredicate: Bytes = [...splat32(1), ...v.and];
const compareWords = (code: Bytes) => words2([...code, ...asPredicate]);
const compareDoubles = (code: Bytes) =>
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
/** One lane after the other; operands are on the stack in order. */

const eachWord1 = (code: Bytes) => loop([4, 4], 1, storeWord(0, [...loadWord(1), ...code]));

/** A result of integers in doubles, which fails beyond 2^53. @param checked what is computed before, and may not be beyond it either */
function doublesChecked(operands: number, value: Bytes, checked: Bytes = []): LaneFunction {
  const [result, failed] = [operands + 2, operands + 3];
  const isBeyond = (local: number): Bytes => [
    ...[...get(local), ...splat64(SAFE), ...v.gt64],
    ...[...get(local), ...splat64(-SAFE), ...v.lt64],
    ...v.or,
  ];
  const note = (local: number) => set(failed, [...get(failed), ...isBeyond(local), ...v.or]);
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
    { locals: [V128, V128], result: [...get(failed), ...v.anyTrue] },
  );
}

const rounded: Bytes = [...v.demote, ...v.promote];

/** C's fmin and fmax: the other operand where one is not a number. */
function extreme(code: Bytes): LaneFunction {
  const isNumber = (pointer: number): Bytes => [...load(pointer), ...load(pointer), ...v.eq64];
  return loop(
    [8, 8, 8],
    2,
    store(0, [
      ...[...load(1), ...load(2), ...code, ...load(1), ...isNumber(2), ...v.bitselect],
      ...[...load(2), ...isNumber(1), ...v.bitselect],
    ]),
  );
}

/** Quotient or remainder of words; by zero it is 0, and failed. */
function divided(code: number, isSigned: boolean): LaneFunction {
  const [x, y, failed] = [4, 5, 6];
  // -1 would trap for the least number: divided by 1 and taken with the other sign it does not
  const isMinusOne: Bytes = isSigned ? [...get(y), ...i32(-1), 0x46] : i32(0);
  const isRemainder = code === 0x6f || code === 0x70;
  const byMinusOne: Bytes = isRemainder ? i32(0) : [...i32(0), ...get(x), i32Sub];
  const divisor: Bytes = [...i32(1), ...get(y), ...get(y), i32Eqz, ...isMinusOne, i32Or, select];
  const plain: Bytes = [...get(x), ...divisor, code];
  return loop(
    [4, 4, 4],
    1,
    [
      ...set(x, loadWord(1)),
      ...set(y, loadWord(2)),
      ...set(failed, [...get(failed), ...get(y), i32Eqz, i32Or]),
      ...storeWord(0, [...i32(0), ...byMinusOne, ...plain, ...isMinusOne, select, ...get(y), i32Eqz, select]),
    ],
    { locals: [I32, I32, I32], result: get(failed) },
  );
}

/** Shifts of words by what may be 32 and more. */
function shifted(code: number, isSigned: boolean): LaneFunction {
  const isWithin: Bytes = [...loadWord(2), ...i32(32), i32LtU];
  const plain = (count: Bytes): Bytes => [...loadWord(1), ...count, code];
  return loop(
    [4, 4, 4],
    1,
    storeWord(
      0,
      isSigned
        ? plain([...loadWord(2), ...i32(31), ...isWithin, select])
        : [...plain(loadWord(2)), ...i32(0), ...isWithin, select],
    ),
  );
}

/** A power of two: its exponent as a word, in a double. */
const powerOfTwo = (exponent: Bytes): Bytes => [...exponent, ...i32(1023), i32Add, 0xac, 0x42, 52, 0x86, 0xbf];

/** 64-bit integers times a power of two; counts beyond 62, and results beyond 2^53, fail. */
function shiftedLeft64(): LaneFunction {
  const [result, count, failed] = [4, 5, 6];
  const isSafe: Bytes = [...get(result), 0x99, ...f64(SAFE), 0x65];
  return loop(
    [8, 8, 8],
    1,
    [
      ...set(count, [...loadDouble(2), ...saturate(2)]),
      ...set(result, [...loadDouble(1), ...powerOfTwo([...get(count), ...i32(63), i32And]), 0xa2]),
      ...storeDouble(0, get(result)),
      ...set(failed, [...get(failed), ...isSafe, i32Eqz, i32Or, ...i32(62), ...get(count), i32LtU, i32Or]),
    ],
    { locals: [F64, I32, I32], result: get(failed) },
  );
}

/** 64-bit integers over a power of two, rounded down. Of unsigned ones it fails where a count is large or the sign is set. */
function shiftedRight64(isSigned: boolean): LaneFunction {
  const [count, x, failed] = [4, 5, 6];
  const floor = 0x9c;
  const clamped: Bytes = [...i32(63), ...get(count), ...i32(63), ...get(count), i32LtU, select];
  const fails: Bytes = [...i32(63), ...get(count), i32LtU, ...get(x), ...f64(0), 0x66, i32Eqz, i32Or];
  return loop(
    [8, 8, 8],
    1,
    [
      ...set(count, [...loadDouble(2), ...saturate(2)]),
      ...set(x, loadDouble(1)),
      ...storeDouble(0, [...get(x), ...powerOfTwo([...i32(0), ...clamped, i32Sub]), 0xa2, floor]),
      ...(isSigned ? [] : set(failed, [...get(failed), ...fails, i32Or])),
    ],
    { locals: [I32, F64, I32], result: isSigned ? i32(0) : get(failed) },
  );
}

/** Bits of 64-bit integers. */
function bits64(code: number): LaneFunction {
  const [result, failed] = [4, 5];
  const whole = (pointer: number): Bytes => [...loadDouble(pointer), ...saturate(6)];
  return loop(
    [8, 8, 8],
    1,
    [
      ...set(result, [...whole(1), ...whole(2), code, 0xb9]),
      ...storeDouble(0, get(result)),
      ...set(failed, [...get(failed), ...get(result), 0x99, ...f64(SAFE), 0x65, i32Eqz, i32Or]),
    ],
    { locals: [F64, I32], result: get(failed) },
  );
}

/** The high word of a product of words. */
const highWord = (extend: number): LaneFunction => {
  const wide = (pointer: number): Bytes => [...loadWord(pointer), extend];
  return loop([4, 4, 4], 1, storeWord(0, [...wide(1), ...wide(2), 0x7e, 0x42, 32, 0x88, 0xa7]));
};

/** Doubles made of words, four lanes at a time. */
const fromWords = (code: Bytes) =>
  loop([8, 4], 4, [...store(0, [...load(1), ...code]), ...store(0, [...secondHalf(load(1)), ...code], 16)]);

/** Floating-point numbers as words, which fails outside of what they hold. */
function truncated(least: number, most: number, code: Bytes): LaneFunction {
  const [first, second, failed] = [3, 4, 5];
  const isWithin = (local: number): Bytes => [
    ...[...get(local), ...splat64(most), ...v.le64],
    ...[...splat64(least), ...get(local), ...v.le64],
    ...v.and,
  ];
  return loop(
    [4, 8],
    4,
    [
      ...set(first, [...load(1), ...v.trunc64]),
      ...set(second, [...load(1, 16), ...v.trunc64]),
      ...set(failed, [...get(failed), ...isWithin(first), ...isWithin(second), ...v.and, ...v.not, ...v.or]),
      ...store(0, [...get(first), ...code, ...get(second), ...code, ...firstHalves]),
    ],
    { locals: [V128, V128, V128], result: [...get(failed), ...v.anyTrue] },
  );
}

/** Four marks of a mask, a byte each, as words with all bits or none. */
const widened = (pointer: number): Bytes => [
  ...get(pointer),
  ...simd(0x5c),
  0,
  0,
  ...simd(0x89),
  ...simd(0xa9),
  ...splat32(0),
  ...v.ne32,
];

/** Where the mask is set: what the second pointer has, or the same for all. */
function assigned(bytes: 4 | 8, isSame: boolean): LaneFunction {
  const pointers = isSame ? [bytes, 1] : [bytes, 1, bytes];
  const count = pointers.length;
  const splat = bytes === 4 ? simd(0x11) : simd(0x14);
  const value = (offset: number): Bytes => (isSame ? [...get(count + 1), ...splat] : load(2, offset));
  const mask = count + (isSame ? 2 : 1);
  const put = (offset: number, marks: Bytes): Bytes =>
    store(0, [...value(offset), ...load(0, offset), ...marks, ...v.bitselect], offset);
  return loop(
    pointers,
    4,
    [
      ...set(mask, widened(1)),
      ...(bytes === 4
        ? put(0, get(mask))
        : [...put(0, [...get(mask), ...v.widenLow]), ...put(16, [...get(mask), ...v.widenHigh])]),
    ],
    { parameters: isSame ? [bytes === 4 ? I32 : F64] : [], locals: [V128] },
  );
}

function selected(bytes: 4 | 8): LaneFunction {
  const marks: Bytes = [...load(1), ...splat32(0), ...v.ne32];
  const put = (offset: number, mask: Bytes): Bytes =>
    store(0, [...load(2, offset), ...load(3, offset), ...mask, ...v.bitselect], offset);
  return loop(
    [bytes, 4, bytes, bytes],
    4,
    bytes === 4 ? put(0, marks) : [...put(0, [...marks, ...v.widenLow]), ...put(16, [...marks, ...v.widenHigh])],
  );
}

/** The same in all lanes. */
const filled = (bytes: 4 | 8) =>
  loop([bytes], bytes === 4 ? 4 : 2, store(0, [...get(2), ...(bytes === 4 ? simd(0x11) : simd(0x14))]), {
    parameters: [bytes === 4 ? I32 : F64],
  });

/** A row that begins with a number and goes on by steps, all of which are integers; four lanes or a multiple. */
function row(bytes: 4 | 8): LaneFunction {
  const [start, step, low, high] = [2, 3, 4, 5];
  const isWord = bytes === 4;
  const [kind, splat, add, times] = isWord
    ? [I32, simd(0x11), simd(0xae), simd(0xb5)]
    : [F64, simd(0x14), v.add64, v.mul64];
  const numbers = (of: readonly number[]): Bytes => [
    ...simd(0x0c),
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
function parted(): LaneFunction {
  const [ifTrue, mask, predicate, ifFalse, left, ahead] = [0, 1, 2, 3, 4, 5];
  const [marks, count, total, counter] = [6, 7, 8, 9];
  const isSet = (offset: number): Bytes => [...load(predicate, offset), ...splat32(0), ...v.ne32];
  const half = (part: number): Bytes => [
    ...set(marks, [
      ...[...isSet(64 * part), ...isSet(64 * part + 16), ...v.narrow32],
      ...[...isSet(64 * part + 32), ...isSet(64 * part + 48), ...v.narrow32],
      ...v.narrow16,
      ...[...load(mask, 16 * part), ...v.and],
    ]),
    ...store(ifTrue, get(marks), 16 * part),
    ...store(ifFalse, [...load(mask, 16 * part), ...get(marks), ...v.xor], 16 * part),
  ];
  const bitsOf = (pointer: number, part: number): Bytes => [
    ...[...load(pointer, 16 * part), ...i32(0), ...simd(0x0f), ...v.ne8],
    ...v.bitmask8,
    0x69,
  ];
  const countOf = (pointer: number): Bytes => [...bitsOf(pointer, 0), ...bitsOf(pointer, 1), i32Add];
  const note = (pointer: number): Bytes => [...get(pointer), ...get(counter), i32Add, ...countOf(pointer), 0x3a, 0, 0];
  const advance = (local: number, by: number) => set(local, [...get(local), ...i32(by), i32Add]);
  return {
    parameters: [I32, I32, I32, I32, I32, I32],
    locals: [V128, I32, I32, I32],
    body: [
      ...set(counter, get(ahead)),
      ...repeat([
        ...half(0),
        ...half(1),
        ...set(count, countOf(ifTrue)),
        ...set(total, [...get(total), ...get(count), i32Add]),
        ...note(ifTrue),
        ...note(ifFalse),
        ...advance(ifTrue, 32),
        ...advance(ifFalse, 32),
        ...advance(mask, 32),
        ...advance(predicate, 128),
        // the counts lie a byte a warp behind the lanes, from which the pointers move away
        ...advance(counter, -31),
        ...set(left, [...get(left), ...i32(1), i32Sub]),
        ...get(left),
      ]),
      ...get(total),
      0x0b,
    ],
  };
}

/** x < y of 64-bit integers without a sign, of which the upper half is held as negative numbers. */
function lessUnsigned64(): LaneFunction {
  const part = (offset: number): Bytes => {
    const isNegative = (pointer: number): Bytes => [...load(pointer, offset), ...splat64(0), ...v.lt64];
    return [
      ...[...load(1, offset), ...load(2, offset), ...v.lt64],
      ...[...isNegative(1), ...isNegative(2), ...v.xor, ...v.xor],
    ];
  };
  return loop([4, 8, 8], 4, store(0, [...part(0), ...part(16), ...lowHalves, ...asPredicate]));
}

const product: Bytes = [...load(1), ...load(2), ...v.mul64];

const functions = () =>
  ({
    copy32: words1([]),
    copy64: doubles1([]),
    fill32: filled(4),
    fill64: filled(8),
    row32: row(4),
    row64: row(8),
    assign32: assigned(4, false),
    assign64: assigned(8, false),
    assignSame32: assigned(4, true),
    assignSame64: assigned(8, true),
    select32: selected(4),
    select64: selected(8),
    part: parted(),

    add32: words2(simd(0xae)),
    sub32: words2(simd(0xb1)),
    mul32: words2(simd(0xb5)),
    fma32: loop([4, 4, 4, 4], 4, store(0, [...load(1), ...load(2), ...simd(0xb5), ...load(3), ...simd(0xae)])),
    and32: words2(v.and),
    or32: words2(v.or),
    xor32: words2(v.xor),
    min32: words2(simd(0xb6)),
    minUnsigned32: words2(simd(0xb7)),
    max32: words2(simd(0xb8)),
    maxUnsigned32: words2(simd(0xb9)),
    shl32: shifted(i32Shl, false),
    shr32: shifted(0x75, true),
    shrUnsigned32: shifted(0x76, false),
    div32: divided(0x6d, true),
    divUnsigned32: divided(0x6e, false),
    rem32: divided(0x6f, true),
    remUnsigned32: divided(0x70, false),
    high32: highWord(0xac),
    highUnsigned32: highWord(0xad),
    eq32: compareWords(simd(0x37)),
    ne32: compareWords(simd(0x38)),
    lt32: compareWords(simd(0x39)),
    ltUnsigned32: compareWords(simd(0x3a)),
    le32: compareWords(simd(0x3d)),
    leUnsigned32: compareWords(simd(0x3e)),
    neg32: words1(simd(0xa1)),
    not32: words1(v.not),
    abs32: words1(simd(0xa0)),
    isZero32: words1([...splat32(0), ...simd(0x37), ...asPredicate]),
    isSet32: words1([...splat32(0), ...v.ne32, ...asPredicate]),
    flip: words1([...asPredicate.slice(0, -v.and.length), ...v.xor]),
    popc32: words1([...simd(0x62), ...simd(0x7d), ...simd(0x7f)]),
    clz32: eachWord1([0x67]),
    lowByte: words1([...splat32(255), ...v.and]),
    lowHalf: words1([...splat32(0xffff), ...v.and]),
    lowByteSigned: words1([...i32(24), ...simd(0xab), ...i32(24), ...simd(0xac)]),
    lowHalfSigned: words1([...i32(16), ...simd(0xab), ...i32(16), ...simd(0xac)]),

    add64: doublesChecked(2, [...load(1), ...load(2), ...v.add64]),
    sub64: doublesChecked(2, [...load(1), ...load(2), ...simd(0xf1)]),
    mul64: doublesChecked(2, [...product, ...splat64(0), ...v.add64]),
    fma64: doublesChecked(3, [...product, ...load(3), ...v.add64], product),
    shl64: shiftedLeft64(),
    shr64: shiftedRight64(true),
    shrUnsigned64: shiftedRight64(false),
    and64: bits64(0x83),
    or64: bits64(0x84),
    xor64: bits64(0x85),
    eqDouble: compareDoubles(v.eq64),
    neDouble: compareDoubles(simd(0x48)),
    ltDouble: compareDoubles(v.lt64),
    leDouble: compareDoubles(v.le64),
    ltUnsigned64: lessUnsigned64(),

    addDouble: doubles2(v.add64),
    subDouble: doubles2(simd(0xf1)),
    mulDouble: doubles2(v.mul64),
    divDouble: doubles2(simd(0xf3)),
    minDouble: extreme(v.min64),
    maxDouble: extreme(v.max64),
    fmaDouble: loop([8, 8, 8, 8], 2, store(0, [...product, ...load(3), ...v.add64])),
    negDouble: doubles1(simd(0xed)),
    absDouble: doubles1(simd(0xec)),
    sqrtDouble: doubles1(simd(0xef)),
    floorDouble: doubles1(simd(0x75)),
    ceilDouble: doubles1(simd(0x74)),
    truncDouble: doubles1(v.trunc64),
    addFloat: doubles2([...v.add64, ...rounded]),
    subFloat: doubles2([...simd(0xf1), ...rounded]),
    mulFloat: doubles2([...v.mul64, ...rounded]),
    divFloat: doubles2([...simd(0xf3), ...rounded]),
    fmaFloat: loop([8, 8, 8, 8], 2, store(0, [...product, ...load(3), ...v.add64, ...rounded])),
    sqrtFloat: doubles1([...simd(0xef), ...rounded]),
    rcpFloat: loop([8, 8], 2, store(0, [...splat64(1), ...load(1), ...simd(0xf3), ...rounded])),
    rsqrtFloat: loop([8, 8], 2, store(0, [...splat64(1), ...load(1), ...simd(0xef), ...simd(0xf3), ...rounded])),

    widen: fromWords(v.toDouble),
    widenUnsigned: fromWords(v.toDoubleUnsigned),
    wordToFloat: fromWords([...v.toDouble, ...rounded]),
    wordToFloatUnsigned: fromWords([...v.toDoubleUnsigned, ...rounded]),
    narrow: doubles1(rounded),
    lowWord: loop([4, 8], 1, storeWord(0, [...loadDouble(1), ...saturate(6), 0xa7])),
    floatToWord: truncated(-(2 ** 31), 2 ** 31 - 1, simd(0xfc)),
    floatToWordUnsigned: truncated(0, 2 ** 32 - 1, simd(0xfd)),
    bitsOfFloat: loop([4, 8], 4, store(0, [...load(1), ...v.demote, ...load(1, 16), ...v.demote, ...firstHalves])),
    floatOfBits: fromWords(v.promote),
  }) satisfies Record<string, LaneFunction>;

export type LaneCodeName = keyof ReturnType<typeof functions>;
/** Gives whether some lane failed, where an operation can; of `part` how many lanes the first mask has. */
export type LaneCode = Readonly<Record<LaneCodeName, (...values: number[]) => number>>;

const counted = (items: readonly Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()];
const section = (id: number, content: Bytes): Bytes => [id, ...unsigned(content.length), ...content];
const text = (value: string): Bytes => counted([...value].map((letter) => [letter.charCodeAt(0)]));

/** The module over a memory `env.memory`; what it exports are the functions by their names. */
export function laneModule(): Uint8Array<ArrayBuffer> {
  const named = functions();
  const all: readonly LaneFunction[] = Object.values(named);
  const typeOf = ({ parameters }: LaneFunction): Bytes => [0x60, ...counted(parameters.map((kind) => [kind])), 1, I32];
  const codeOf = ({ locals, body }: LaneFunction): Bytes => {
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
