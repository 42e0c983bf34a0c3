/** Which array or parameter an address is made from: followed through arithmetic, copies and loops. */

import type { FlatGraph } from './blocks';
import { assignedBy } from './blocks';
import type { FlatInstruction } from './flatten';
import type { Operand } from './module';

/** Nothing said yet, not an address, or several. */
const OPEN = -1;
const NONE = -2;
const SEVERAL = -3;

const copies = new Set(['mov', 'cvta', 'cvt', 'selp', 'add', 'sub', 'mad', 'or', 'shfl']);

export interface Roots {
  /** Name of what the register's address is made from: `parameter 0+8`, `symbol 0:tile`. */
  of(register: number): string | undefined;
  /** Whether a parameter (by the same name) is used as an address. */
  isPointer(name: string): boolean;
}

/** Parameters by name and byte offset, symbols by frame and name. */
export function rootName(operand: Operand, frame: number): string | undefined {
  return operand.kind === 'symbol' ? `symbol ${frame}:${operand.name}` : undefined;
}

export function parameterName(name: string, offset: number): string {
  return `parameter ${name}+${offset}`;
}

export function rootsOf(registerCount: number, graph: FlatGraph): Roots {
  return new RootFinder(registerCount, graph);
}

interface Assignment {
  readonly instruction: FlatInstruction;
  readonly register: number;
  /** What it gives whatever the roots of its operands are. */
  readonly fixed: number | undefined;
}

class RootFinder implements Roots {
  private readonly roots: Int32Array;
  private readonly names: string[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly pointers = new Set<number>();

  constructor(
    registerCount: number,
    private readonly graph: FlatGraph,
  ) {
    this.roots = new Int32Array(registerCount).fill(OPEN);
    const relevant = this.relevant();
    // Pointer parameters first: a sum of two parameters is made from the one that is a pointer.
    this.settle(relevant);
    this.findPointers();
    this.roots.fill(OPEN);
    this.settle(relevant);
  }

  of(register: number): string | undefined {
    const root = this.roots[register];
    return root >= 0 ? this.names[root] : undefined;
  }

  isPointer(name: string): boolean {
    const number = this.numbers.get(name);
    return number !== undefined && this.pointers.has(number);
  }

  private settle(relevant: readonly Assignment[]): void {
    for (let changed = true, rounds = 0; changed && rounds < 20; rounds++) {
      changed = false;
      for (const { instruction, register, fixed } of relevant) {
        const next = meet(this.roots[register], fixed ?? this.result(instruction));
        if (next !== this.roots[register]) {
          this.roots[register] = next;
          changed = true;
        }
      }
    }
  }

  private relevant(): Assignment[] {
    const result: Assignment[] = [];
    for (const block of this.graph.flow.order) {
      for (const instruction of this.graph.blocks[block].instructions) {
        const fixed = this.fixedResult(instruction);
        for (const register of assignedBy(instruction)) result.push({ instruction, register, fixed });
      }
    }
    return result;
  }

  /** Undefined for what hangs on the roots of its operands. */
  private fixedResult(instruction: FlatInstruction): number | undefined {
    const { base, parts } = instruction.opcode;
    if (base === 'ld' && parts[1] === 'param') return this.parameter(instruction);
    if (copies.has(base)) return undefined;
    return base === 'ld' || base === 'atom' ? SEVERAL : NONE;
  }

  private result(instruction: FlatInstruction): number {
    const { base } = instruction.opcode;
    let result = NONE;
    const count = base === 'selp' ? 3 : instruction.operands.length;
    for (let i = 1; i < count; i++) {
      const root = this.operand(instruction.operands[i], instruction.frame);
      if (base === 'selp') result = i === 1 ? root : meet(result, root);
      else result = this.sum(result, root);
    }
    return result;
  }

  private parameter(instruction: FlatInstruction): number {
    const address = instruction.operands[1];
    const isWide = instruction.opcode.parts.some((part) => part.endsWith('64'));
    if (address?.kind !== 'address' || address.base.kind !== 'symbol' || !isWide) return NONE;
    // a member's bytes within the parameter stand with its name: [param_0+8]
    return this.number(parameterName(address.base.name, address.base.offset + address.offset));
  }

  private operand(operand: Operand, frame: number): number {
    if (operand.kind === 'register') return this.roots[operand.register];
    const name = rootName(operand, frame);
    return name === undefined ? NONE : this.number(name);
  }

  private sum(a: number, b: number): number {
    if (a === NONE || b === NONE) return a === NONE ? b : a;
    if (a === OPEN || b === OPEN) return OPEN;
    if (a < 0 || b < 0) return SEVERAL;
    const isA = this.isAddress(a);
    return isA === this.isAddress(b) ? (isA && a !== b ? SEVERAL : a) : isA ? a : b;
  }

  private isAddress(root: number): boolean {
    return this.pointers.has(root) || this.names[root].startsWith('symbol');
  }

  private number(name: string): number {
    let number = this.numbers.get(name);
    if (number === undefined) {
      number = this.names.length;
      this.names.push(name);
      this.numbers.set(name, number);
    }
    return number;
  }

  /** What cvta takes, or an access starts from, is a pointer. */
  private findPointers(): void {
    for (const block of this.graph.flow.order) {
      for (const { opcode, operands } of this.graph.blocks[block].instructions) {
        if (opcode.base === 'cvta') this.mark(operands[1]);
        for (const operand of operands) if (operand.kind === 'address') this.mark(operand.base);
      }
    }
  }

  private mark(operand: Operand | undefined): void {
    const root = operand?.kind === 'register' ? this.roots[operand.register] : NONE;
    if (root >= 0) this.pointers.add(root);
  }
}

function meet(a: number, b: number): number {
  if (a === OPEN || a === b) return b;
  return b === OPEN ? a : SEVERAL;
}
