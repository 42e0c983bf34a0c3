/**
 * Pure expressions by operation and operands, with the register each is in. Entries of a region are dropped when it is left:
 * expressions first computed there do not dominate what follows. One table for all regions, numbers for keys: kernels that
 * are written out look up an expression for nearly every instruction.
 */
import type { BinaryOp, CompareOp, Register, ScalarType, UnaryOp } from './program';

const FIELDS = 5;

export class ExpressionTable {
  /** Entries in the order they came: operation, three operands, result. */
  private entries = new Int32Array(FIELDS * 256);
  private count = 0;
  /** Open addressing with linear probing: entry + 1, 0 for free. Entries leave in the reverse order they came. */
  private slots = new Int32Array(1024);
  private readonly starts: number[] = [];

  /** The register the expression is in, -1 when it is not known. */
  find(operation: number, a: Register, b: Register, c: Register): Register {
    const { entries, slots } = this;
    const mask = slots.length - 1;
    for (let slot = hash(operation, a, b, c) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const at = (slots[slot] - 1) * FIELDS;
      if (entries[at] === operation && entries[at + 1] === a && entries[at + 2] === b && entries[at + 3] === c)
        return entries[at + 4];
    }
    return -1;
  }

  /** Adds an expression that `find` does not know. */
  add(operation: number, a: Register, b: Register, c: Register, register: Register): void {
    if ((this.count + 1) * 2 > this.slots.length) this.grow();
    const at = this.count * FIELDS;
    if (at === this.entries.length) {
      const larger = new Int32Array(at * 2);
      larger.set(this.entries);
      this.entries = larger;
    }
    this.entries[at] = operation;
    this.entries[at + 1] = a;
    this.entries[at + 2] = b;
    this.entries[at + 3] = c;
    this.entries[at + 4] = register;
    this.place(this.count++);
  }

  enter(): void {
    this.starts.push(this.count);
  }

  /** Drops what was added since the region was entered. */
  leave(): void {
    const start = this.starts.pop() ?? 0;
    const mask = this.slots.length - 1;
    while (this.count > start) {
      const entry = --this.count;
      let slot = this.hashOf(entry) & mask;
      while (this.slots[slot] !== entry + 1) slot = (slot + 1) & mask;
      this.slots[slot] = 0;
    }
  }

  /** Drops everything; open regions stay open. */
  clear(): void {
    this.slots.fill(0);
    this.count = 0;
    this.starts.fill(0);
  }

  private place(entry: number): void {
    const mask = this.slots.length - 1;
    let slot = this.hashOf(entry) & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = entry + 1;
  }

  private hashOf(entry: number): number {
    const at = entry * FIELDS;
    return hash(this.entries[at], this.entries[at + 1], this.entries[at + 2], this.entries[at + 3]);
  }

  private grow(): void {
    this.slots = new Int32Array(this.slots.length * 2);
    for (let entry = 0; entry < this.count; entry++) this.place(entry);
  }
}

/** Multiplicative hashing, the high bits folded down. */
function hash(operation: number, a: number, b: number, c: number): number {
  let h = Math.imul(operation, 0x9e3779b1) ^ Math.imul(a, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15) ^ b, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 13) ^ c, 0x27d4eb2f);
  return h ^ (h >>> 16);
}

const numbers = new Map<string, number>();

/** Small numbers for names, given in the order they are asked for. */
function numberOf(name: string): number {
  let number = numbers.get(name);
  if (number === undefined) numbers.set(name, (number = numbers.size + 1));
  return number;
}

/** Numbers of types are below. */
export const TYPES = 32;
const typeNumbers: Record<ScalarType, number> = {
  pred: 1,
  i8: 2,
  u8: 3,
  i16: 4,
  u16: 5,
  i32: 6,
  u32: 7,
  i64: 8,
  u64: 9,
  f16: 10,
  bf16: 11,
  f32: 12,
  f64: 13,
};

export const typeNumber = (type: ScalarType): number => typeNumbers[type];

type Operation = 'unary' | 'convert' | 'binary' | 'compare' | 'select' | 'fma';

const operationNumbers: Record<Operation, number> = { unary: 0, convert: 1, binary: 2, compare: 3, select: 4, fma: 5 };

/** One number for what an instruction does apart from its operands. `from`: of a conversion, and of a bit cast. */
export function operationKey(
  op: Operation,
  fn: UnaryOp | BinaryOp | CompareOp | '',
  type: ScalarType,
  from?: ScalarType,
): number {
  const types = typeNumbers[type] * TYPES + (from === undefined ? 0 : typeNumbers[from]);
  return (numberOf(fn) * 8 + operationNumbers[op]) * TYPES * TYPES + types;
}
