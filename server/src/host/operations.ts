/** Arithmetic of the IR as WebAssembly: operands are on the stack in order, the result takes their place. */
import type { BinaryOp, CompareOp, ScalarType, UnaryOp } from '../program/program';
import { Kind, op, truncate } from '../wasm/opcodes';
import type { Code } from './wasm';

export const kindOf: Readonly<Record<ScalarType, Kind>> = {
  pred: Kind.i32,
  i8: Kind.i32,
  u8: Kind.i32,
  i16: Kind.i32,
  u16: Kind.i32,
  i32: Kind.i32,
  u32: Kind.i32,
  i64: Kind.i64,
  u64: Kind.i64,
  f16: Kind.f32,
  bf16: Kind.f32,
  f32: Kind.f32,
  f64: Kind.f64,
};

const signed: ReadonlySet<ScalarType> = new Set<ScalarType>(['i8', 'i16', 'i32', 'i64']);

/** Functions that are called: of two or one number each of its kind, by name. */
export interface Calls {
  readonly call: (name: string) => void;
}

/** Brings a 32-bit result back into the range of a narrower type. */
export function narrow(code: Code, type: ScalarType, calls: Calls): void {
  switch (type) {
    case 'i8':
      code.op(op.i32Extend8S);
      break;
    case 'i16':
      code.op(op.i32Extend16S);
      break;
    case 'u8':
    case 'u16':
      code.i32(type === 'u8' ? 0xff : 0xffff);
      code.op(op.i32And);
      break;
    case 'f16':
    case 'bf16':
      code.op(op.f64PromoteF32);
      calls.call(type === 'f16' ? 'roundHalf' : 'roundBfloat');
      code.op(op.f32DemoteF64);
      break;
    default:
      break;
  }
}

type Table<K extends string> = Readonly<Partial<Record<K, readonly [signed: number, unsigned: number]>>>;
const both = (code: number): readonly [number, number] => [code, code];

const of32: Table<BinaryOp> = {
  add: both(op.i32Add),
  sub: both(op.i32Sub),
  mul: both(op.i32Mul),
  div: [op.i32DivS, op.i32DivU],
  rem: [op.i32RemS, op.i32RemU],
  and: both(op.i32And),
  or: both(op.i32Or),
  xor: both(op.i32Xor),
  shl: both(op.i32Shl),
  shr: [op.i32ShrS, op.i32ShrU],
};
const of64: Table<BinaryOp> = {
  add: both(op.i64Add),
  sub: both(op.i64Sub),
  mul: both(op.i64Mul),
  div: [op.i64DivS, op.i64DivU],
  rem: [op.i64RemS, op.i64RemU],
  and: both(op.i64And),
  or: both(op.i64Or),
  xor: both(op.i64Xor),
  shl: both(op.i64Shl),
  shr: [op.i64ShrS, op.i64ShrU],
};
const ofSingle: Table<BinaryOp> = {
  add: both(op.f32Add),
  sub: both(op.f32Sub),
  mul: both(op.f32Mul),
  div: both(op.f32Div),
  min: both(op.f32Min),
  max: both(op.f32Max),
  copysign: both(op.f32Copysign),
};
const ofDouble: Table<BinaryOp> = {
  add: both(op.f64Add),
  sub: both(op.f64Sub),
  mul: both(op.f64Mul),
  div: both(op.f64Div),
  min: both(op.f64Min),
  max: both(op.f64Max),
  copysign: both(op.f64Copysign),
};
const binaries = { [Kind.i32]: of32, [Kind.i64]: of64, [Kind.f32]: ofSingle, [Kind.f64]: ofDouble };

/** Operations of two numbers that have an instruction of their own; false for the others. */
export function binaryCode(code: Code, fn: BinaryOp, type: ScalarType, calls: Calls): boolean {
  const codes = binaries[kindOf[type]][fn];
  if (!codes) return false;
  code.op(codes[signed.has(type) ? 0 : 1]);
  narrow(code, type, calls);
  return true;
}

const compare32: Table<CompareOp> = {
  eq: both(op.i32Eq),
  ne: both(op.i32Ne),
  lt: [op.i32LtS, op.i32LtU],
  le: [op.i32LeS, op.i32LeU],
  gt: [op.i32GtS, op.i32GtU],
  ge: [op.i32GeS, op.i32GeU],
};
const compare64: Table<CompareOp> = {
  eq: both(op.i64Eq),
  ne: both(op.i64Ne),
  lt: [op.i64LtS, op.i64LtU],
  le: [op.i64LeS, op.i64LeU],
  gt: [op.i64GtS, op.i64GtU],
  ge: [op.i64GeS, op.i64GeU],
};
const compareSingle: Table<CompareOp> = {
  eq: both(op.f32Eq),
  ne: both(op.f32Ne),
  lt: both(op.f32Lt),
  le: both(op.f32Le),
  gt: both(op.f32Gt),
  ge: both(op.f32Ge),
};
const compareDouble: Table<CompareOp> = {
  eq: both(op.f64Eq),
  ne: both(op.f64Ne),
  lt: both(op.f64Lt),
  le: both(op.f64Le),
  gt: both(op.f64Gt),
  ge: both(op.f64Ge),
};
const compares = { [Kind.i32]: compare32, [Kind.i64]: compare64, [Kind.f32]: compareSingle, [Kind.f64]: compareDouble };

export function compareCode(code: Code, fn: CompareOp, type: ScalarType): void {
  const codes = compares[kindOf[type]][fn];
  if (codes) code.op(codes[signed.has(type) ? 0 : 1]);
}

/** Functions of one floating-point number that have an instruction, for singles and doubles. */
const floating: Partial<Record<UnaryOp, readonly [number, number]>> = {
  neg: [op.f32Neg, op.f64Neg],
  abs: [op.f32Abs, op.f64Abs],
  sqrt: [op.f32Sqrt, op.f64Sqrt],
  floor: [op.f32Floor, op.f64Floor],
  ceil: [op.f32Ceil, op.f64Ceil],
  trunc: [op.f32Trunc, op.f64Trunc],
  rint: [op.f32Nearest, op.f64Nearest],
};

export function unaryFloat(code: Code, fn: UnaryOp, type: ScalarType, calls: Calls): void {
  const isDouble = kindOf[type] === Kind.f64;
  const codes = floating[fn];
  if (codes) code.op(codes[isDouble ? 1 : 0]);
  else {
    if (!isDouble) code.op(op.f64PromoteF32);
    calls.call(fn);
    if (!isDouble) code.op(op.f32DemoteF64);
  }
  narrow(code, type, calls);
}

/** Integer functions of one number; false for those that are none. */
export function unaryInteger(code: Code, fn: UnaryOp, type: ScalarType, calls: Calls): boolean {
  const isLong = kindOf[type] === Kind.i64;
  switch (fn) {
    case 'lognot':
      code.op(op.i32Eqz);
      return true;
    case 'neg':
      if (isLong) {
        code.i64(-1n);
        code.op(op.i64Mul);
      } else {
        code.i32(-1);
        code.op(op.i32Mul);
      }
      break;
    case 'bitnot':
      if (isLong) {
        code.i64(-1n);
        code.op(op.i64Xor);
      } else {
        code.i32(-1);
        code.op(op.i32Xor);
      }
      break;
    case 'popc':
      code.op(isLong ? op.i64Popcnt : op.i32Popcnt);
      break;
    case 'clz':
      code.op(isLong ? op.i64Clz : op.i32Clz);
      break;
    case 'abs':
    case 'ffs':
    case 'brev':
      calls.call(isLong ? `${fn}64` : `${fn}32`);
      break;
    default:
      return false;
  }
  narrow(code, type, calls);
  return true;
}

/** A value of one type made one of another, as C++ converts. */
export function convertCode(code: Code, from: ScalarType, to: ScalarType, calls: Calls): void {
  const [a, b] = [kindOf[from], kindOf[to]];
  const isSigned = signed.has(from);
  if (a === Kind.i32 && b === Kind.i64) code.op(isSigned ? op.i64ExtendI32S : op.i64ExtendI32U);
  else if (a === Kind.i64 && b === Kind.i32) code.op(op.i32WrapI64);
  else if (a === Kind.i32 && b === Kind.f32) code.op(isSigned ? op.f32ConvertI32S : op.f32ConvertI32U);
  else if (a === Kind.i32 && b === Kind.f64) code.op(isSigned ? op.f64ConvertI32S : op.f64ConvertI32U);
  else if (a === Kind.i64 && b === Kind.f32) code.op(isSigned ? op.f32ConvertI64S : op.f32ConvertI64U);
  else if (a === Kind.i64 && b === Kind.f64) code.op(isSigned ? op.f64ConvertI64S : op.f64ConvertI64U);
  else if (a === Kind.f32 && b === Kind.f64) code.op(op.f64PromoteF32);
  else if (a === Kind.f64 && b === Kind.f32) code.op(op.f32DemoteF64);
  else if (a !== b) toInteger(code, a, to);
  if (a !== b || a === Kind.i32 || to === 'f16' || to === 'bf16') narrow(code, to, calls);
}

/** Out of range what x86 gives differs; the value is then wrong in the program too. */
function toInteger(code: Code, from: Kind, to: ScalarType): void {
  const isSingle = from === Kind.f32;
  if (kindOf[to] === Kind.i64) {
    const isSigned = to === 'i64';
    code.truncate(
      isSingle ? (isSigned ? truncate.i64F32S : truncate.i64F32U) : isSigned ? truncate.i64F64S : truncate.i64F64U,
    );
  } else if (to === 'u32') {
    // a negative number wraps, as the conversion through 64 bits does
    code.truncate(isSingle ? truncate.i64F32S : truncate.i64F64S);
    code.op(op.i32WrapI64);
  } else code.truncate(isSingle ? truncate.i32F32S : truncate.i32F64S);
}

export function bitcastCode(code: Code, from: ScalarType, to: ScalarType): boolean {
  const [a, b] = [kindOf[from], kindOf[to]];
  if (from === 'f16' || from === 'bf16' || to === 'f16' || to === 'bf16') return false;
  if (a === b) return true;
  if (a === Kind.i32 && b === Kind.f32) code.op(op.f32ReinterpretI32);
  else if (a === Kind.f32 && b === Kind.i32) code.op(op.i32ReinterpretF32);
  else if (a === Kind.i64 && b === Kind.f64) code.op(op.f64ReinterpretI64);
  else if (a === Kind.f64 && b === Kind.i64) code.op(op.i64ReinterpretF64);
  else return false;
  return true;
}
