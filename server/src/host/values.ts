/**
 * The variables of the generated code. Every register has one; one whose value may be unknown has a second, -1 where it is unknown and
 * 0 where not.
 */
import { controlFlow } from '../program/control-flow';
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import type { Doubt } from './doubt';
import { FIRST_OBJECT, HOST_BASE } from './memory-layout';
import { kindOf } from './operations';
import { type Code, Kind, op } from './wasm';

const { i32, i64 } = Kind;

export class HostValues {
  /** Kinds of all variables, by index. */
  readonly locals: Kind[] = [];
  /** By object of the program: its place in memory. */
  readonly places: number[] = [];
  /** The first place in memory that is no object's. */
  end = FIRST_OBJECT;
  /** Of temporaries. */
  readonly definition = new Map<Register, Instruction>();
  private readonly valueOf: Int32Array;
  private readonly shadowOf: Int32Array;
  private readonly objectOf = new Map<Register, number>();
  private readonly pools = new Map<Kind, number[]>();

  constructor(
    private readonly program: Program,
    private readonly doubt: Doubt,
    private readonly code: Code,
  ) {
    this.valueOf = new Int32Array(program.registers.length).fill(-1);
    this.shadowOf = new Int32Array(program.registers.length).fill(-1);
    this.placeObjects();
    this.allocateLocals();
  }

  kindOf(register: Register): Kind {
    return kindOf[this.program.registers[register].type];
  }

  local(kind: Kind): number {
    this.locals.push(kind);
    return this.locals.length - 1;
  }

  private placeObjects(): void {
    this.program.objects.forEach((object, index) => {
      const step = Math.max(16, object.alignment);
      const at = Math.ceil(this.end / step) * step;
      this.places[index] = at;
      this.end = at + (object.bytes ?? 0);
      this.objectOf.set(object.register, index);
    });
    this.end = Math.ceil(this.end / 256) * 256;
  }

  /** Temporaries that one block alone uses share variables with those of other blocks. */
  private allocateLocals(): void {
    const { program } = this;
    const flow = controlFlow(program);
    const home = new Int32Array(program.registers.length).fill(-1);
    const reads: Register[] = [];
    const seen = (register: Register, block: number) => {
      if (program.registers[register].role === 'variable') home[register] = -2;
      else if (home[register] === -1) home[register] = block;
      else if (home[register] !== block) home[register] = -2;
    };
    for (const block of flow.order) {
      const { instructions, terminator } = program.blocks[block];
      for (const instruction of instructions) {
        const count = readsInto(instruction, reads);
        for (let k = 0; k < count; k++) seen(reads[k], block);
        for (const r of writesOf(instruction)) {
          seen(r, block);
          this.definition.set(r, instruction);
        }
      }
      if (terminator.kind === 'branch') seen(terminator.condition, block);
    }
    for (const { skip } of this.doubt.branches.values()) for (const root of skip.roots) home[root.register] = -2;
    for (const { skip } of this.doubt.loops.values()) for (const root of skip?.roots ?? []) home[root.register] = -2;
    for (const block of flow.order) this.shareLocals(block, home);
  }

  private shareLocals(block: number, home: Int32Array): void {
    const used = new Map<Kind, number>();
    const take = (register: Register, kind: Kind): number => {
      if (home[register] !== block) return this.local(kind);
      const index = used.get(kind) ?? 0;
      used.set(kind, index + 1);
      let pool = this.pools.get(kind);
      if (!pool) this.pools.set(kind, (pool = []));
      if (index === pool.length) pool.push(this.local(kind));
      return pool[index];
    };
    const give = (register: Register): void => {
      if (this.valueOf[register] >= 0 || this.isFixed(register)) return;
      this.valueOf[register] = take(register, kindOf[this.program.registers[register].type]);
      if (this.doubt.maybe[register] === 1) this.shadowOf[register] = take(register, i32);
    };
    const reads: Register[] = [];
    for (const instruction of this.program.blocks[block].instructions) {
      const count = readsInto(instruction, reads);
      for (let k = 0; k < count; k++) give(reads[k]);
      for (const r of writesOf(instruction)) give(r);
    }
  }

  private isFixed(register: Register): boolean {
    const { role } = this.program.registers[register];
    return role === 'constant' || role === 'input';
  }

  // ---- values ----

  get(register: Register): void {
    const { code } = this;
    const info = this.program.registers[register];
    const kind = kindOf[info.type];
    if (!this.isFixed(register)) {
      if (this.valueOf[register] < 0) this.valueOf[register] = this.local(kind);
      code.local(op.localGet, this.valueOf[register]);
      return;
    }
    const object = this.objectOf.get(register);
    const value = object === undefined ? (info.value ?? 0) : HOST_BASE + this.places[object];
    if (kind === i64) code.i64(BigInt(Math.trunc(value)));
    else if (kind === i32) code.i32(Number(BigInt.asIntN(32, BigInt(Math.trunc(value)))));
    else if (kind === Kind.f32) code.f32(value);
    else code.f64(value);
  }

  set(register: Register): void {
    if (this.valueOf[register] < 0) this.valueOf[register] = this.local(kindOf[this.program.registers[register].type]);
    this.code.local(op.localSet, this.valueOf[register]);
  }

  mayBeUnknown(register: Register): boolean {
    if (this.program.registers[register].role === 'input') return !this.objectOf.has(register);
    return this.doubt.maybe[register] === 1;
  }

  /** Whether an access at an object's own address stays within the objects. */
  isInObject(address: Register, offset: number, bytes: number): boolean {
    const object = this.objectOf.get(address);
    return object !== undefined && offset >= 0 && this.places[object] + offset + bytes <= this.end;
  }

  /** Pushes -1 where one of the registers is unknown, else 0. */
  shadow(...registers: readonly Register[]): void {
    const { code } = this;
    let isFirst = true;
    for (const register of new Set(registers)) {
      if (!this.mayBeUnknown(register)) continue;
      if (this.isFixed(register)) code.i32(-1);
      else code.local(op.localGet, this.shadowLocal(register));
      if (!isFirst) code.op(op.i32Or);
      isFirst = false;
    }
    if (isFirst) code.i32(0);
  }

  shadowLocal(register: Register): number {
    if (this.shadowOf[register] < 0) this.shadowOf[register] = this.local(i32);
    return this.shadowOf[register];
  }

  setShadow(register: Register): void {
    if (this.mayBeUnknown(register)) this.code.local(op.localSet, this.shadowLocal(register));
    else this.code.op(0x1a);
  }

  shadowFrom(register: Register, ...from: readonly Register[]): void {
    if (!this.mayBeUnknown(register)) return;
    this.shadow(...from);
    this.setShadow(register);
  }
}
