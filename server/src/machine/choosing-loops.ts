/**
 * Loops that look for the least and remember where it was: `if (s < best) { best = s; at = j; }`. Where a pass reads much, NVVM moves no
 * register with the loop for its addresses but computes them anew from j in every pass, and ptxas, which finds j in use as a value too, leaves
 * it at that: all it knows then is that the address is a constant times j. `s[3 * j + c]` is read word by word, `s[2 * j + c]` by twos, where a
 * sum of the same elements is read by fours. Evidence (nvcc 13.0, PTX and machine code of 90 loops written out in fours over shared arrays):
 *
 * - two values are chosen by one condition, which compares one of them, and the other is the counter (with a sum of the counter, a constant or another value
 *   in its place, with a fixed limit in the condition, with `fminf` or one value alone the register moves as ever);
 * - three words of a pass or more; with two if the least itself is used behind the loop (or something else lives on, which is not looked at); with one
 *   only where three or more other values live on.
 */
import { controlFlow, type Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import { bytesOf, type Instruction, type Program, type Register } from '../program/program';

/** By block and register of an address: what the compiler knows it to be a multiple of, beside what does not move; undefined where it is not computed anew. */
export type StepOf = (block: number, address: Register) => number | undefined;

const WORD = 4;
const WIDEST = 16;
const never: StepOf = () => undefined;

export function stepsOfChoosingLoops(program: Program): StepOf {
  const flow = controlFlow(program);
  const counters = new Map<number, Choice>();
  for (const loop of flow.loops) {
    const choice = choiceOf(program, loop);
    if (choice && wordsOfPass(program, loop) >= (isUsedBehind(program, loop, choice.least) ? 2 : 3))
      counters.set(loop.index, choice);
  }
  if (counters.size === 0) return never;
  return (block, address) => {
    const choice = counters.get(flow.loopOf[block]);
    return choice && stepOf(choice, address, program);
  };
}

interface Choice {
  readonly least: Register;
  readonly counter: Register;
  /** By register: the only instruction of the loop that writes it. */
  readonly writers: ReadonlyMap<Register, Instruction>;
  /** By register: what was found of it. */
  readonly steps: Map<Register, number | undefined>;
}

/** Only loops written out in copies: others read what their pass reads. */
function choiceOf(program: Program, loop: Loop): Choice | undefined {
  const end = program.blocks[loop.header].terminator;
  if (end.kind !== 'branch' || program.branches[end.branch].copies === undefined) return undefined;
  const writers = new Map<Register, Instruction>();
  const chosen = new Map<Register, Register[]>();
  for (const i of instructionsIn(program, loop)) {
    for (const register of writesOf(i)) writers.set(register, i);
    if (i.op !== 'select') continue;
    const known = chosen.get(i.p);
    if (known) known.push(i.dst);
    else chosen.set(i.p, [i.dst]);
  }
  for (const [condition, results] of chosen) {
    const test = writers.get(condition);
    if (results.length < 2 || test?.op !== 'compare') continue;
    const values = results.map((result) => writers.get(result)).flatMap((i) => (i?.op === 'select' ? [i] : []));
    const rootOf = (register: Register) => copied(program, writers, register);
    const compared = [rootOf(test.a), rootOf(test.b)];
    const roots = values.flatMap(({ a, b }) => [rootOf(a), rootOf(b)]);
    const least = roots.find((root) => program.registers[root].role === 'variable' && compared.includes(root));
    const counter = roots.find((root) => isStepped(program, writers, root));
    if (least !== undefined && counter !== undefined && counter !== least)
      return { least, counter, writers, steps: new Map() };
  }
  return undefined;
}

const instructionsIn = (program: Program, loop: Loop): Instruction[] =>
  loop.blocks.flatMap((block) => [...program.blocks[block].instructions]);

/** What a register is a copy of. */
function copied(program: Program, writers: ReadonlyMap<Register, Instruction>, register: Register): Register {
  let at = register;
  for (let depth = 0; depth < 10 && program.registers[at].role !== 'variable'; depth++) {
    const by = writers.get(at);
    if (by?.op !== 'unary' || by.fn !== 'mov') break;
    at = by.a;
  }
  return at;
}

/** A variable of the loop that moves by constants. */
function isStepped(program: Program, writers: ReadonlyMap<Register, Instruction>, register: Register): boolean {
  const by = writers.get(register);
  if (program.registers[register].role !== 'variable' || by?.op !== 'unary') return false;
  const sum = writers.get(copied(program, writers, by.a));
  if (sum?.op !== 'binary' || sum.fn !== 'add' || program.registers[sum.b].role !== 'constant') return false;
  return copied(program, writers, sum.a) === register;
}

/** Words of shared memory that a pass of the source reads. */
function wordsOfPass(program: Program, loop: Loop): number {
  const end = program.blocks[loop.header].terminator;
  const copies = end.kind === 'branch' ? (program.branches[end.branch].copies ?? 1) : 1;
  let bytes = 0;
  for (const i of instructionsIn(program, loop)) {
    if (i.op === 'load' && program.accesses[i.access].space === 'shared') bytes += bytesOf[i.type] * i.dst.length;
  }
  return bytes / WORD / copies;
}

/** Whether something outside of the loops that write a variable reads it. */
function isUsedBehind(program: Program, loop: Loop, variable: Register): boolean {
  const { loops, loopOf } = controlFlow(program);
  const writing = new Set([loop.index]);
  program.blocks.forEach(({ instructions }, block) => {
    if (loopOf[block] >= 0 && instructions.some((i) => writesOf(i).includes(variable))) writing.add(loopOf[block]);
  });
  const isInside = (block: number) => [...writing].some((each) => loops[each].contains[block] === 1);
  return program.blocks.some(
    ({ instructions }, block) => !isInside(block) && instructions.some((i) => readsOf(i).includes(variable)),
  );
}

/** Steps from an address to the counter; longer ways are not followed. */
const DEEPEST = 20;

/** The power of two in what the counter is multiplied by; undefined where the counter is no part of the address. */
function stepOf(choice: Choice, address: Register, program: Program, depth = 0): number | undefined {
  if (choice.steps.has(address)) return choice.steps.get(address);
  const step = findStep(choice, address, program, depth);
  choice.steps.set(address, step);
  return step;
}

function findStep(choice: Choice, address: Register, program: Program, depth: number): number | undefined {
  if (copied(program, choice.writers, address) === choice.counter) return 1;
  const by = choice.writers.get(address);
  if (by === undefined || depth > DEEPEST || program.registers[address].role === 'variable') return undefined;
  const steps = readsOf(by).flatMap((read) => stepOf(choice, read, program, depth + 1) ?? []);
  return steps.length === 0 ? undefined : Math.min(WIDEST, ...steps) * factorOf(program, by);
}

function factorOf({ registers }: Program, by: Instruction): number {
  if (by.op !== 'binary' || (by.fn !== 'mul' && by.fn !== 'shl')) return 1;
  const fixed = registers[by.b].value ?? (by.fn === 'mul' ? registers[by.a].value : undefined) ?? 0;
  if (fixed <= 0) return 1;
  return Math.min(WIDEST, by.fn === 'shl' ? 2 ** fixed : fixed & -fixed);
}
