/**
 * A block that does nothing but ask what the branch in front of it has asked already is passed by: `if (up && x > y) swap(); else if (!up && x < y) swap();`
 * and `if (up) {…} if (!up) {…}` are one branch with two arms, so that what both arms begin with is loaded once, in front of it
 * (hoist-common.ts). Evidence: SimplifyCFG of NVVM (a branch on the condition of a predecessor's), PTX of 18 small kernels, nvcc 13.0:
 *
 * - the condition is the same or its opposite, of integers: not of numbers with a fraction, not `x <= 3` behind `x > 5`;
 * - one way into the block comes straight from that branch, and on all others its outcome is known;
 * - the block computes the condition alone: a load, a store, or a value that is used behind it keeps it;
 * - `if (p > i && up) {…} if (p > i && !up) {…}`, whose parts became one condition each (if-conversion.ts), stay two.
 */
import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import { readsInto, readsOf, writesOf } from '../program/operands';
import type { Block, CompareOp, Instruction, Program, Register, Terminator } from '../program/program';
import { dropDeadCode } from './dead-code';
import { keyOf } from './hoist-common';
import { isPure } from './pure';
import { leading, threadJumps, type Way } from './thread-jumps';

type Branch = Terminator & { kind: 'branch' };

/** Rounds, since a block that is passed by may lead to another one. */
const MOST_ROUNDS = 8;
/** Branches that are looked at in front of a block. */
const MOST_STEPS = 32;
/** Instructions that a condition may be made of. */
const MOST_PARTS = 12;

/** The program as it is where nothing is passed by, also not once conditions of several parts lead where each part decides (thread-jumps.ts). */
export function passDecided(program: Program): Program {
  const threaded = threadJumps(program);
  const asked = threaded === program ? program : dropDeadCode(threaded);
  const after = passAll(asked);
  return after === asked ? program : after;
}

function passAll(program: Program): Program {
  let after = program;
  for (let round = 0, before: Program | undefined; after !== before && round < MOST_ROUNDS; round++) {
    before = after;
    after = passOnce(before);
  }
  return after;
}

function passOnce(program: Program): Program {
  if (!program.blocks.some((block) => mayBeDecided(block))) return program;
  const flow = controlFlow(program);
  const headers = new Set(flow.loops.map(({ header }) => header));
  const candidates = flow.order.filter((index) => {
    const block = program.blocks[index];
    return (
      flow.predecessors[index].length > 1 &&
      asks(program, index) &&
      mayBeDecided(block) &&
      !isLoops(headers, index, block)
    );
  });
  if (candidates.length === 0) return program;
  const conditions = new Conditions(program, flow);
  const blocks = [...program.blocks];
  const branches = [...program.branches];
  /** Blocks whose ends are others than in the program that was asked about. */
  const touched = new Set<number>();
  for (const index of candidates) {
    const ways = waysInto(program, flow, headers, index);
    if (ways.some(({ from }) => touched.has(from)) || touched.has(index)) continue;
    const { terminator } = blocks[index];
    // most blocks that ask come from none that does, and nothing has to be known of the program for these
    if (terminator.kind !== 'branch' || !ways.some(({ from }) => asks(program, from))) continue;
    const answers = conditions.answers(index, ways);
    if (!answers || !conditions.isAllThatIsDone(index)) continue;
    for (const branch of conditions.deciding(index, ways)) branches[branch] = { ...branches[branch], kind: 'if' };
    for (const [at, { from, to }] of ways.entries()) {
      const target = answers[at] ? terminator.ifTrue : terminator.ifFalse;
      blocks[from] = { ...blocks[from], terminator: leading(blocks[from].terminator, to, target) };
      touched.add(from);
    }
    blocks[index] = { instructions: [], terminator: { kind: 'exit' } };
    touched.add(index);
  }
  return touched.size > 0 ? { ...program, blocks, branches } : program;
}

const mayBeDecided = ({ instructions, terminator }: Block): boolean =>
  terminator.kind === 'branch' &&
  terminator.ifTrue !== terminator.ifFalse &&
  instructions.length <= MOST_PARTS &&
  instructions.every(isPure);

/** Whether a block ends with a question that is not a loop's. */
const asks = ({ blocks, branches }: Program, index: number): boolean => {
  const { terminator } = blocks[index];
  return terminator.kind === 'branch' && branches[terminator.branch].kind !== 'loop';
};

/** Where a loop begins, and what decides whether it begins or goes on. */
function isLoops(headers: ReadonlySet<number>, index: number, { terminator }: Block): boolean {
  if (headers.has(index) || terminator.kind !== 'branch') return true;
  return headers.has(terminator.ifTrue) || headers.has(terminator.ifFalse);
}

/** Those that lead to a block, through blocks that do nothing. */
function waysInto(program: Program, flow: ControlFlow, headers: ReadonlySet<number>, block: number, depth = 0): Way[] {
  return flow.predecessors[block].flatMap((from): Way[] => {
    const { instructions, terminator } = program.blocks[from];
    const isEmpty = instructions.length === 0 && terminator.kind === 'jump' && !headers.has(from) && from !== 0;
    return isEmpty && depth < 8 ? waysInto(program, flow, headers, from, depth + 1) : [{ from, to: block }];
  });
}

/** What is asked, with the same text for the same question; opposite where the answer is the other one. */
interface Question {
  readonly text: string;
  readonly isOpposite: boolean;
  /** Variables that it rests on, and the block in which they are read. */
  readonly variables: readonly Register[];
}

interface Made {
  readonly block: number;
  readonly instruction: Instruction;
}

class Conditions {
  private made: ReadonlyMap<Register, Made> | undefined;
  private readIn: Int32Array | undefined;
  private readonly questions = new Map<number, Question | undefined>();

  constructor(
    private readonly program: Program,
    private readonly flow: ControlFlow,
  ) {}

  /** What computes a temporary; undefined for what is loaded or given. */
  private madeBy(register: Register): Made | undefined {
    this.made ??= computedIn(this.program, this.flow);
    return this.made.get(register);
  }

  /** Whether nothing that a block computes is used behind it. */
  isAllThatIsDone(index: number): boolean {
    const { registers, blocks } = this.program;
    this.readIn ??= readersOf(this.program, this.flow);
    const { readIn } = this;
    return blocks[index].instructions.every((i) =>
      writesOf(i).every((r) => registers[r].role === 'temporary' && readIn[r] === index),
    );
  }

  /** By way: the outcome of a block's branch there; undefined where it is not known on all, or no way comes from the same question. */
  answers(index: number, ways: readonly Way[]): boolean[] | undefined {
    const asked = this.questionOf(index);
    if (!asked) return undefined;
    if (!ways.some(({ from }) => this.questionOf(from)?.text === asked.text)) return undefined;
    const answers: boolean[] = [];
    for (const way of ways) {
      const answer = this.answerOn(way, asked);
      if (answer === undefined) return undefined;
      answers.push(answer !== asked.isOpposite);
    }
    return answers;
  }

  /** The branches that ask the same straight in front of a block; the parts of a condition among them are branches with two arms then. */
  deciding(index: number, ways: readonly Way[]): number[] {
    const asked = this.questionOf(index);
    return ways.flatMap(({ from }) => {
      const { terminator } = this.program.blocks[from];
      return terminator.kind === 'branch' && this.questionOf(from)?.text === asked?.text ? [terminator.branch] : [];
    });
  }

  private answerOn({ from, to }: Way, asked: Question): boolean | undefined {
    let next = to;
    for (let step = 0, block = from; step < MOST_STEPS && block >= 0; step++, block = this.flow.dominator[block]) {
      const { terminator } = this.program.blocks[block];
      const before = terminator.kind === 'branch' ? this.questionOf(block) : undefined;
      if (terminator.kind === 'branch' && before?.text === asked.text) {
        const side = block === from ? sideTo(terminator, to) : this.sideOver(terminator, next);
        if (side !== undefined) return this.areKept(asked, block, from) ? side !== before.isOpposite : undefined;
      }
      next = block;
    }
    return undefined;
  }

  /** The outcome of a branch that dominates a block, where only one of its sides leads there. */
  private sideOver({ ifTrue, ifFalse }: Branch, next: number): boolean | undefined {
    const { predecessors, dominator } = this.flow;
    const leads = (side: number) => predecessors[side].length === 1 && dominates(dominator, side, next);
    if (ifTrue === ifFalse) return undefined;
    return leads(ifTrue) ? true : leads(ifFalse) ? false : undefined;
  }

  /** Whether the variables of a question hold at the end of a block what they held at a branch that dominates it. */
  private areKept({ variables }: Question, branch: number, end: number): boolean {
    if (variables.length === 0 || branch === end) return true;
    const seen = new Set([branch]);
    const open = [end];
    for (let block = open.pop(); block !== undefined; block = open.pop()) {
      if (seen.has(block)) continue;
      seen.add(block);
      if (this.program.blocks[block].instructions.some((i) => writesOf(i).some((r) => variables.includes(r))))
        return false;
      open.push(...this.flow.predecessors[block]);
    }
    return true;
  }

  private questionOf(block: number): Question | undefined {
    if (this.questions.has(block)) return this.questions.get(block);
    const { terminator } = this.program.blocks[block];
    const variables: Register[] = [];
    const found = terminator.kind === 'branch' ? this.ask(terminator.condition, block, variables, 0) : undefined;
    const question = found && this.isReadBehind(block, variables) ? { ...found, variables } : undefined;
    this.questions.set(block, question);
    return question;
  }

  /** Whether a block reads the variables as they are at its end. */
  private isReadBehind(block: number, variables: readonly Register[]): boolean {
    if (variables.length === 0) return true;
    return !this.program.blocks[block].instructions.some((i) => writesOf(i).some((r) => variables.includes(r)));
  }

  private ask(
    condition: Register,
    block: number,
    variables: Register[],
    depth: number,
  ): Omit<Question, 'variables'> | undefined {
    const i = this.madeBy(condition)?.instruction;
    if (i?.op === 'unary' && i.fn === 'lognot') {
      const inner = depth < MOST_PARTS ? this.ask(i.a, block, variables, depth + 1) : undefined;
      return inner && { ...inner, isOpposite: !inner.isOpposite };
    }
    if (i?.op === 'compare' && /f/.test(i.type)) return undefined;
    if (i?.op !== 'compare') {
      const text = this.textOf(condition, block, variables, depth);
      return text === undefined ? undefined : { text, isOpposite: false };
    }
    const { fn, isSwapped, isOpposite } = asLess[i.fn];
    const [a, b] = isSwapped ? [i.b, i.a] : [i.a, i.b];
    const [x, y] = [this.textOf(a, block, variables, depth + 1), this.textOf(b, block, variables, depth + 1)];
    return x === undefined || y === undefined ? undefined : { text: `${fn} ${i.type} (${x}, ${y})`, isOpposite };
  }

  /** A value by what computes it; undefined where it is made of too much, or of a variable that another block has read. */
  private textOf(register: Register, block: number, variables: Register[], depth: number): string | undefined {
    const { role, value, type } = this.program.registers[register];
    if (role === 'constant') return `${type} ${value}`;
    if (role === 'variable') {
      variables.push(register);
      return `r${register}`;
    }
    const made = this.madeBy(register);
    if (!made) return `r${register}`;
    if (depth > MOST_PARTS) return undefined;
    const i = made.instruction;
    const texts = new Map<Register, string>();
    for (const read of readsOf(i)) {
      // another block may have read it before it was assigned
      if (this.program.registers[read].role === 'variable' && made.block !== block) return `r${register}`;
      const text = this.textOf(read, block, variables, depth + 1);
      if (text === undefined) return undefined;
      texts.set(read, text);
    }
    return `(${keyOf(i, (r) => texts.get(r) ?? '')})`;
  }
}

/** By temporary: the block and the instruction that compute it. */
function computedIn({ blocks, registers }: Program, { order }: ControlFlow): Map<Register, Made> {
  const made = new Map<Register, Made>();
  for (const block of order)
    for (const instruction of blocks[block].instructions)
      if (isPure(instruction) && 'dst' in instruction && typeof instruction.dst === 'number')
        if (registers[instruction.dst].role === 'temporary') made.set(instruction.dst, { block, instruction });
  return made;
}

/** By register: the block that reads it, or several. */
function readersOf({ blocks, registers }: Program, { order }: ControlFlow): Int32Array {
  const readIn = new Int32Array(registers.length).fill(NOWHERE);
  const note = (r: Register, index: number): void => {
    readIn[r] = readIn[r] === NOWHERE || readIn[r] === index ? index : SEVERAL;
  };
  for (const index of order) {
    const { instructions, terminator } = blocks[index];
    for (const instruction of instructions) {
      const count = readsInto(instruction, operands);
      for (let k = 0; k < count; k++) note(operands[k], index);
    }
    if (terminator.kind === 'branch') note(terminator.condition, index);
  }
  return readIn;
}

function sideTo({ ifTrue, ifFalse }: Branch, target: number): boolean | undefined {
  return ifTrue === ifFalse ? undefined : ifTrue === target ? true : ifFalse === target ? false : undefined;
}

/** In place of a block: none reads it, several do. */
const NOWHERE = -1;
const SEVERAL = -2;

const operands: Register[] = [];

/** Comparisons as the compiler writes them: x <= y is the opposite of y < x. */
const asLess: Readonly<Record<CompareOp, { fn: 'eq' | 'lt'; isSwapped: boolean; isOpposite: boolean }>> = {
  eq: { fn: 'eq', isSwapped: false, isOpposite: false },
  ne: { fn: 'eq', isSwapped: false, isOpposite: true },
  lt: { fn: 'lt', isSwapped: false, isOpposite: false },
  gt: { fn: 'lt', isSwapped: true, isOpposite: false },
  le: { fn: 'lt', isSwapped: true, isOpposite: true },
  ge: { fn: 'lt', isSwapped: false, isOpposite: true },
};
