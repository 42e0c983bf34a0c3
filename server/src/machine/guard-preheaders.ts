/**
 * What was read in front of a loop only because its passes read it (promote-memory.ts, hoist-invariants.ts; loads-of-loops.ts) is read by those that have a pass: the compiler
 * turns `while (c) …` into `if (c) do … while (c)`, and the loop's preheader stands behind that condition. Evidence: PTX and machine code of nvcc 13.0 (8 kernels:
 * strides over rows and columns, loops with a start or an end of each lane, `while`, shared memory, members); H200: a
 * triangular product whose lanes mostly have no pass (2,691 lanes of 2,016 requests read their sum, where all lanes of all passes around were assumed to),
 * loops over the columns of a tensor narrower than the block (8,640 lanes where 12,960 come to the loop).
 */
import { controlFlow, type Loop } from '../program/control-flow';
import { readsInto, readsOf, writesOf } from '../program/operands';
import type { Block, BranchSite, Instruction, Program, Register, RegisterInfo } from '../program/program';
import { withOperands } from './common-expressions';
import { loadsOfLoop } from './loads-of-loops';
import { headOf } from './loop-head';
import { isPure } from './pure';

interface Work {
  readonly program: Program;
  readonly registers: RegisterInfo[];
  readonly branches: BranchSite[];
  readonly blocks: Block[];
}

const isMarked = (i: Instruction): boolean => i.op === 'load' && i.isOfLoop === true;

export function guardPreheaders(program: Program): Program {
  if (!program.blocks.some(({ instructions }) => instructions.some((i) => i.op === 'load'))) return program;
  const flow = controlFlow(program);
  let changes = false;
  const work: Work = {
    program,
    registers: [...program.registers],
    branches: [...program.branches],
    blocks: [...program.blocks],
  };
  for (const before of flow.order) {
    const { instructions, terminator } = program.blocks[before];
    if (terminator.kind !== 'jump') continue;
    const loop = flow.loops[flow.loopAtHeader[terminator.target]];
    if (loop?.contains[before] !== 0) continue;
    const needed = loadsOfLoop(program, before, loop);
    const isOfLoop = (i: Instruction) => isMarked(i) || needed.has(i);
    if (instructions.some(isOfLoop) && guard(work, before, loop, isOfLoop)) changes = true;
  }
  return changes ? { ...program, ...work } : program;
}

/**
 * The block in front becomes three: what is computed in any case and the condition, the loads behind it, and the starts of the loop's variables,
 * which come last for those who look for them in front of a loop.
 */
function guard(work: Work, before: number, loop: Loop, isOfLoop: (i: Instruction) => boolean): boolean {
  const { program, blocks } = work;
  const header = program.blocks[loop.header];
  const place = headOf(program, loop);
  if (header.terminator.kind !== 'branch' || !place) return false;
  const inLoop = loop.contains[header.terminator.ifTrue] === 1;
  if (inLoop === (loop.contains[header.terminator.ifFalse] === 1)) return false;
  const test = copied(work, header.instructions, header.terminator.condition);
  const parts = partsOf(program, before, loop, isOfLoop);
  if (!test || !parts) return false;
  const [guarded, starts] = [blocks.length, blocks.length + 1];
  const branch = work.branches.push({ place, kind: 'loop', isGuard: true }) - 1;
  blocks[before] = {
    instructions: [...parts.always, ...test.instructions],
    terminator: {
      kind: 'branch',
      condition: test.condition,
      ifTrue: inLoop ? guarded : starts,
      ifFalse: inLoop ? starts : guarded,
      branch,
    },
  };
  blocks.push({ instructions: parts.guarded, terminator: { kind: 'jump', target: starts } });
  const written = new Set(parts.always.flatMap((i) => [...writesOf(i)]));
  // once more, so not where another value would come of it
  const isStart = (i: Instruction) =>
    i.op === 'unary' &&
    i.fn === 'mov' &&
    program.registers[i.dst].role === 'variable' &&
    !(program.registers[i.a].role === 'variable' && written.has(i.a));
  blocks.push({
    instructions: parts.always.filter(isStart),
    terminator: { kind: 'jump', target: loop.header },
  });
  return true;
}

/** The condition of a loop's head once more, in registers of its own; undefined where more than arithmetic is in it. */
function copied(
  work: Work,
  instructions: readonly Instruction[],
  condition: Register,
): { readonly instructions: Instruction[]; readonly condition: Register } | undefined {
  const names = new Map<Register, Register>();
  const out: Instruction[] = [];
  for (const i of instructions) {
    if (!isPure(i)) return undefined;
    const [dst] = writesOf(i);
    if (dst === undefined || work.registers[dst].role !== 'temporary') return undefined;
    const copy = work.registers.push(work.registers[dst]) - 1;
    out.push({ ...withOperands(i, (r) => names.get(r) ?? r), dst: copy } as Instruction);
    names.set(dst, copy);
  }
  return { instructions: out, condition: names.get(condition) ?? condition };
}

/** The loads with what follows from them, and the rest; undefined where something else than the loop rests on them. */
function partsOf(
  program: Program,
  before: number,
  loop: Loop,
  isOfLoop: (i: Instruction) => boolean,
): { readonly always: Instruction[]; readonly guarded: Instruction[] } | undefined {
  const made = new Set<Register>();
  const [always, guarded]: Instruction[][] = [[], []];
  for (const i of program.blocks[before].instructions) {
    const follows = isOfLoop(i) || readsOf(i).some((r) => made.has(r));
    if (follows && !isOfLoop(i) && !isPure(i)) return undefined;
    (follows ? guarded : always).push(i);
    if (follows) for (const r of writesOf(i)) made.add(r);
  }
  const reads: Register[] = [];
  const isElsewhere = program.blocks.some(({ instructions }, block) => {
    if (block === before || loop.contains[block] === 1) return false;
    return instructions.some((i) => {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) if (made.has(reads[k])) return true;
      return false;
    });
  });
  return isElsewhere ? undefined : { always, guarded };
}
