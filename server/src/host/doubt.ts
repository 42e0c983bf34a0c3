/**
 * What becomes of the host's program where a value is not known. A branch whose condition is not known is not taken: all that either
 * side may assign becomes unknown, the blocks of memory that either may write too, and the program goes on where both ways meet.
 * Which registers and which memory that is, is found here, once for every branch; a loop that takes too long is left the same way.
 */
import { type ControlFlow, controlFlow, EXIT, reachableWithout } from '../program/control-flow';
import { Definitions } from '../program/definitions';
import type { HostInstruction } from '../program/host-program';
import { hasBit, liveness } from '../program/liveness';
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { calledIn } from './functions';
import { finishing, isErrorWay, withoutErrors } from './graph';
import { DEEPEST } from './memory-layout';

/** Memory that a way not taken may write. */
export interface Root {
  /** Holds an address in it. */
  readonly register: Register;
  /** What is written is behind so many pointers, the first of which lies in that memory. */
  readonly depth: number;
}

export interface Skip {
  /** Where the program goes on; EXIT: it ends. */
  readonly join: number;
  /** Become unknown. */
  readonly registers: readonly Register[];
  readonly roots: readonly Root[];
}

export interface Doubt {
  /** By register: 1 when its value may be unknown. */
  readonly maybe: Uint8Array;
  /** By block that ends in a branch whose condition may be unknown. */
  readonly branches: ReadonlyMap<number, BranchDoubt>;
  /** By header of a loop: how it is left before its end. */
  readonly loops: ReadonlyMap<number, LoopDoubt>;
}

export interface BranchDoubt {
  /** The way it goes all the same: the other ends in an error, or the program without a launch. */
  readonly always?: boolean;
  /** The way it goes the first time: kernels are launched on it and not on the other. */
  readonly first?: boolean;
  readonly skip: Skip;
}

export interface LoopDoubt {
  /** The header of the outermost loop around it that launches nothing; this loop itself launches when undefined. */
  readonly outermost: number | undefined;
  readonly skip: Skip | undefined;
}

/** A part of the program that is not executed. */
interface Region {
  readonly entry: number;
  readonly assigned: ReadonlySet<Register>;
  readonly own: ReadonlySet<Instruction>;
  readonly seen: Set<string>;
  readonly roots: Map<string, Root>;
}

export function doubtOf(program: Program): Doubt {
  return new Doubts(program).find();
}

class Doubts {
  private readonly flow: ControlFlow;
  private readonly proper: ControlFlow;
  private readonly finishes: Uint8Array;
  private readonly definitions: Definitions;
  private readonly maybe: Uint8Array;
  private readonly branches = new Map<number, BranchDoubt>();
  private readonly loops = new Map<number, LoopDoubt>();
  private readonly live: ReturnType<typeof liveness>;
  private readonly launching: Uint8Array;

  constructor(private readonly program: Program) {
    this.flow = controlFlow(program);
    this.finishes = finishing(program, this.flow, isErrorWay);
    const pruned = withoutErrors(program, this.finishes);
    // what is thrown for certain comes to its handler
    const caught = withoutErrors(program, finishing(program, this.flow));
    this.proper = controlFlow(pruned);
    this.definitions = new Definitions(program);
    for (const block of this.flow.order)
      for (const instruction of program.blocks[block].instructions) this.definitions.add(instruction);
    this.maybe = new Uint8Array(program.registers.length);
    this.live = liveness(
      caught,
      controlFlow(caught),
      program.blocks.map((b) => b.instructions),
    );
    this.launching = Uint8Array.from(program.blocks, ({ instructions }) =>
      instructions.some((i) => i.op === 'host' && i.fn === 'launch') ? 1 : 0,
    );
  }

  find(): Doubt {
    for (const loop of this.flow.loops) this.addLoop(loop.header);
    for (let changed = true; changed; ) {
      this.propagate();
      changed = false;
      for (const block of this.flow.order) {
        const { terminator } = this.program.blocks[block];
        if (terminator.kind !== 'branch' || this.maybe[terminator.condition] === 0 || this.branches.has(block))
          continue;
        const doubt = this.branchDoubt(block, terminator.ifTrue, terminator.ifFalse);
        this.branches.set(block, doubt);
        for (const register of doubt.skip.registers) this.maybe[register] = 1;
        changed = true;
      }
    }
    return { maybe: this.maybe, branches: this.branches, loops: this.loops };
  }

  /** What is computed from something that may be unknown may be unknown. */
  private propagate(): void {
    const { maybe } = this;
    const reads: Register[] = [];
    for (let changed = true; changed; ) {
      changed = false;
      for (const block of this.flow.order) {
        for (const instruction of this.program.blocks[block].instructions) {
          const written = writesOf(instruction);
          if (written.length === 0 || written.every((r) => maybe[r] === 1)) continue;
          let isMaybe = isSource(instruction);
          // such instructions give something known whatever they are given
          const count = isSettling(instruction) ? 0 : readsInto(instruction, reads);
          for (let k = 0; k < count && !isMaybe; k++) isMaybe = maybe[reads[k]] === 1;
          if (!isMaybe) continue;
          for (const r of written) maybe[r] = 1;
          changed = true;
        }
      }
    }
  }

  private addLoop(header: number): void {
    const loopIndex = this.flow.loopAtHeader[header];
    let outermost: number | undefined;
    for (let at = loopIndex; at >= 0; at = this.flow.loops[at].parent) {
      if (this.isLaunching(at)) break;
      outermost = at;
    }
    if (outermost === undefined) {
      this.loops.set(header, { outermost: undefined, skip: undefined });
      return;
    }
    const { header: top, contains, blocks: region } = this.flow.loops[outermost];
    const known = this.loops.get(top)?.skip;
    if (known) {
      this.loops.set(header, { outermost: top, skip: known });
      return;
    }
    let join = this.proper.postDominator[top];
    while (join !== EXIT && contains[join] === 1) join = this.proper.postDominator[join];
    const skip = this.skipTo(top, join, region);
    this.loops.set(header, { outermost: top, skip });
    for (const register of skip.registers) this.maybe[register] = 1;
  }

  private branchDoubt(block: number, ifTrue: number, ifFalse: number): BranchDoubt {
    if (this.finishes[ifTrue] !== this.finishes[ifFalse]) {
      const none = { join: EXIT, registers: [], roots: [] };
      return { always: this.finishes[ifTrue] === 1, skip: none };
    }
    const join = this.proper.postDominator[block];
    const { successors } = this.proper;
    const onTrue = reachableWithout(successors, ifTrue, join);
    const onFalse = reachableWithout(successors, ifFalse, join);
    const launches = (blocks: readonly number[]) => blocks.some((b) => this.launching[b] === 1);
    const [t, f] = [launches(onTrue), launches(onFalse)];
    if (t !== f && join === EXIT && !this.isInLaunchingLoop(block))
      return { always: t, skip: { join, registers: [], roots: [] } };
    const skip = this.skipTo(block, join, [...new Set([...onTrue, ...onFalse])]);
    return { first: t === f ? undefined : t, skip };
  }

  private isInLaunchingLoop(block: number): boolean {
    const { loops, loopOf } = this.flow;
    for (let at = loopOf[block]; at >= 0; at = loops[at].parent) if (this.isLaunching(at)) return true;
    return false;
  }

  private isLaunching(loop: number): boolean {
    return this.flow.loops[loop].blocks.some((block) => this.launching[block] === 1);
  }

  /** @param entry block at whose start or end the region is left out */
  private skipTo(entry: number, join: number, region: readonly number[]): Skip {
    if (join === EXIT) return { join, registers: [], roots: [] };
    const { bitOf, liveIn } = this.live;
    const inside = new Uint8Array(this.program.blocks.length);
    for (const block of region) inside[block] = 1;
    const assigned = new Set<Register>();
    const touched: Register[] = [];
    const own = new Set<Instruction>();
    const visit = (block: number) => {
      for (const instruction of this.program.blocks[block].instructions) {
        own.add(instruction);
        for (const r of writesOf(instruction)) assigned.add(r);
        touched.push(...writtenThrough(this.program, instruction));
      }
    };
    for (const block of region) visit(block);
    const isNeeded = (r: Register) => bitOf[r] >= 0 && hasBit(liveIn[join], bitOf[r]);
    const registers = [...assigned].filter(isNeeded);
    // what functions write that are called once more; their variables are not those of this run
    for (const block of calledIn(this.program, this.flow.successors, region)) visit(block);
    const roots = new Map<string, Root>();
    const seen = new Set<string>();
    for (const register of touched) this.addRoots(register, 0, { entry, assigned, own, seen, roots });
    return { join, registers, roots: [...roots.values()] };
  }

  /** The registers outside of a region that an address inside of it comes from. */
  private addRoots(register: Register, depth: number, region: Region): void {
    const { assigned, own, seen, roots } = region;
    const key = `${register}/${depth}`;
    if (seen.has(key)) return;
    seen.add(key);
    if (this.program.registers[register].role === 'constant') return;
    if (!assigned.has(register) || this.holdsFromBefore(register, region.entry)) roots.set(key, { register, depth });
    if (!assigned.has(register)) return;
    for (let entry = this.definitions.last(register); entry >= 0; entry = this.definitions.before(entry)) {
      const instruction = this.definitions.at(entry);
      if (!own.has(instruction)) continue;
      for (const { from, further } of pointersOf(instruction))
        this.addRoots(from, further ? Math.min(depth + 1, DEEPEST) : depth, region);
    }
  }

  /** Whether a variable that the region assigns may still hold what it held before. */
  private holdsFromBefore(register: Register, entry: number): boolean {
    const { bitOf, liveIn } = this.live;
    if (bitOf[register] < 0) return false;
    const blocks = [entry, ...this.proper.successors[entry]];
    return blocks.some((block) => hasBit(liveIn[block], bitOf[register]));
  }
}

const isSettling = (i: Instruction): boolean =>
  i.op === 'host' && (i.fn === 'certain' || i.fn === 'seed' || i.fn === 'file' || i.fn.startsWith('allocate'));

/** Instructions that may give something unknown though all that they read is known. */
function isSource(instruction: Instruction): boolean {
  switch (instruction.op) {
    case 'unknown':
    case 'load':
    case 'lane':
    case 'matrix':
    case 'atomic':
      return true;
    case 'binary':
      return instruction.fn === 'div' || instruction.fn === 'rem';
    default:
      return false;
  }
}

const changing: Partial<Record<HostInstruction['fn'], true>> = { copy: true, fill: true, wild: true };

/** Addresses through which an instruction writes. */
function writtenThrough(program: Program, instruction: Instruction): readonly Register[] {
  if (instruction.op === 'store' || instruction.op === 'atomic') return [instruction.address];
  if (instruction.op !== 'host') return [];
  if (changing[instruction.fn]) return [instruction.args[0]];
  if (instruction.fn !== 'launch' || instruction.launch === undefined) return [];
  const values = program.launches?.[instruction.launch].values ?? [];
  return instruction.args.filter((_, i) => {
    const value = values[i];
    return value.kind === 'parameter' && value.isPointer === true;
  });
}

/** Where the address that an instruction computes may come from. Of a sum the pointer stands first, an index is scaled. */
export function pointersOf(instruction: Instruction): readonly { from: Register; further: boolean }[] {
  switch (instruction.op) {
    case 'unary':
      return instruction.fn === 'mov' ? [{ from: instruction.a, further: false }] : [];
    case 'convert':
      return [{ from: instruction.a, further: false }];
    case 'binary':
      return instruction.fn === 'add' || instruction.fn === 'sub' ? [{ from: instruction.a, further: false }] : [];
    case 'select':
      return [
        { from: instruction.a, further: false },
        { from: instruction.b, further: false },
      ];
    case 'load':
      return [{ from: instruction.address, further: true }];
    default:
      return [];
  }
}
