/**
 * What the host computes and no launch finds is left out: references on the processor between two launches, comparisons, output. It
 * costs none of the run's instructions then, and what is not known of it makes nothing else unknown. (120 of the 194 recorded programs
 * have such loops before their last launch; in two of the eighth set these took what the data of later launches needed. Finding them
 * takes 4 ms a program.)
 *
 * Needed are the launches, what they are given and what may lie in the memory that they can reach; then what that is computed from,
 * and the branches that decide about it (R. Cytron et al., 'Efficiently computing static single assignment form', 1991, 7.1).
 * Loops that are left out are taken to end.
 */
import { type ControlFlow, controlFlow, EXIT } from '../program/control-flow';
import { controlDependence } from '../program/dependence';
import type { HostInstruction } from '../program/host-program';
import { hasBit, setBit } from '../program/liveness';
import { readsInto, writesOf } from '../program/operands';
import type { Block, Instruction, Program, Register } from '../program/program';
import { blocksOf, functionAt, isRecurse } from './functions';
import { finishing, isErrorWay, withoutErrors } from './graph';
import { ANY, PointsTo } from './points-to';

const isError = (i: Instruction): boolean => i.op === 'host' && i.fn === 'end';
/** A file that is opened to be written is another one from then on. */
const hasEffect = (i: Instruction): boolean =>
  isErrorWay(i) || (i.op === 'host' && (i.fn === 'launch' || i.fn === 'file'));

/** The program without what no launch needs. It takes no way that ends in an error: programs that work take none. */
export function neededForLaunches(program: Program): Program {
  return new Needs(withoutErrors(program, finishing(program, controlFlow(program), isError))).sliced();
}

class Needs {
  private readonly flow: ControlFlow;
  private readonly pointsTo: PointsTo;
  private readonly controls: readonly ReadonlySet<number>[];
  /** By block, then by instruction. */
  private readonly isNeeded: readonly Uint8Array[];
  /** By block: whether something of it is needed, and whether its branch is. */
  private readonly isActive: Uint8Array;
  private readonly isDeciding: Uint8Array;
  /** Of a register that is assigned more than once. */
  private readonly bitOf: Int32Array;
  /** Of other registers: whether anything needed reads it. */
  private readonly isRead: Uint8Array;
  /** By block, at its start: registers that are read behind it, then classes of memory. */
  private readonly liveIn: readonly Int32Array[];
  private readonly registers: number;
  private readonly words: number;
  private readonly everywhere: readonly number[];
  /** By block: whether what it is judged by has changed since it was looked at. */
  private readonly isStale: Uint8Array;
  /** By function that calls itself: what is read behind one of its calls, as in `liveIn`; by block: the functions that it calls once more. */
  private readonly behindCalls: readonly Int32Array[];
  private readonly callers: ReadonlyMap<number, readonly number[]>;
  private readonly exits: ReadonlyMap<number, number>;
  private readonly writtenIn = new Map<number, readonly number[]>();
  /** The block that assigns a register that is assigned once. */
  private readonly blockOf: Int32Array;
  private readonly reads: Register[] = [];

  constructor(private readonly program: Program) {
    this.flow = controlFlow(program);
    this.pointsTo = new PointsTo(program);
    this.controls = controlDependence(program, this.flow);
    const { blocks, registers } = program;
    this.isNeeded = blocks.map((b) => new Uint8Array(b.instructions.length));
    this.isActive = new Uint8Array(blocks.length);
    this.isDeciding = new Uint8Array(blocks.length);
    this.isRead = new Uint8Array(registers.length);
    this.isStale = new Uint8Array(blocks.length).fill(1);
    this.blockOf = new Int32Array(registers.length).fill(-1);
    const assignments = new Uint32Array(registers.length);
    blocks.forEach(({ instructions }, block) => {
      for (const instruction of instructions)
        for (const register of writesOf(instruction)) {
          this.blockOf[register] = block;
          assignments[register]++;
        }
    });
    this.bitOf = new Int32Array(registers.length).fill(-1);
    let bits = 0;
    assignments.forEach((count, register) => {
      if (count > 1) this.bitOf[register] = bits++;
    });
    this.registers = bits;
    this.words = Math.ceil((bits + this.pointsTo.count) / 32);
    this.liveIn = blocks.map(() => new Int32Array(this.words));
    const { functions = [] } = program;
    this.behindCalls = functions.map(() => new Int32Array(this.words));
    this.exits = new Map(functions.map(({ exit }, index) => [exit, index]));
    const callers = new Map<number, number[]>();
    blocks.forEach(({ instructions }, block) => {
      for (const instruction of instructions)
        if (isRecurse(instruction))
          callers.set(instruction.callee, [...(callers.get(instruction.callee) ?? []), block]);
    });
    this.callers = callers;
    // a kernel may read all objects of the device, and what they lead to
    this.everywhere = program.objects.flatMap(({ lifetime, register }) =>
      lifetime === 'device' || lifetime === 'constant' ? this.pointsTo.closureOf(register) : [],
    );
  }

  sliced(): Program {
    const { order } = this.flow;
    while (order.some((block) => this.isStale[block] === 1))
      for (let k = order.length - 1; k >= 0; k--) if (this.isStale[order[k]] === 1) this.visit(order[k]);
    const isKept = this.keptDefinitions();
    const blocks = this.program.blocks.map((block, index): Block => {
      const instructions = block.instructions.filter((i, k) => this.isNeeded[index][k] === 1 || isRelease(i, isKept));
      return { instructions, terminator: this.terminatorOf(index, block) };
    });
    return { ...this.program, blocks };
  }

  private terminatorOf(index: number, { terminator }: Block): Block['terminator'] {
    if (terminator.kind !== 'branch' || this.isDeciding[index] === 1) return terminator;
    const target = this.flow.postDominator[index];
    return target === EXIT || target === undefined ? { kind: 'exit' } : { kind: 'jump', target };
  }

  /** By register: 1 when all that assigns it is needed. */
  private keptDefinitions(): Uint8Array {
    const isKept = new Uint8Array(this.program.registers.length).fill(1);
    for (const block of this.flow.order)
      this.program.blocks[block].instructions.forEach((instruction, k) => {
        if (this.isNeeded[block][k] === 0) for (const register of writesOf(instruction)) isKept[register] = 0;
      });
    return isKept;
  }

  private visit(block: number): void {
    this.isStale[block] = 0;
    const { instructions, terminator } = this.program.blocks[block];
    const live = new Int32Array(this.words);
    for (const next of this.flow.successors[block])
      for (let w = 0; w < this.words; w++) live[w] |= this.liveIn[next][w];
    const left = this.exits.get(block);
    if (left !== undefined) merge(live, this.behindCalls[left]);
    if (terminator.kind === 'branch' && this.isDeciding[block] === 1) this.read(terminator.condition, live);
    for (let k = instructions.length - 1; k >= 0; k--) {
      const instruction = instructions[k];
      if (this.isNeeded[block][k] === 0) {
        if (!this.matters(instruction, live)) continue;
        this.isNeeded[block][k] = 1;
        this.activate(block);
      }
      if (isRecurse(instruction)) this.passThrough(instruction.callee, live);
      for (const register of writesOf(instruction)) if (this.bitOf[register] >= 0) clearBit(live, this.bitOf[register]);
      const count = readsInto(instruction, this.reads);
      for (let r = 0; r < count; r++) this.read(this.reads[r], live);
      for (const memory of this.readBy(instruction)) this.readMemory(memory, live);
    }
    if (!merge(this.liveIn[block], live)) return;
    for (const before of this.flow.predecessors[block]) this.isStale[before] = 1;
    const entered = this.program.functions?.findIndex(({ entry }) => entry === block) ?? -1;
    for (const caller of this.callers.get(entered) ?? []) this.isStale[caller] = 1;
  }

  /** What is read behind a call is read behind the function, and what it reads is read before the call. */
  private passThrough(callee: number, live: Int32Array): void {
    const { entry, exit } = functionAt(this.program, callee);
    if (merge(this.behindCalls[callee], live)) this.isStale[exit] = 1;
    merge(live, this.liveIn[entry]);
  }

  private activate(block: number): void {
    if (this.isActive[block] === 1) return;
    this.isActive[block] = 1;
    for (const branch of this.controls[block]) {
      if (this.isDeciding[branch] === 1) continue;
      this.isDeciding[branch] = 1;
      this.isStale[branch] = 1;
      this.activate(branch);
    }
  }

  private read(register: Register, live: Int32Array): void {
    if (this.bitOf[register] >= 0) setBit(live, this.bitOf[register]);
    else if (this.isRead[register] === 0) {
      this.isRead[register] = 1;
      if (this.blockOf[register] >= 0) this.isStale[this.blockOf[register]] = 1;
    }
  }

  private readMemory(memory: number, live: Int32Array): void {
    if (memory !== ANY) setBit(live, this.registers + memory);
    else for (let k = 0; k < this.pointsTo.count; k++) setBit(live, this.registers + k);
  }

  private matters(instruction: Instruction, live: Int32Array): boolean {
    if (hasEffect(instruction)) return true;
    if (isRecurse(instruction) && this.hasEffects(instruction.callee)) return true;
    const given = instruction.op === 'host' && instruction.fn === 'leave' ? instruction.args : writesOf(instruction);
    for (const register of given)
      if (this.bitOf[register] >= 0 ? hasBit(live, this.bitOf[register]) : this.isRead[register] === 1) return true;
    const written = this.writtenBy(instruction);
    return written.some((memory) => memory === ANY || hasBit(live, this.registers + memory));
  }

  /** Classes of memory that an instruction writes; launches are needed anyway. */
  private writtenBy(instruction: Instruction): readonly number[] {
    if (instruction.op === 'store' || instruction.op === 'atomic') return this.pointsTo.classOf(instruction.address);
    if (instruction.op !== 'host') return [];
    const { fn, args } = instruction;
    if (fn === 'copy' || fn === 'fill' || fn === 'touch') return this.pointsTo.classOf(args[0]);
    if (isRecurse(instruction)) return this.writtenByFunction(instruction.callee);
    return fn === 'wild' ? this.pointsTo.closureOf(args[0]) : [];
  }

  /** Whether a function launches kernels, opens files or ends the program. */
  private hasEffects(index: number): boolean {
    return blocksOf(this.program, this.flow.successors, index).some((block) =>
      this.program.blocks[block].instructions.some(hasEffect),
    );
  }

  private writtenByFunction(index: number): readonly number[] {
    const known = this.writtenIn.get(index);
    if (known) return known;
    this.writtenIn.set(index, []);
    const blocks = blocksOf(this.program, this.flow.successors, index);
    const written = blocks.flatMap((block) =>
      this.program.blocks[block].instructions.flatMap((i) => this.writtenBy(i)),
    );
    const found = [...new Set(written)];
    this.writtenIn.set(index, found);
    return found;
  }

  private readBy(instruction: Instruction): readonly number[] {
    if (instruction.op === 'load' || instruction.op === 'atomic') return this.pointsTo.classOf(instruction.address);
    if (instruction.op !== 'host') return [];
    if (instruction.fn === 'copy') return this.pointsTo.classOf(instruction.args[1]);
    // its name
    if (instruction.fn === 'file') return this.pointsTo.classOf(instruction.args[0]);
    return instruction.fn === 'launch' ? [...this.everywhere, ...this.readByLaunch(instruction)] : [];
  }

  private readByLaunch({ launch, args }: HostInstruction): readonly number[] {
    const values = this.program.launches?.[launch ?? -1]?.values ?? [];
    return values.flatMap((value, i) => {
      if (value.kind !== 'parameter' || !value.isPointer) return [];
      return value.leadsFurther ? this.pointsTo.closureOf(args[i]) : this.pointsTo.classOf(args[i]);
    });
  }
}

/** Memory is given back where it was taken. */
const isRelease = (i: Instruction, isKept: Uint8Array): boolean =>
  i.op === 'host' && i.fn === 'release' && isKept[i.args[0]] === 1;

/** Adds a set to another; whether it has grown. */
function merge(into: Int32Array, more: Int32Array): boolean {
  let hasGrown = false;
  for (let w = 0; w < into.length; w++) {
    if ((into[w] | more[w]) === into[w]) continue;
    into[w] |= more[w];
    hasGrown = true;
  }
  return hasGrown;
}

function clearBit(set: Int32Array, bit: number): void {
  set[bit >> 5] &= ~(1 << (bit & 31));
}
