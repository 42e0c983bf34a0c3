/**
 * The program of the host as WebAssembly. Every register is a variable; one whose value may be unknown has a second, -1 where it is
 * unknown and 0 where not. The bytes of memory have their likes `SHADOW` bytes behind: 0 where the byte is unknown, else 255.
 */
import { type ControlFlow, controlFlow, dominatorsOf, EXIT, reversePostOrder } from '../program/control-flow';
import type { Program, Register } from '../program/program';
import { Kind, op } from '../wasm/opcodes';
import { type Doubt, doubtOf, type Skip } from './doubt';
import { functionAt, functionsOf, MAIN } from './functions';
import { isEnd, joinBlocks } from './graph';
import { imports } from './imports';
import { InstructionEmitter } from './instructions';
import { PAGES } from './memory-layout';
import { ANYWHERE, Reach } from './reach';
import { type DepthCounter, structure } from './structure';
import { HostValues } from './values';
import { Code, type ModuleFunction, moduleOf } from './wasm';

/** Blocks that control comes to beyond which nothing is generated: the nesting would be too deep. */
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
/** Of a call, in instructions. */
const COST_OF_CALL = 8;

/**
 * Generates the module; undefined where the control flow is not one that WebAssembly can say.
 * @param fuel instructions of the whole run
 */
export function generateHost(program: Program, fuel: number): GeneratedHost | undefined {
  const joined = joinBlocks(program);
  if (controlFlow(joined).order.length > MOST_BLOCKS) return undefined;
  return new Generator(joined, fuel).generate();
}

class Generator {
  private readonly flow: ControlFlow;
  private readonly doubt: Doubt;
  private readonly values: HostValues;
  private readonly reach: Reach;
  /** By block: the function it belongs to. */
  private readonly owner: Int32Array;
  /** Instructions that are left, in a variable of the module. */
  private readonly left: number;
  /** By block: whether the way on which kernels are launched was gone. */
  private readonly tried = new Map<number, number>();
  // of the function at hand
  private code = new Code();
  private emitter: InstructionEmitter;
  private current = MAIN;
  /** How many instructions are left when the present nest of loops is given up. */
  private mark: number;

  constructor(
    private readonly program: Program,
    private readonly fuel: number,
  ) {
    this.flow = controlFlow(program);
    this.doubt = doubtOf(program);
    this.owner = functionsOf(program, this.flow.successors);
    this.values = new HostValues(program, this.doubt);
    this.reach = new Reach(program);
    this.left = this.values.shared(Kind.i64);
    [this.emitter, this.mark] = this.begin(MAIN);
  }

  generate(): GeneratedHost | undefined {
    const functions: ModuleFunction[] = [];
    for (let index = MAIN; index < (this.program.functions?.length ?? 0); index++) {
      if (index !== MAIN) [this.emitter, this.mark] = this.begin(index);
      if (!this.function(index)) return undefined;
      functions.push({ locals: this.values.locals[index - MAIN], code: this.code });
    }
    const { globals, places, end } = this.values;
    return { bytes: moduleOf(imports, functions, globals, PAGES), places, end, reach: this.reach };
  }

  private begin(index: number): [InstructionEmitter, number] {
    this.code = new Code();
    this.current = index;
    this.values.use(index, this.code);
    const emitter = new InstructionEmitter(this.program, this.values, this.code, this.left, this.reach);
    return [emitter, this.values.local(Kind.i64)];
  }

  private function(index: number): boolean {
    const { code, flow } = this;
    const { entry } = index === MAIN ? { entry: 0 } : functionAt(this.program, index);
    if (index !== MAIN && flow.predecessors[entry].length === 0) return true;
    if (index === MAIN) {
      code.i64(BigInt(this.fuel));
      code.local(op.globalSet, this.left);
    } else this.spend(this.costOfFunction(index));
    const successors = flow.successors.map((_, block) => this.successorsIn(block));
    const order = reversePostOrder(successors, entry);
    const dominator = dominatorsOf(successors, order);
    return structure(
      { successors, order, dominator },
      {
        openBlock: () => code.open(op.block),
        openLoop: () => code.open(op.loop),
        close: () => code.op(op.end),
        leave: (depth) => code.branch(depth),
        block: (block, go, depth) => this.block(block, go, depth),
      },
    );
  }

  /** Where control goes on to within the function at hand: functions that are called are passed by. */
  private successorsIn(block: number): number[] {
    const { program, flow, current } = this;
    if (this.owner[block] !== current) return [];
    if (current !== MAIN && block === functionAt(program, current).exit) return [];
    return [...flow.successors[block], ...this.leavesTo(block)].map((next) => this.behindCall(block, next));
  }

  /** Where control goes on when a function has been called that begins there. */
  private behindCall(block: number, next: number): number {
    const index = this.owner[next];
    if (index === this.owner[block] || index === MAIN) return next;
    const { entry, exit } = functionAt(this.program, index);
    return next === entry ? this.flow.successors[exit][0] : next;
  }

  /** Where a block may go on to beside its successors: past what is not followed. */
  private leavesTo(block: number): number[] {
    const joins = [this.doubt.branches.get(block)?.skip.join, this.doubt.loops.get(block)?.skip?.join];
    return joins.filter((join): join is number => join !== undefined && join !== EXIT && this.isHere(join));
  }

  private isHere(block: number): boolean {
    return this.owner[block] === this.current;
  }

  // ---- blocks ----

  private block(block: number, go: (target: number) => void, depth: DepthCounter): void {
    const { instructions, terminator } = this.program.blocks[block];
    this.spendFuel(block, go, depth);
    for (const instruction of instructions) {
      this.emitter.emit(instruction);
      if (isEnd(instruction)) return;
    }
    if (this.current !== MAIN && block === functionAt(this.program, this.current).exit) this.code.op(op.return);
    else if (terminator.kind === 'exit') this.endProgram();
    else if (terminator.kind === 'jump') this.jump(block, terminator.target, go);
    else this.branch(block, terminator, go, depth);
  }

  /** The way into a function is a call of it. */
  private jump(block: number, target: number, go: (target: number) => void): void {
    const behind = this.behindCall(block, target);
    if (behind !== target) this.code.call(imports.length + 1 + this.owner[target]);
    go(behind);
  }

  private endProgram(): void {
    if (this.current !== MAIN) this.emitter.call('stop');
    this.code.op(op.return);
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
        if (tried === undefined) this.tried.set(block, (tried = this.values.shared(Kind.i32)));
        code.local(op.globalGet, tried);
        this.when(depth, () => this.skip(doubt.skip, go));
        code.i32(1);
        code.local(op.globalSet, tried);
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
    for (const { register, depth } of skip.roots) {
      if (this.values.kindOf(register) !== Kind.i64) continue;
      this.values.get(register);
      this.values.shadow(register);
      code.i32(depth);
      code.i32(this.values.mayBeUnknown(register) ? this.reach.of(register, depth > 0) : ANYWHERE);
      this.emitter.call('wild');
    }
    // only now: the pointers may be among them
    for (const register of skip.registers) {
      code.i32(-1);
      this.values.setShadow(register);
    }
    if (skip.join === EXIT) this.endProgram();
    else go(skip.join);
  }

  private spendFuel(block: number, go: (target: number) => void, depth: DepthCounter): void {
    const { code } = this;
    // entering a nest of loops from outside
    for (const next of this.flow.successors[block]) {
      const loop = this.doubt.loops.get(next);
      if (loop?.outermost !== next || this.isInNest(block)) continue;
      code.local(op.globalGet, this.left);
      code.local(op.globalGet, this.left);
      code.i64(PART_OF_NEST);
      code.op(op.i64DivS);
      code.op(op.i64Sub);
      code.local(op.localSet, this.mark);
    }
    const loop = this.doubt.loops.get(block);
    if (!loop) return;
    this.spend(this.costOf(block), depth);
    const { skip } = loop;
    // a nest around the whole function is left by its own loops
    if (!skip || (skip.join !== EXIT && !this.isHere(skip.join))) return;
    code.local(op.globalGet, this.left);
    code.local(op.localGet, this.mark);
    code.op(op.i64LtS);
    this.when(depth, () => this.skip(skip, go));
  }

  private spend(instructions: number, depth?: DepthCounter): void {
    const { code } = this;
    code.local(op.globalGet, this.left);
    code.i64(BigInt(instructions));
    code.op(op.i64Sub);
    code.local(op.globalSet, this.left);
    code.local(op.globalGet, this.left);
    code.i64(0n);
    code.op(op.i64LtS);
    code.open(op.if);
    depth?.enter();
    this.emitter.call('stop');
    depth?.leave();
    code.op(op.end);
  }

  /** Instructions of a run of a function, without those in loops. */
  private costOfFunction(index: number): number {
    const { entry } = functionAt(this.program, index);
    const { loopOf, order } = this.flow;
    let cost = COST_OF_CALL;
    for (const block of order)
      if (this.owner[block] === index && loopOf[block] === loopOf[entry])
        cost += this.program.blocks[block].instructions.length;
    return cost;
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
