/**
 * The program of the host as WebAssembly. Every register is a variable; one whose value may be unknown has a second, -1 where it is
 * unknown and 0 where not. The bytes of memory have their likes `SHADOW` bytes behind: 0 where the byte is unknown, else 255.
 */
import { type ControlFlow, controlFlow, dominatorsOf, EXIT, reversePostOrder } from '../program/control-flow';
import type { Program, Register } from '../program/program';
import { type Doubt, doubtOf, type Skip } from './doubt';
import { isEnd, joinBlocks } from './graph';
import { imports } from './imports';
import { InstructionEmitter } from './instructions';
import { PAGES } from './memory-layout';
import { ANYWHERE, Reach } from './reach';
import { type DepthCounter, structure } from './structure';
import { HostValues } from './values';
import { Code, Kind, moduleOf, op } from './wasm';

/** Blocks beyond which nothing is generated: the nesting would be too deep. */
const MOST_BLOCKS = 12_000;

export interface GeneratedHost {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** By index into the program's objects: its place in memory. */
  readonly places: readonly number[];
  /** The first place in memory that no object has. */
  readonly end: number;
  /** What addresses that are not known may lead to. */
  readonly reach: Reach;
}

/** Of what is left of a run's instructions, one nest of loops that launches nothing has this part; it is left then, so that the run goes on. */
const PART_OF_NEST = 2n;

/**
 * Generates the module; undefined where the control flow is not one that WebAssembly can say.
 * @param fuel instructions of the whole run
 */
export function generateHost(program: Program, fuel: number): GeneratedHost | undefined {
  const joined = joinBlocks(program);
  if (joined.blocks.length > MOST_BLOCKS) return undefined;
  return new Generator(joined, fuel).generate();
}

class Generator {
  private readonly code = new Code();
  private readonly flow: ControlFlow;
  private readonly doubt: Doubt;
  private readonly values: HostValues;
  private readonly emitter: InstructionEmitter;
  private readonly reach: Reach;
  /** Instructions that are left, and how many are left when the present nest of loops is given up. */
  private readonly left: number;
  private readonly mark: number;
  /** By block: whether the way on which kernels are launched was gone. */
  private readonly tried = new Map<number, number>();

  constructor(
    private readonly program: Program,
    private readonly fuel: number,
  ) {
    this.flow = controlFlow(program);
    this.doubt = doubtOf(program);
    this.values = new HostValues(program, this.doubt, this.code);
    this.left = this.values.local(Kind.i64);
    this.reach = new Reach(program);
    this.emitter = new InstructionEmitter(program, this.values, this.code, this.left, this.reach);
    this.mark = this.values.local(Kind.i64);
  }

  generate(): GeneratedHost | undefined {
    const { code, flow } = this;
    code.i64(BigInt(this.fuel));
    code.local(op.localSet, this.left);
    const successors = flow.successors.map((next, block) => [...next, ...this.leavesTo(block)]);
    const order = reversePostOrder(successors, 0);
    const dominator = dominatorsOf(successors, order);
    const isStructured = structure(
      { successors, order, dominator },
      {
        openBlock: () => code.open(op.block),
        openLoop: () => code.open(op.loop),
        close: () => code.op(op.end),
        leave: (depth) => code.branch(depth),
        block: (block, go, depth) => this.block(block, go, depth),
      },
    );
    if (!isStructured) return undefined;
    const { locals, globals, places, end } = this.values;
    return { bytes: moduleOf(imports, locals, globals, code, PAGES), places, end, reach: this.reach };
  }

  /** Where a block may go on to beside its successors: past what is not followed. */
  private leavesTo(block: number): number[] {
    const joins = [this.doubt.branches.get(block)?.skip.join, this.doubt.loops.get(block)?.skip?.join];
    return joins.filter((join): join is number => join !== undefined && join !== EXIT);
  }

  // ---- blocks ----

  private block(block: number, go: (target: number) => void, depth: DepthCounter): void {
    const { instructions, terminator } = this.program.blocks[block];
    this.spendFuel(block, go, depth);
    for (const instruction of instructions) {
      this.emitter.emit(instruction);
      if (isEnd(instruction)) return;
    }
    if (terminator.kind === 'exit') this.code.op(op.return);
    else if (terminator.kind === 'jump') go(terminator.target);
    else this.branch(block, terminator, go, depth);
  }

  private branch(
    block: number,
    end: { readonly condition: Register; readonly ifTrue: number; readonly ifFalse: number },
    go: (target: number) => void,
    depth: DepthCounter,
  ): void {
    const { code } = this;
    const doubt = this.doubt.branches.get(block);
    if (doubt && this.values.mayBeUnknown(end.condition)) {
      this.values.shadow(end.condition);
      this.when(depth, () => {
        if (doubt.always !== undefined) {
          code.i32(doubt.always ? 1 : 0);
          this.values.set(end.condition);
          return;
        }
        if (doubt.first === undefined) {
          this.skip(doubt.skip, go);
          return;
        }
        // the way on which kernels are launched, once
        let tried = this.tried.get(block);
        if (tried === undefined) this.tried.set(block, (tried = this.values.local(Kind.i32)));
        code.local(op.localGet, tried);
        this.when(depth, () => this.skip(doubt.skip, go));
        code.i32(1);
        code.local(op.localSet, tried);
        code.i32(doubt.first ? 1 : 0);
        this.values.set(end.condition);
      });
    }
    this.values.get(end.condition);
    if (end.ifTrue === end.ifFalse) {
      code.op(0x1a);
      go(end.ifTrue);
      return;
    }
    this.when(depth, () => go(end.ifTrue));
    go(end.ifFalse);
  }

  /** `if` of what is on the stack. */
  private when(depth: DepthCounter, then: () => void): void {
    this.code.open(op.if);
    depth.enter();
    then();
    depth.leave();
    this.code.op(op.end);
  }

  /** Goes past a part of the program: what it may have changed is unknown. */
  private skip(skip: Skip, go: (target: number) => void): void {
    const { code } = this;
    for (const { register, isFurther } of skip.roots) {
      if (this.values.kindOf(register) !== Kind.i64) continue;
      this.values.get(register);
      this.values.shadow(register);
      code.i32(isFurther ? 1 : 0);
      code.i32(this.values.mayBeUnknown(register) ? this.reach.of(register, isFurther) : ANYWHERE);
      this.emitter.call('wild');
    }
    // only now: the pointers may be among them
    for (const register of skip.registers) {
      code.i32(-1);
      this.values.setShadow(register);
    }
    if (skip.join === EXIT) code.op(op.return);
    else go(skip.join);
  }

  private spendFuel(block: number, go: (target: number) => void, depth: DepthCounter): void {
    const { code } = this;
    // entering a nest of loops from outside
    for (const next of this.flow.successors[block]) {
      const loop = this.doubt.loops.get(next);
      if (loop?.outermost !== next || this.isInNest(block)) continue;
      code.local(op.localGet, this.left);
      code.local(op.localGet, this.left);
      code.i64(PART_OF_NEST);
      code.op(op.i64DivS);
      code.op(op.i64Sub);
      code.local(op.localSet, this.mark);
    }
    const loop = this.doubt.loops.get(block);
    if (!loop) return;
    code.local(op.localGet, this.left);
    code.i64(BigInt(this.costOf(block)));
    code.op(op.i64Sub);
    code.local(op.localSet, this.left);
    code.local(op.localGet, this.left);
    code.i64(0n);
    code.op(op.i64LtS);
    this.when(depth, () => this.emitter.call('stop'));
    const { skip } = loop;
    if (!skip) return;
    code.local(op.localGet, this.left);
    code.local(op.localGet, this.mark);
    code.op(op.i64LtS);
    this.when(depth, () => this.skip(skip, go));
  }

  /** Whether a block is in a loop that launches nothing. */
  private isInNest(block: number): boolean {
    const index = this.flow.loopOf[block];
    return index >= 0 && this.doubt.loops.get(this.flow.loops[index].header)?.outermost !== undefined;
  }

  /** Instructions of one pass on its longest way, those of inner loops left out: of two sides that exclude each other one is gone. */
  private costOf(header: number): number {
    const index = this.flow.loopAtHeader[header];
    const { contains } = this.flow.loops[index];
    const costs = new Map<number, number>([[header, 0]]);
    let longest = 0;
    for (const block of this.flow.order) {
      const before = costs.get(block);
      if (before === undefined) continue;
      const isOwn = this.flow.loopOf[block] === index;
      const cost = before + (isOwn ? 1 + this.program.blocks[block].instructions.length : 0);
      longest = Math.max(longest, cost);
      for (const next of this.flow.successors[block])
        if (next !== header && contains[next] === 1) costs.set(next, Math.max(costs.get(next) ?? 0, cost));
    }
    return 1 + longest;
  }
}
