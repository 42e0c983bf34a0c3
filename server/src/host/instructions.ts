/** Instructions of the host's program as WebAssembly, values and shadows. */

import type { HostInstruction } from '../program/host-program';
import { writesOf } from '../program/operands';
import { bytesOf, type Instruction, type Program, type Register, type ScalarType } from '../program/program';
import { Kind, op } from '../wasm/opcodes';
import { costOf, importIndex, imports, moving } from './imports';
import { MemoryEmitter } from './memory-access';
import { LAUNCH_SHADOWS, LAUNCH_VALUES, MOST_VALUES } from './memory-layout';
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
import { ANY } from './points-to';
import { ANYWHERE, type Reach } from './reach';
import type { HostValues } from './values';
import type { Code } from './wasm';

const { i32, i64, f64 } = Kind;

export class InstructionEmitter {
  private readonly scratch: Readonly<Record<'zero' | 'minus', number>>;
  private readonly memory: MemoryEmitter;
  private readonly spent: number;
  private readonly calls: Calls = { call: (name) => this.call(name) };

  constructor(
    private readonly program: Program,
    private readonly values: HostValues,
    private readonly code: Code,
    /** The variable of the module with the number of instructions that are left. */
    private readonly left: number,
    private readonly reach: Reach,
  ) {
    this.spent = values.local(i64);
    this.scratch = {
      zero: values.local(i32),
      minus: values.local(i32),
    };
    this.memory = new MemoryEmitter(program, values, code, (name) => this.call(name), reach);
  }

  /** Calls a function of the host. */
  call(name: string): void {
    const index = importIndex.get(name);
    if (index === undefined) throw new Error(`${name} is no function of the host`);
    this.code.call(index);
    const isMoving = moving.has(name);
    if (isMoving) this.code.local(op.localSet, this.spent);
    this.code.local(op.globalGet, this.left);
    this.code.i64(BigInt(costOf(imports[index])));
    this.code.op(op.i64Sub);
    if (isMoving) {
      this.code.local(op.localGet, this.spent);
      this.code.op(op.i64Sub);
    }
    this.code.local(op.globalSet, this.left);
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
          this.memory.load(
            dst,
            instruction.type,
            instruction.address,
            instruction.offset + i * bytesOf[instruction.type],
          );
        });
        break;
      case 'store':
        instruction.values.forEach((value, i) => {
          this.memory.store(
            value,
            instruction.type,
            instruction.address,
            instruction.offset + i * bytesOf[instruction.type],
          );
        });
        break;
      case 'host':
        this.host(instruction);
        break;
      case 'atomic':
        this.memory.wild(instruction.address, false);
        this.unknown(writesOf(instruction));
        break;
      default:
        this.unknown(writesOf(instruction));
    }
  }

  /** What an address may lead to where it is not known. */
  private reachOf(address: Register): number {
    return this.values.mayBeUnknown(address) ? this.reach.of(address, false) : ANYWHERE;
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
      this.values.getShadow(dst);
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

  private host({ fn, dst, args, launch, callee }: HostInstruction): void {
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
          code.i64(-1n);
          this.values.shadow(args[0]);
          code.op(op.i32Eqz);
          code.op(op.select);
        }
        code.i32(fn === 'allocate' ? 0 : fn === 'allocateZero' ? 1 : 2);
        code.i32(dst === undefined ? ANY : this.reach.classOf(dst));
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
      case 'seed':
        argument(0);
        this.values.shadow(args[0]);
        this.call('seed');
        if (dst === undefined) code.op(0x1a);
        else this.values.set(dst);
        break;
      case 'file':
        argument(0);
        argument(1);
        this.values.shadow(args[0]);
        code.i32(dst === undefined ? ANY : this.reach.classOf(dst));
        this.call('file');
        if (dst === undefined) code.op(0x1a);
        else this.values.set(dst);
        break;
      case 'touch':
      case 'release':
        argument(0);
        this.values.shadow(args[0]);
        this.call(fn);
        break;
      case 'copy':
        for (let i = 0; i < 6; i++) argument(i);
        this.values.shadow(args[0]);
        this.values.shadow(...args.slice(1));
        code.i32(this.reachOf(args[0]));
        this.call('copy');
        break;
      case 'fill':
        for (let i = 0; i < 3; i++) argument(i);
        this.values.shadow(args[0]);
        this.values.shadow(...args.slice(1));
        code.i32(this.reachOf(args[0]));
        this.call('fill');
        break;
      case 'wild':
        this.memory.wild(args[0], true);
        break;
      case 'launch':
        this.launch(args, launch ?? 0);
        break;
      case 'recurse':
        this.code.call(imports.length + 1 + (callee ?? 0));
        break;
      case 'leave':
      case 'thrown':
        break;
      case 'end':
      case 'lost':
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

/** Shift counts have a type of their own. */
function convertCount(code: Code, from: Kind, to: Kind): void {
  if (from === i32 && to === i64) code.op(op.i64ExtendI32U);
  else if (from === i64 && to === i32) code.op(op.i32WrapI64);
}
