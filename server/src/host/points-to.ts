/**
 * Which blocks of memory the addresses of the host's program may lead to, as classes: blocks that one pointer may lead to are one
 * class, and so is all that the pointers in a class lead to (B. Steensgaard, 'Points-to analysis in almost linear time', POPL 1996).
 * Every function is inlined, so that each call has its own allocations.
 */
import { controlFlow } from '../program/control-flow';
import type { HostInstruction } from '../program/host-program';
import { bytesOf, type Instruction, type Program, type Register } from '../program/program';
import { pointersOf } from './doubt';

/** Memory that is not known: any class. */
export const ANY = -1;

export class PointsTo {
  /** Registers first, by their numbers, then the memory that they lead to. */
  private readonly parent: number[];
  private readonly leads: number[];
  /** A node stands for memory that the program has. */
  private readonly isMemory: boolean[];
  /** A node stands for what may also be memory that nobody knows: a function that is not followed gave a pointer to it. */
  private readonly isForeign: boolean[];
  /** By node: the number of its class. */
  private readonly classes = new Map<number, number>();

  constructor(private readonly program: Program) {
    this.parent = program.registers.map((_, r) => r);
    this.leads = program.registers.map(() => -1);
    this.isMemory = program.registers.map(() => false);
    this.isForeign = program.registers.map(() => false);
    for (const { register } of program.objects) this.isMemory[this.leadsTo(register)] = true;
    for (const block of controlFlow(program).order)
      for (const instruction of program.blocks[block].instructions) this.follow(instruction);
    for (let node = program.registers.length; node < this.parent.length; node++) {
      const root = this.find(node);
      if (this.isMemory[root] && !this.classes.has(root)) this.classes.set(root, this.classes.size);
    }
  }

  get count(): number {
    return this.classes.size;
  }

  /** The class that an address leads to; of a constant (null), none. */
  classOf(address: Register): readonly number[] {
    return this.isConstant(address) ? [] : [this.numberOf(this.leads[this.find(address)])];
  }

  /** The class that an address leads to, what the pointers there lead to, and so on. */
  closureOf(address: Register): readonly number[] {
    if (this.isConstant(address)) return [];
    const found: number[] = [];
    let node = this.leads[this.find(address)];
    for (let known = this.numberOf(node); known !== ANY && !found.includes(known); known = this.numberOf(node)) {
      found.push(known);
      node = this.leads[this.find(node)];
    }
    return found.length > 0 ? found : [ANY];
  }

  /** Whether an address, or a pointer behind it, may lead to other memory than that of its classes. */
  isOpen(address: Register, isFurther: boolean): boolean {
    const seen = new Set<number>();
    for (let node = this.leads[this.find(address)]; node >= 0; node = this.leads[this.find(node)]) {
      const root = this.find(node);
      if (seen.has(root)) return false;
      if (this.isForeign[root]) return true;
      if (!isFurther) return false;
      seen.add(root);
    }
    return false;
  }

  private numberOf(node: number): number {
    return node < 0 ? ANY : (this.classes.get(this.find(node)) ?? ANY);
  }

  private follow(instruction: Instruction): void {
    switch (instruction.op) {
      case 'load':
        if (bytesOf[instruction.type] !== 8) return;
        for (const dst of instruction.dst)
          this.join(this.leadsTo(dst), this.leadsTo(this.leadsTo(instruction.address)));
        return;
      case 'store':
        if (bytesOf[instruction.type] !== 8) return;
        for (const value of instruction.values)
          if (!this.isConstant(value)) this.join(this.leadsTo(value), this.leadsTo(this.leadsTo(instruction.address)));
        return;
      case 'host':
        this.followHost(instruction);
        return;
      case 'unknown':
        if (bytesOf[this.program.registers[instruction.dst].type] === 8)
          this.isForeign[this.leadsTo(instruction.dst)] = true;
        return;
      case 'unary':
      case 'convert':
      case 'binary':
      case 'select':
        if (bytesOf[this.program.registers[instruction.dst].type] !== 8) return;
        for (const { from } of pointersOf(instruction)) if (!this.isConstant(from)) this.join(instruction.dst, from);
        return;
    }
  }

  private followHost({ fn, dst, args }: HostInstruction): void {
    if ((fn === 'file' || fn.startsWith('allocate')) && dst !== undefined) this.isMemory[this.leadsTo(dst)] = true;
    else if (fn === 'copy') this.join(this.leadsTo(this.leadsTo(args[0])), this.leadsTo(this.leadsTo(args[1])));
  }

  /** Null pointers and sizes are no one's. */
  private isConstant = (register: Register): boolean => this.program.registers[register].role === 'constant';

  private find(node: number): number {
    let root = node;
    while (this.parent[root] !== root) root = this.parent[root];
    for (let at = node; at !== root; ) {
      const next = this.parent[at];
      this.parent[at] = root;
      at = next;
    }
    return root;
  }

  /** The node of what a node's value leads to. */
  private leadsTo(node: number): number {
    const root = this.find(node);
    if (this.leads[root] >= 0) return this.find(this.leads[root]);
    const made = this.parent.length;
    this.parent.push(made);
    this.leads.push(-1);
    this.isMemory.push(false);
    this.isForeign.push(false);
    this.leads[root] = made;
    return made;
  }

  private join(first: number, second: number): void {
    let [a, b] = [this.find(first), this.find(second)];
    while (a !== b) {
      this.parent[b] = a;
      this.isMemory[a] ||= this.isMemory[b];
      this.isForeign[a] ||= this.isForeign[b];
      const [toA, toB] = [this.leads[a], this.leads[b]];
      if (toA < 0) this.leads[a] = toB;
      if (toA < 0 || toB < 0) return;
      [a, b] = [this.find(toA), this.find(toB)];
    }
  }
}
