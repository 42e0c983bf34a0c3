/** What the lowering of one kernel holds: PTX registers and the IR registers that hold their values. */

import { ProgramBuilder } from '../program/builder';
import { type InputSource, isFloat, type Register, type ScalarType, type SourcePlace } from '../program/program';
import type { Assignments } from './blocks';
import type { FlatInstruction, FlatKernel } from './flatten';
import type { MachineSites } from './machine-sites';
import type { Operand } from './module';
import type { Places } from './places';
import { specialInputs } from './special-registers';
import { bitsOf, isSameForm } from './types';

export const MOST_INSTRUCTIONS = 1_000_000;

export class Context {
  readonly builder: ProgramBuilder;
  /** By PTX register: the IR register of its value; -1: none yet. */
  private readonly held: Int32Array;
  /** Carry bit of add.cc and its like: within a block. */
  carry: Register | undefined;
  /** Values of variables as last read or assigned in the block: reading one twice gives the same register. */
  private readonly snapshots = new Map<Register, Register>();
  /** The instruction that is being lowered. */
  current: FlatInstruction | undefined;

  constructor(
    readonly kernel: FlatKernel,
    readonly assignments: Assignments,
    readonly places: Places,
    readonly machine: MachineSites | undefined,
    private readonly heldTypes: readonly ScalarType[],
    /** Symbols to registers with their addresses within the space, as i64. */
    readonly addressOfSymbol: (name: string, frame: number) => Register | undefined,
    builder?: ProgramBuilder,
  ) {
    this.builder = builder ?? new ProgramBuilder(kernel.entry.name, MOST_INSTRUCTIONS);
    this.held = new Int32Array(kernel.registers.length).fill(-1);
  }

  /** What is known within a block only is forgotten. */
  startBlock(): void {
    this.carry = undefined;
    this.snapshots.clear();
  }

  get place(): SourcePlace {
    return this.places.of(this.current?.location);
  }

  skip(reason: string): void {
    this.builder.skipped.push({ place: this.place, reason });
  }

  /** An access that is left out: figures of the kernel lack it. */
  skipAccess(reason: string): void {
    this.builder.skipped.push({ place: this.place, reason, isAccess: true });
  }

  constant(type: ScalarType, value: bigint | number): Register {
    if (type === 'pred') return this.builder.constant('pred', Number(value) !== 0 ? 1 : 0);
    if (isFloat(type)) return this.builder.constant(type, Number(value));
    const bits = bitsOf[type];
    const big = typeof value === 'bigint' ? value : BigInt(Math.trunc(value));
    const isSigned = type.startsWith('i') || bits === 64;
    const wrapped = Number(isSigned ? BigInt.asIntN(bits, big) : BigInt.asUintN(bits, big));
    if (Number.isSafeInteger(wrapped)) return this.builder.constant(type, wrapped);
    const half = (word: bigint) => this.builder.constant(type, Number(BigInt.asUintN(32, word)));
    const high = this.builder.binary('shl', type, half(big >> 32n), this.builder.constant('u32', 32));
    return this.builder.binary('or', type, high, half(big));
  }

  /** The value of an operand, in a form that operations of the type take. */
  read(operand: Operand | undefined, type: ScalarType): Register {
    switch (operand?.kind) {
      case 'register':
        return this.coerce(this.valueOf(operand.register), type);
      case 'integer':
        if (isFloat(type)) return this.coerce(this.constant(type === 'f64' ? 'i64' : 'i32', operand.value), type);
        return this.constant(type, operand.value);
      case 'float':
        if (isFloat(type)) return this.constant(type, operand.value);
        return this.coerce(this.builder.constant(bitsOf[type] === 64 ? 'f64' : 'f32', operand.value), type);
      case 'not':
        return this.coerce(this.builder.unary('lognot', 'pred', this.read(operand.of, 'pred')), type);
      case 'special':
        return this.coerce(this.special(operand.name), type);
      case 'symbol': {
        const address = this.addressOfSymbol(operand.name, this.current?.frame ?? 0);
        if (address === undefined) return this.builder.unknown(type, `address of ${operand.name}`);
        const sum =
          operand.offset === 0
            ? address
            : this.builder.binary('add', 'i64', address, this.constant('i64', operand.offset));
        return this.coerce(sum, type);
      }
      default:
        return this.builder.unknown(type, 'operand is not understood');
    }
  }

  /** Whether an operand is a register that holds a double, by what reads it. */
  holdsDouble(operand: Operand | undefined): boolean {
    return operand?.kind === 'register' && this.heldTypes[operand.register] === 'f64';
  }

  /** The value of a PTX register as it is held; one that does not change any more. */
  valueOf(register: number): Register {
    const held = this.storageOf(register);
    if (this.builder.registers[held].role !== 'variable') return held;
    let snapshot = this.snapshots.get(held);
    if (snapshot === undefined) {
      snapshot = this.builder.unary('mov', this.builder.typeOf(held), held);
      this.snapshots.set(held, snapshot);
    }
    return snapshot;
  }

  private storageOf(register: number): Register {
    const held = this.held[register];
    if (held >= 0) return held;
    const type = this.heldTypes[register];
    const { name } = this.kernel.registers[register];
    if (this.assignments.isAssigned[register] === 0) {
      return this.builder.unknown(type, name.includes('retval') ? 'result of a call' : `${name} is not assigned`);
    }
    // Not yet seen: assigned in a later pass of a loop, or several times.
    const variable = this.builder.variable(type, name);
    this.held[register] = variable;
    return variable;
  }

  /** The instructions of a loop's body follow once more: what they assign is assigned anew. */
  nextPass(assigned: readonly number[]): void {
    for (const register of assigned) {
      const held = this.held[register];
      const isKept = held >= 0 && this.builder.registers[held].role === 'variable';
      if (this.assignments.isSingle[register] === 1 && !isKept) this.held[register] = -1;
    }
  }

  /** Assigns a PTX register. */
  write(operand: Operand | undefined, result: Register): void {
    if (operand?.kind !== 'register') return;
    const { register } = operand;
    const { builder } = this;
    const fresh = this.coerce(result, this.heldTypes[register]);
    if (this.assignments.isSingle[register] === 1 && this.held[register] < 0) {
      this.held[register] = fresh;
      return;
    }
    const variable = this.storageOf(register);
    const guard = this.current?.guard;
    const value = guard ? this.guarded(guard, builder.typeOf(variable), fresh, this.valueOf(register)) : fresh;
    builder.move(variable, value);
    if (isSameForm(builder.typeOf(value), builder.typeOf(variable))) this.snapshots.set(variable, value);
    else this.snapshots.delete(variable);
  }

  private guarded(
    guard: { readonly register: number; readonly isNegated: boolean },
    type: ScalarType,
    fresh: Register,
    old: Register,
  ): Register {
    const p = this.coerce(this.valueOf(guard.register), 'pred');
    return guard.isNegated ? this.builder.select(type, p, old, fresh) : this.builder.select(type, p, fresh, old);
  }

  /** All registers of a result become unknown. */
  writeUnknown(operand: Operand | undefined, reason: string): void {
    if (operand?.kind === 'register') {
      this.write(operand, this.builder.unknown(this.heldTypes[operand.register], reason));
    } else if (operand?.kind === 'vector') {
      for (const element of operand.elements) this.writeUnknown(element, reason);
    } else if (operand?.kind === 'pair') {
      this.writeUnknown(operand.first, reason);
      this.writeUnknown(operand.second, reason);
    }
  }

  /** The same bits (or, between widths, the same integer) as another type. */
  coerce(register: Register, type: ScalarType): Register {
    const from = this.builder.typeOf(register);
    const { builder } = this;
    if (isSameForm(from, type)) {
      // A constant is written in the range of its type: 4294967295 as u32 is -1 as i32.
      const value = from === type ? undefined : builder.constantValue(register);
      return value === undefined ? register : this.constant(type, BigInt(value));
    }
    if (type === 'pred' || from === 'pred') return builder.convert(from, type, register);
    if (isFloat(from) && isFloat(type)) return builder.convert(from, type, register);
    if (isFloat(from) || isFloat(type)) return this.bits(register, from, type);
    return builder.convert(from, type, register);
  }

  /** Between floats and integers: bits, through the integer of the float's width. */
  private bits(register: Register, from: ScalarType, type: ScalarType): Register {
    const { builder } = this;
    const integer: Partial<Record<ScalarType, ScalarType>> = { f64: 'i64', f32: 'i32', f16: 'u16', bf16: 'u16' };
    if (isFloat(from)) {
      const as = integer[from] ?? 'i32';
      return this.coerce(builder.unary('bitcast', as, register, from), type);
    }
    const as = integer[type] ?? 'i32';
    const whole = isSameForm(from, as) ? register : builder.convert(from, as, register);
    return builder.unary('bitcast', type, whole, as);
  }

  /** A special register: an input of the launch, or made from one. */
  special(name: string): Register {
    const input = specialInputs.get(name);
    if (input) return this.input(input.type, input.source, input.name);
    const { builder } = this;
    if (name.startsWith('%lanemask_')) return this.laneMask(name.slice('%lanemask_'.length));
    switch (name) {
      case 'WARP_SZ':
        return builder.constant('u32', 32);
      case '%nwarpid': {
        const [x, y, z] = (['x', 'y', 'z'] as const).map((axis) => this.special(`%ntid.${axis}`));
        const threads = builder.binary('mul', 'u32', builder.binary('mul', 'u32', x, y), z);
        const rounded = builder.binary('add', 'u32', threads, builder.constant('u32', 31));
        return builder.binary('shr', 'u32', rounded, builder.constant('u32', 5));
      }
      case '%is_explicit_cluster':
        return builder.constant('pred', 0);
      case '%cluster_ctarank':
      case '%cluster_ctaid.x':
      case '%cluster_ctaid.y':
      case '%cluster_ctaid.z':
        return builder.constant('u32', 0);
      case '%cluster_nctarank':
      case '%cluster_nctaid.x':
      case '%cluster_nctaid.y':
      case '%cluster_nctaid.z':
        return builder.constant('u32', 1);
      default:
        return builder.unknown(/64|gridid/.test(name) ? 'u64' : 'u32', `${name} is known at run time only`);
    }
  }

  input(type: ScalarType, source: InputSource, name: string): Register {
    return this.builder.input(type, source, name);
  }

  /** Bits of the lanes before, up to, from or after this one. */
  private laneMask(kind: string): Register {
    const { builder } = this;
    const lane = this.special('%laneid');
    const one = builder.constant('u32', 1);
    const own = builder.binary('shl', 'u32', one, lane);
    const below = builder.binary('sub', 'u32', own, one);
    if (kind === 'eq') return own;
    if (kind === 'lt') return below;
    if (kind === 'le') return builder.binary('or', 'u32', below, own);
    if (kind === 'ge') return builder.unary('bitnot', 'u32', below);
    return builder.unary('bitnot', 'u32', builder.binary('or', 'u32', below, own));
  }
}
