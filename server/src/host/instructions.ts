/** Instructions of the host's program as WebAssembly, values and shadows. */
import { writesOf } from '../program/operands';
import {
  bytesOf,
  type HostInstruction,
  type Instruction,
  type Program,
  type Register,
  type ScalarType,
} from '../program/program';
import { pointersOf } from './doubt';
import { importIndex } from './imports';
import { LAUNCH_SHADOWS, LAUNCH_VALUES, MOST_VALUES, SHADOW } from './memory-layout';
import {
  binaryCode,
  bitcastCode,
  type Calls,
  compareCode,
  convertCode,
  kindOf,
  narrow,
  unaryFloat,
  unaryInteger,
} from './operations';
import type { HostValues } from './values';
import { type Code, Kind, op } from './wasm';

const { i32, i64, f64 } = Kind;

/** Bytes of a block of which nobody knows how many it needs; loops over it have an end that is not known, and are left. */
const UNKNOWN_SIZE = 65536;

export class InstructionEmitter {
  private readonly scratch: Readonly<Record<'zero' | 'address' | 'minus' | 'shadow', number>>;
  private readonly calls: Calls = { call: (name) => this.call(name) };

  constructor(
    private readonly program: Program,
    private readonly values: HostValues,
    private readonly code: Code,
  ) {
    this.scratch = {
      zero: values.local(i32),
      address: values.local(i64),
      minus: values.local(i32),
      shadow: values.local(i32),
    };
  }

  /** Calls a function of the host. */
  call(name: string): void {
    const index = importIndex.get(name);
    if (index === undefined) throw new Error(`${name} is no function of the host`);
    this.code.call(index);
  }

  /** Emits an instruction. */
  emit(instruction: Instruction): void {
    const { code } = this;
    switch (instruction.op) {
      case 'unary':
        this.values.shadowFrom(instruction.dst, instruction.a);
        this.unary(instruction);
        break;
      case 'convert':
        this.values.get(instruction.a);
        convertCode(code, instruction.from, instruction.type, this.calls);
        this.values.set(instruction.dst);
        this.values.shadowFrom(instruction.dst, instruction.a);
        break;
      case 'binary':
        this.binary(instruction);
        break;
      case 'compare':
        this.values.get(instruction.a);
        this.values.get(instruction.b);
        compareCode(code, instruction.fn, instruction.type);
        this.values.set(instruction.dst);
        this.values.shadowFrom(instruction.dst, instruction.a, instruction.b);
        break;
      case 'select':
        this.select(instruction);
        break;
      case 'fma':
        this.values.get(instruction.a);
        this.values.get(instruction.b);
        binaryCode(code, 'mul', instruction.type, this.calls);
        this.values.get(instruction.c);
        binaryCode(code, 'add', instruction.type, this.calls);
        this.values.set(instruction.dst);
        this.values.shadowFrom(instruction.dst, instruction.a, instruction.b, instruction.c);
        break;
      case 'load':
        instruction.dst.forEach((dst, i) => {
          this.load(dst, instruction.type, instruction.address, instruction.offset + i * bytesOf[instruction.type]);
        });
        break;
      case 'store':
        instruction.values.forEach((value, i) => {
          this.store(value, instruction.type, instruction.address, instruction.offset + i * bytesOf[instruction.type]);
        });
        break;
      case 'host':
        this.host(instruction);
        break;
      case 'atomic':
        this.wild(instruction.address, false);
        this.unknown(writesOf(instruction));
        break;
      default:
        this.unknown(writesOf(instruction));
    }
  }

  private unknown(registers: readonly Register[]): void {
    for (const register of registers) {
      this.code.i32(-1);
      this.values.setShadow(register);
    }
  }

  private unary({ fn, type, dst, a, from }: Instruction & { op: 'unary' }): void {
    const { code } = this;
    this.values.get(a);
    if (fn === 'mov') this.values.set(dst);
    else if (fn === 'bitcast') {
      const isCast = bitcastCode(code, from ?? type, type);
      if (isCast) this.values.set(dst);
      else {
        code.op(0x1a);
        this.unknown([dst]);
      }
    } else if (fn === 'isnan' || fn === 'isinf') this.classify(fn, type, dst, a);
    else if (kindOf[type] === Kind.f32 || kindOf[type] === f64) {
      unaryFloat(code, fn, type, this.calls);
      this.values.set(dst);
    } else {
      unaryInteger(code, fn, type, this.calls);
      this.values.set(dst);
    }
  }

  private classify(fn: 'isnan' | 'isinf', type: ScalarType, dst: Register, a: Register): void {
    const { code } = this;
    const isDouble = kindOf[type] === f64;
    if (fn === 'isnan') {
      this.values.get(a);
      code.op(isDouble ? op.f64Ne : op.f32Ne);
    } else {
      code.op(isDouble ? op.f64Abs : op.f32Abs);
      if (isDouble) code.f64(Number.POSITIVE_INFINITY);
      else code.f32(Number.POSITIVE_INFINITY);
      code.op(isDouble ? op.f64Eq : op.f32Eq);
    }
    this.values.set(dst);
  }

  private binary({ fn, type, dst, a, b }: Instruction & { op: 'binary' }): void {
    const { code } = this;
    const kind = kindOf[type];
    this.values.shadowFrom(dst, a, b);
    const isInteger = kind === i32 || kind === i64;
    if ((fn === 'div' || fn === 'rem') && isInteger) this.divide(fn, type, dst, a, b);
    else if ((fn === 'min' || fn === 'max' || fn === 'mulhi') && isInteger) {
      this.values.get(a);
      this.values.get(b);
      const sign = type.startsWith('i') ? 'S' : 'U';
      this.call(`${fn}${sign}${kind === i64 ? 64 : 32}`);
    } else {
      this.values.get(a);
      this.values.get(b);
      const typeOfB = this.program.registers[b].type;
      if (fn === 'shl' || fn === 'shr') convertCount(code, kindOf[typeOfB], kind);
      if (!binaryCode(code, fn, type, this.calls)) this.callOfTwo(fn, kind);
    }
    this.values.set(dst);
  }

  private callOfTwo(fn: string, kind: Kind): void {
    const { code } = this;
    if (kind === f64) {
      this.call(fn);
      return;
    }
    // the first operand is below the second: both are widened
    code.op(op.f64PromoteF32);
    const second = this.wide ?? (this.wide = this.values.local(f64));
    code.local(op.localSet, second);
    code.op(op.f64PromoteF32);
    code.local(op.localGet, second);
    this.call(fn);
    code.op(op.f32DemoteF64);
  }

  private wide: number | undefined;

  /** By zero, and of the smallest number by -1, WebAssembly stops; here the first is unknown, the second wraps. */
  private divide(fn: 'div' | 'rem', type: ScalarType, dst: Register, a: Register, b: Register): void {
    const { code } = this;
    const isLong = kindOf[type] === i64;
    const divisor = this.program.registers[b];
    if (divisor.role === 'constant' && divisor.value !== undefined && divisor.value > 0) {
      this.values.get(a);
      this.values.get(b);
      binaryCode(code, fn, type, this.calls);
      return;
    }
    this.values.get(b);
    code.op(isLong ? op.i64Eqz : op.i32Eqz);
    code.local(op.localSet, this.scratch.zero);
    if (this.values.mayBeUnknown(dst)) {
      this.code.local(op.localGet, this.values.shadowLocal(dst));
      code.i32(0);
      code.local(op.localGet, this.scratch.zero);
      code.op(op.i32Sub, op.i32Or);
      this.values.setShadow(dst);
    }
    const isSigned = type.startsWith('i');
    const one = () => (isLong ? code.i64(1n) : code.i32(1));
    const minusOne = () => (isLong ? code.i64(-1n) : code.i32(-1));
    if (isSigned) {
      // a / -1 is -a, a % -1 is 0; else by 1 where the divisor is 0
      this.values.get(b);
      minusOne();
      code.op(isLong ? op.i64Eq : op.i32Eq);
      code.local(op.localSet, this.scratch.minus);
      if (fn === 'div') {
        this.values.get(a);
        minusOne();
        code.op(isLong ? op.i64Mul : op.i32Mul);
      } else if (isLong) code.i64(0n);
      else code.i32(0);
    }
    this.values.get(a);
    one();
    this.values.get(b);
    code.local(op.localGet, this.scratch.zero);
    if (isSigned) {
      code.local(op.localGet, this.scratch.minus);
      code.op(op.i32Or);
    }
    code.op(op.select);
    binaryCode(code, fn, type, this.calls);
    if (isSigned) {
      code.local(op.localGet, this.scratch.minus);
      code.op(op.select);
      narrow(code, type, this.calls);
    }
  }

  private select({ dst, p, a, b }: Instruction & { op: 'select' }): void {
    const { code } = this;
    if (this.values.mayBeUnknown(dst)) {
      this.values.shadow(a);
      this.values.shadow(b);
      this.values.get(p);
      code.op(op.select);
      this.values.shadow(p);
      code.op(op.i32Or);
      code.local(op.localSet, this.scratch.zero);
    }
    this.values.get(a);
    this.values.get(b);
    this.values.get(p);
    code.op(op.select);
    this.values.set(dst);
    if (this.values.mayBeUnknown(dst)) {
      code.local(op.localGet, this.scratch.zero);
      this.values.setShadow(dst);
    }
  }

  // ---- memory ----

  /** Pushes the address as a place in memory; gives the rest of the offset that the access itself may add. */
  private place(address: Register, offset: number): number {
    const { code } = this;
    this.values.get(address);
    code.op(op.i32WrapI64);
    if (offset >= 0) return offset;
    code.i32(offset);
    code.op(op.i32Add);
    return 0;
  }

  private load(dst: Register, type: ScalarType, address: Register, offset: number): void {
    const { code } = this;
    const isDoubtful = this.values.mayBeUnknown(address);
    const read = () => {
      const rest = this.place(address, offset);
      code.memory(loads[type], rest);
      if (type === 'f16' || type === 'bf16') {
        this.call(type === 'f16' ? 'fromHalf' : 'fromBfloat');
        code.op(op.f32DemoteF64);
      }
      this.values.set(dst);
      const again = this.place(address, offset);
      shadowOfBytes(code, bytesOf[type], again);
      this.values.setShadow(dst);
    };
    // the address may be in the register that is loaded into: it is looked at first
    if (!isDoubtful) {
      const saved = this.addressAside(dst, address);
      if (saved === undefined) read();
      else this.readFrom(saved, dst, type, offset);
      return;
    }
    this.values.shadow(address);
    code.open(op.if);
    this.unknown([dst]);
    code.op(op.else);
    read();
    code.op(op.end);
  }

  private addressAside(dst: Register, address: Register): number | undefined {
    if (dst !== address) return undefined;
    this.values.get(address);
    this.code.local(op.localSet, this.scratch.address);
    return this.scratch.address;
  }

  private readFrom(saved: number, dst: Register, type: ScalarType, offset: number): void {
    const { code } = this;
    const push = () => {
      code.local(op.localGet, saved);
      code.op(op.i32WrapI64);
      code.i32(offset);
      code.op(op.i32Add);
    };
    push();
    code.memory(loads[type], 0);
    this.values.set(dst);
    push();
    shadowOfBytes(code, bytesOf[type], 0);
    this.values.setShadow(dst);
  }

  private store(value: Register, type: ScalarType, address: Register, offset: number): void {
    const { code } = this;
    const isDoubtful = this.values.mayBeUnknown(address);
    if (isDoubtful) {
      this.values.shadow(address);
      code.open(op.if);
      this.wild(address, false);
      code.op(op.else);
    }
    const rest = this.place(address, offset);
    this.values.get(value);
    if (type === 'f16' || type === 'bf16') {
      code.op(op.f64PromoteF32);
      this.call(type === 'f16' ? 'toHalf' : 'toBfloat');
    } else fitTo(code, kindOf[this.program.registers[value].type], kindOf[type]);
    code.memory(stores[type], rest);
    const again = this.place(address, offset);
    const bytes = bytesOf[type];
    this.values.shadow(value);
    if (bytes === 8) code.op(op.i64ExtendI32S);
    code.memory(
      bytes === 8 ? op.i64Store : bytes === 4 ? op.i32Store : bytes === 2 ? op.i32Store16 : op.i32Store8,
      again + SHADOW,
    );
    if (isDoubtful) code.op(op.end);
  }

  /** What an address points into may have been written anywhere; where not even the block is known, the run ends. */
  private wild(address: Register, isFurther: boolean): void {
    const { code } = this;
    const root = this.rootOf(address);
    this.values.get(root);
    this.values.shadow(root);
    code.i32(isFurther ? 1 : 0);
    this.call('wild');
  }

  /** The pointer that an address was computed from: an index that is not known leaves the block known. */
  private rootOf(address: Register): Register {
    let root = address;
    for (let i = 0; i < 32; i++) {
      if (this.program.registers[root].role !== 'temporary' || !this.values.mayBeUnknown(root)) return root;
      const instruction = this.values.definition.get(root);
      const from = instruction && instruction.op !== 'load' ? pointersOf(instruction)[0] : undefined;
      if (!from || kindOf[this.program.registers[from.from].type] !== i64) return root;
      root = from.from;
    }
    return root;
  }

  private host({ fn, dst, args, launch }: HostInstruction): void {
    const { code } = this;
    const argument = (index: number) => {
      if (index < args.length) this.values.get(args[index]);
      else code.i64(index === 3 ? 1n : 0n);
    };
    switch (fn) {
      case 'allocate':
      case 'allocateDevice':
      case 'allocateZero':
        argument(0);
        if (this.values.mayBeUnknown(args[0])) {
          code.i64(BigInt(UNKNOWN_SIZE));
          this.values.shadow(args[0]);
          code.op(op.i32Eqz);
          code.op(op.select);
        }
        code.i32(fn === 'allocate' ? 0 : fn === 'allocateZero' ? 1 : 2);
        this.call('allocate');
        if (dst === undefined) code.op(0x1a);
        else {
          this.values.set(dst);
        }
        break;
      case 'certain':
        argument(0);
        this.values.shadow(args[0]);
        code.op(op.i32Eqz, op.i32And);
        if (dst !== undefined) this.values.set(dst);
        break;
      case 'release':
        argument(0);
        this.values.shadow(args[0]);
        this.call('release');
        break;
      case 'copy':
        for (let i = 0; i < 6; i++) argument(i);
        this.values.shadow(args[0]);
        this.values.shadow(...args.slice(1));
        this.call('copy');
        break;
      case 'fill':
        for (let i = 0; i < 3; i++) argument(i);
        this.values.shadow(args[0]);
        this.values.shadow(...args.slice(1));
        this.call('fill');
        break;
      case 'wild':
        this.wild(args[0], true);
        this.wild(args[0], false);
        break;
      case 'launch':
        this.launch(args, launch ?? 0);
        break;
      case 'end':
        this.call('stop');
        code.op(op.return);
        break;
    }
  }

  private launch(args: readonly Register[], index: number): void {
    const { code } = this;
    args.slice(0, MOST_VALUES).forEach((register, i) => {
      const kind = kindOf[this.program.registers[register].type];
      code.i32(LAUNCH_VALUES + 8 * i);
      this.values.get(register);
      const isFloat = kind === Kind.f32 || kind === f64;
      if (kind === Kind.f32) code.op(op.f64PromoteF32);
      else if (kind === i32)
        code.op(this.program.registers[register].type.startsWith('i') ? op.i64ExtendI32S : op.i64ExtendI32U);
      code.memory(isFloat ? op.f64Store : op.i64Store, 0);
      code.i32(LAUNCH_SHADOWS + i);
      this.values.shadow(register);
      code.memory(op.i32Store8, 0);
    });
    code.i32(index);
    this.call('launch');
  }
}

const loads: Readonly<Record<ScalarType, number>> = {
  pred: op.i32Load8U,
  i8: op.i32Load8S,
  u8: op.i32Load8U,
  i16: op.i32Load16S,
  u16: op.i32Load16U,
  i32: op.i32Load,
  u32: op.i32Load,
  i64: op.i64Load,
  u64: op.i64Load,
  f16: op.i32Load16U,
  bf16: op.i32Load16U,
  f32: op.f32Load,
  f64: op.f64Load,
};
const stores: Readonly<Record<ScalarType, number>> = {
  pred: op.i32Store8,
  i8: op.i32Store8,
  u8: op.i32Store8,
  i16: op.i32Store16,
  u16: op.i32Store16,
  i32: op.i32Store,
  u32: op.i32Store,
  i64: op.i64Store,
  u64: op.i64Store,
  f16: op.i32Store16,
  bf16: op.i32Store16,
  f32: op.f32Store,
  f64: op.f64Store,
};

/** -1 where one of the bytes at a place is unknown, else 0. */
function shadowOfBytes(code: Code, bytes: number, offset: number): void {
  if (bytes === 8) {
    code.memory(op.i64Load, offset + SHADOW);
    code.op(op.i64Eqz);
  } else {
    code.memory(bytes === 4 ? op.i32Load : bytes === 2 ? op.i32Load16U : op.i32Load8U, offset + SHADOW);
    code.op(op.i32Eqz);
  }
  code.i32(1);
  code.op(op.i32Sub);
}

/** Shift counts have a type of their own. */
function convertCount(code: Code, from: Kind, to: Kind): void {
  if (from === i32 && to === i64) code.op(op.i64ExtendI32U);
  else if (from === i64 && to === i32) code.op(op.i32WrapI64);
}

/** A value stored as another type of its kind. */
function fitTo(code: Code, from: Kind, to: Kind): void {
  if (from === to) return;
  if (from === i32 && to === i64) code.op(op.i64ExtendI32U);
  else if (from === i64 && to === i32) code.op(op.i32WrapI64);
}
