/**
 * The variables of the generated code. Every register has one; one whose value may be unknown has a second, -1 where it is unknown and
 * 0 where not. Those of (deep) loops that launch nothing, in which the time is spent, and what one block alone uses are the function's own; all
 * others are the module's: the engine keeps a note of every variable of a function for every place where control meets, which took
 * train_gpt2.cu of llm.c (4,500 variables, 7,000 blocks) 0.6 s and 500 MB before the first instruction.
 */
import { type ControlFlow, controlFlow, EXIT } from '../program/control-flow';
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { Kind, op } from '../wasm/opcodes';
import { type Doubt, pointersOf, type Skip } from './doubt';
import { functionsOf, MAIN } from './functions';
import { FIRST_OBJECT, HOST_BASE } from './memory-layout';
import { kindOf } from './operations';
import { Code, FIRST_GLOBAL } from './wasm';

const { i32, i64 } = Kind;

/** A variable of the function or of the module. */
interface Variable {
  readonly index: number;
  readonly isGlobal: boolean;
}

/** Steps that are gone back from an address to its pointer. */
const LONGEST_CHAIN = 32;
/** Registers whose variables are the function's own, those that one block alone uses not counted. */
const MOST_OWN = 400;
/** Variables of a kind that are the function's own and shared by what single blocks use. */
const MOST_SHARED = 64;
/** Who uses a register, beside a function's index and `MAIN`. */
const SEVERAL = -2;
const NOBODY = -3;

/** The depth of loops from which on variables are the function's own, so that there are few of them: at least 1. */
function leastDepth(depthOf: Uint8Array, home: Int32Array): number {
  const count: number[] = [];
  depthOf.forEach((depth, register) => {
    if (home[register] === -2) count[depth] = (count[depth] ?? 0) + 1;
  });
  let sum = 0;
  for (let depth = count.length - 1; depth > 0; depth--) {
    sum += count[depth] ?? 0;
    if (sum > MOST_OWN) return depth + 1;
  }
  return 1;
}

export class HostValues {
  /** Kinds of the variables of each function, by index; of the program itself first. */
  readonly locals: Kind[][] = [];
  /** Kinds of the module's. */
  readonly globals: Kind[] = [];
  /** By object of the program: its place in memory. */
  readonly places: number[] = [];
  /** The first place in memory that is no object's. */
  end = FIRST_OBJECT;
  /** Of temporaries. */
  readonly definition = new Map<Register, Instruction>();
  private readonly valueOf: (Variable | undefined)[] = [];
  private readonly shadowOf: (Variable | undefined)[] = [];
  private readonly objectOf = new Map<Register, number>();
  /** Of each function. */
  private readonly pools: Map<Kind, Variable[]>[] = [];
  private code = new Code();
  /** The function at hand. */
  private current = MAIN;

  constructor(
    private readonly program: Program,
    private readonly doubt: Doubt,
  ) {
    for (let index = MAIN; index < (program.functions?.length ?? 0); index++) {
      this.locals.push([]);
      this.pools.push(new Map());
    }
    this.placeObjects();
    this.allocateVariables();
  }

  kindOf(register: Register): Kind {
    return kindOf[this.program.registers[register].type];
  }

  /** From here on a function's code is made. */
  use(index: number, code: Code): void {
    this.current = index;
    this.code = code;
  }

  local(kind: Kind): number {
    const locals = this.locals[this.current - MAIN];
    locals.push(kind);
    return locals.length - 1;
  }

  /** The index of a variable of the module's. */
  shared(kind: Kind): number {
    return this.global(kind).index;
  }

  private own(kind: Kind): Variable {
    return { index: this.local(kind), isGlobal: false };
  }

  private global(kind: Kind): Variable {
    this.globals.push(kind);
    return { index: FIRST_GLOBAL + this.globals.length - 1, isGlobal: true };
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
  private allocateVariables(): void {
    const { program } = this;
    const flow = controlFlow(program);
    const home = new Int32Array(program.registers.length).fill(-1);
    // by register: how deep the loops are that it is used in, of those that launch nothing
    const depthOf = new Uint8Array(program.registers.length);
    const owner = functionsOf(program, flow.successors);
    // by register: the function that uses it
    const user = new Int32Array(program.registers.length).fill(NOBODY);
    const reads: Register[] = [];
    let depth = 0;
    const seen = (register: Register, block: number) => {
      depthOf[register] = Math.max(depthOf[register], depth);
      if (user[register] === NOBODY) user[register] = owner[block];
      else if (user[register] !== owner[block]) user[register] = SEVERAL;
      if (program.registers[register].role === 'variable') home[register] = -2;
      else if (home[register] === -1) home[register] = block;
      else if (home[register] !== block) home[register] = -2;
    };
    for (const block of flow.order) {
      const { instructions, terminator } = program.blocks[block];
      depth = this.depthIn(flow, block);
      for (const instruction of instructions) {
        const count = readsInto(instruction, reads);
        for (let k = 0; k < count; k++) seen(reads[k], block);
        for (const r of writesOf(instruction)) {
          seen(r, block);
          this.definition.set(r, instruction);
        }
        // what is handed over between the runs of a function is none's own
        if (instruction.op === 'host' && instruction.callee !== undefined)
          for (const r of [...instruction.args, ...writesOf(instruction)]) user[r] = SEVERAL;
      }
      if (terminator.kind === 'branch') seen(terminator.condition, block);
    }
    const used = ({ roots, registers }: Skip, block: number) => {
      for (const { register } of roots) {
        seen(register, block);
        home[register] = -2;
      }
      for (const register of registers) if (owner[block] !== user[register]) user[register] = SEVERAL;
    };
    depth = 0;
    for (const [block, { skip }] of this.doubt.branches) used(skip, block);
    // a nest around a whole function is left by its own loops: another function's have no part in what it changes
    const isHere = ({ join }: Skip, block: number) => join === EXIT || owner[join] === owner[block];
    for (const [block, { skip }] of this.doubt.loops) if (skip && isHere(skip, block)) used(skip, block);
    const least = leastDepth(depthOf, home);
    // those of a function that calls itself are a run's own, and so they are its variables
    const isOwn = depthOf.map((d, r) => (user[r] > MAIN || (user[r] === MAIN && d >= least) ? 1 : 0));
    for (const block of flow.order) {
      this.current = owner[block];
      this.shareLocals(block, home, isOwn);
    }
    this.current = MAIN;
  }

  /** Loops around a block that launch nothing. */
  private depthIn({ loopOf, loops }: ControlFlow, block: number): number {
    let depth = 0;
    for (let at = loopOf[block]; at >= 0; at = loops[at].parent)
      if (this.doubt.loops.get(loops[at].header)?.outermost !== undefined) depth++;
    return depth;
  }

  private shareLocals(block: number, home: Int32Array, isOwn: Uint8Array): void {
    const { instructions } = this.program.blocks[block];
    const pools = this.pools[this.current - MAIN];
    const free = new Map([...pools].map(([kind, pool]) => [kind, [...pool]]));
    const take = (register: Register, kind: Kind): Variable => {
      if (home[register] !== block) return isOwn[register] === 1 ? this.own(kind) : this.global(kind);
      const variable = free.get(kind)?.pop();
      if (variable) return variable;
      let pool = pools.get(kind);
      if (!pool) pools.set(kind, (pool = []));
      // structures that are copied: all their members at once
      const made = this.current > MAIN || pool.length < MOST_SHARED ? this.own(kind) : this.global(kind);
      pool.push(made);
      return made;
    };
    const give = (register: Register): void => {
      if (this.valueOf[register] || this.isFixed(register)) return;
      this.valueOf[register] = take(register, this.kindOf(register));
      if (this.doubt.maybe[register] === 1) this.shadowOf[register] = take(register, i32);
    };
    const release = (variable: Variable | undefined, kind: Kind): void => {
      if (!variable) return;
      const list = free.get(kind);
      if (list) list.push(variable);
      else free.set(kind, [variable]);
    };
    const done = this.lastUses(block, home);
    const reads: Register[] = [];
    instructions.forEach((instruction, at) => {
      const count = readsInto(instruction, reads);
      for (let k = 0; k < count; k++) give(reads[k]);
      for (const r of writesOf(instruction)) give(r);
      // only behind the instruction: its result may be written before all of its operands are read
      for (const r of done.get(at) ?? []) {
        release(this.valueOf[r], this.kindOf(r));
        release(this.shadowOf[r], i32);
      }
    });
  }

  /** By instruction of a block: the registers that the block alone uses and that nothing behind it uses. */
  private lastUses(block: number, home: Int32Array): Map<number, Register[]> {
    const { instructions, terminator } = this.program.blocks[block];
    const last = new Map<Register, number>();
    const reads: Register[] = [];
    instructions.forEach((instruction, at) => {
      const count = readsInto(instruction, reads);
      for (let k = 0; k < count; k++) for (const r of this.chainOf(reads[k])) last.set(r, at);
      for (const r of writesOf(instruction)) last.set(r, at);
    });
    if (terminator.kind === 'branch') last.delete(terminator.condition);
    const done = new Map<number, Register[]>();
    for (const [register, at] of last) {
      if (home[register] !== block || this.isFixed(register)) continue;
      const registers = done.get(at);
      if (registers) registers.push(register);
      else done.set(at, [register]);
    }
    return done;
  }

  /** An address and the pointers that it was computed from, as far as what is not known of it is only an index; the first pointer last. */
  chainOf(address: Register): Register[] {
    const chain = [address];
    let root = address;
    while (
      chain.length <= LONGEST_CHAIN &&
      this.program.registers[root].role === 'temporary' &&
      this.mayBeUnknown(root)
    ) {
      const instruction = this.definition.get(root);
      const from = instruction && instruction.op !== 'load' ? pointersOf(instruction)[0] : undefined;
      if (!from || this.kindOf(from.from) !== i64) break;
      root = from.from;
      chain.push(root);
    }
    return chain;
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
      this.read(this.variableOf(register));
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
    this.write(this.variableOf(register));
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
      else this.getShadow(register);
      if (!isFirst) code.op(op.i32Or);
      isFirst = false;
    }
    if (isFirst) code.i32(0);
  }

  getShadow(register: Register): void {
    this.read(this.shadowVariable(register));
  }

  setShadow(register: Register): void {
    if (this.mayBeUnknown(register)) this.write(this.shadowVariable(register));
    else this.code.op(0x1a);
  }

  private variableOf(register: Register): Variable {
    let variable = this.valueOf[register];
    if (!variable) this.valueOf[register] = variable = this.global(this.kindOf(register));
    return variable;
  }

  private shadowVariable(register: Register): Variable {
    let variable = this.shadowOf[register];
    if (!variable) this.shadowOf[register] = variable = this.global(i32);
    return variable;
  }

  private read({ index, isGlobal }: Variable): void {
    this.code.local(isGlobal ? op.globalGet : op.localGet, index);
  }

  private write({ index, isGlobal }: Variable): void {
    this.code.local(isGlobal ? op.globalSet : op.localSet, index);
  }

  shadowFrom(register: Register, ...from: readonly Register[]): void {
    if (!this.mayBeUnknown(register)) return;
    this.shadow(...from);
    this.setShadow(register);
  }
}
