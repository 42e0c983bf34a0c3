/**
 * Loads and stores of the host's program as WebAssembly: the bytes of a value, and those of its shadow beside them. A register's shadow is
 * -1 where it is not known, a byte's 0.
 */
import { bytesOf, type Program, type Register, type ScalarType } from '../program/program';
import { Kind, op } from '../wasm/opcodes';
import { ALL, SHADOW } from './memory-layout';
import { kindOf } from './operations';
import { ANYWHERE, type Reach } from './reach';
import type { HostValues } from './values';
import type { Code } from './wasm';

const { i32, i64 } = Kind;

export class MemoryEmitter {
  /** An address whose register is loaded into. */
  private readonly aside: number;
  /** Where something is stored. */
  private readonly target: number;

  constructor(
    private readonly program: Program,
    private readonly values: HostValues,
    private readonly code: Code,
    private readonly call: (name: string) => void,
    private readonly reach: Reach,
  ) {
    this.aside = values.local(i64);
    this.target = values.local(i32);
  }

  /** Pushes the address as a place in memory; gives the rest of the offset that the access itself may add. */
  private place(address: Register | 'aside', offset: number): number {
    const { code } = this;
    if (address === 'aside') code.local(op.localGet, this.aside);
    else this.values.get(address);
    code.op(op.i32WrapI64);
    if (offset >= 0) return offset;
    code.i32(offset);
    code.op(op.i32Add);
    return 0;
  }

  /** A value from memory; unknown where the address or one of the bytes is. */
  load(dst: Register, type: ScalarType, address: Register, offset: number): void {
    const { code } = this;
    const isDoubtful = this.values.mayBeUnknown(address);
    const isAnywhere = !this.values.isInObject(address, offset, bytesOf[type]);
    if (isDoubtful) this.values.shadow(address);
    if (isAnywhere) this.isNowhere(address, isDoubtful);
    if (isDoubtful || isAnywhere) {
      code.open(op.if);
      code.i32(-1);
      this.values.setShadow(dst);
      code.op(op.else);
    }
    if (dst === address) {
      this.values.get(address);
      code.local(op.localSet, this.aside);
    }
    const from = dst === address ? 'aside' : address;
    code.memory(loads[type], this.place(from, offset));
    if (type === 'f16' || type === 'bf16') {
      this.call(type === 'f16' ? 'fromHalf' : 'fromBfloat');
      code.op(op.f32DemoteF64);
    }
    this.values.set(dst);
    shadowOfBytes(code, bytesOf[type], this.place(from, offset));
    this.values.setShadow(dst);
    if (isDoubtful || isAnywhere) code.op(op.end);
  }

  /** Pushes -1 where an address is in a block that did not fit into the memory: nothing is kept of these. */
  private isNowhere(address: Register, isAlternative: boolean): void {
    const { code } = this;
    this.place(address, 0);
    code.i32(31);
    code.op(op.i32ShrS);
    if (isAlternative) code.op(op.i32Or);
  }

  /** A value and its shadow to memory; at an address that is not known, its block becomes unknown. */
  store(value: Register, type: ScalarType, address: Register, offset: number): void {
    const { code } = this;
    const isDoubtful = this.values.mayBeUnknown(address);
    if (isDoubtful) {
      this.values.shadow(address);
      code.open(op.if);
      this.wild(address, false);
      code.op(op.else);
    }
    const bytes = bytesOf[type];
    const isAnywhere = !this.values.isInObject(address, offset, bytes);
    if (isAnywhere) {
      this.isNowhere(address, false);
      code.op(op.i32Eqz);
      code.open(op.if);
      this.raise(address, offset);
    }
    const rest = this.place(address, offset);
    this.values.get(value);
    if (type === 'f16' || type === 'bf16') {
      code.op(op.f64PromoteF32);
      this.call(type === 'f16' ? 'toHalf' : 'toBfloat');
    } else fitTo(code, kindOf[this.program.registers[value].type], kindOf[type]);
    code.memory(stores[type], rest);
    const again = this.place(address, offset);
    this.values.shadow(value);
    code.i32(-1);
    code.op(op.i32Xor);
    if (bytes === 8) code.op(op.i64ExtendI32S);
    code.memory(
      bytes === 8 ? op.i64Store : bytes === 4 ? op.i32Store : bytes === 2 ? op.i32Store16 : op.i32Store8,
      again + SHADOW,
    );
    if (isAnywhere) code.op(op.end);
    if (isDoubtful) code.op(op.end);
  }

  /** Notes how far memory was written: what is behind needs no clearing. */
  private raise(address: Register, offset: number): void {
    const { code } = this;
    const rest = this.place(address, offset);
    if (rest > 0) {
      code.i32(rest);
      code.op(op.i32Add);
    }
    code.local(op.localTee, this.target);
    code.local(op.globalGet, HIGH);
    code.op(op.i32GtU);
    code.open(op.if);
    code.local(op.localGet, this.target);
    code.local(op.globalSet, HIGH);
    code.op(op.end);
  }

  /** What an address points into may have been written anywhere (isAll: and all that is behind the pointers there); where not even the block is known, all that it may be in. */
  wild(address: Register, isAll: boolean): void {
    const { code } = this;
    // the pointer that it was computed from: an index that is not known leaves the block known
    const root = this.values.chainOf(address).at(-1) ?? address;
    this.values.get(root);
    this.values.shadow(root);
    code.i32(isAll ? ALL : 0);
    code.i32(this.values.mayBeUnknown(root) ? this.reach.of(root, isAll) : ANYWHERE);
    this.call('wild');
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

/** The only global variable of the module. */
const HIGH = 0;

/** -1 where one of the bytes at a place is unknown, else 0. */
function shadowOfBytes(code: Code, bytes: number, offset: number): void {
  if (bytes === 8) {
    code.memory(op.i64Load, offset + SHADOW);
    code.i64(-1n);
    code.op(op.i64Eq);
  } else {
    code.memory(bytes === 4 ? op.i32Load : bytes === 2 ? op.i32Load16S : op.i32Load8S, offset + SHADOW);
    code.i32(-1);
    code.op(op.i32Eq);
  }
  code.i32(1);
  code.op(op.i32Sub);
}

/** A value stored as another type of its kind. */
function fitTo(code: Code, from: Kind, to: Kind): void {
  if (from === to) return;
  if (from === i32 && to === i64) code.op(op.i64ExtendI32U);
  else if (from === i64 && to === i32) code.op(op.i32WrapI64);
}
