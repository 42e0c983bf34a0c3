/**
 * Which line a load bears that moved in front of a loop. LICM drops its line, and that of the code before it goes on. Evidence: lines of
 * 880 kernels, nvcc 13.0:
 *
 * - of a loop within another that counts between constants what stands before it in the same pass (24 kernels); else the outer loop's head, where the outer one neither changes whether the inner one has a pass nor holds a barrier
 *   (the question whether it has one has moved out as well); else its own head;
 * - where the loop is the only place that reads the array of one of them, the kernel's first line of code: before them the machine code makes the
 *   pointer one to global memory, with that line (`for (…) sum += a[i] * b[j]`, not where `a[j]` is read too, nor of a pointer that a record holds,
 *   which is made one where it is read);
 * - where no condition stands in front of the loop, since it counts between constants, the last access of the same block, before all else; without any the condition
 *   that leads there, or its own line where the kernel begins;
 * - from shared memory, in front of a loop over the threads of a block, what is fetched for the loop (shared-in-front.ts);
 * - else the loop's head (H200: nbody.cu:59, lennard_jones.cu:39, merging_neighbours.cu:85).
 */
import type { ControlFlow, Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Block, CompareOp, Instruction, Program, Register, RegisterInfo, SourcePlace } from '../program/program';
import { headOf } from './loop-head';
import { isFence } from './memory-overlap';
import { placeOf, statementOf } from './place-behind';
import { isPure } from './pure';
import { lineOfSharedInFront } from './shared-in-front';

type Access = Extract<Instruction, { readonly op: 'load' | 'store' | 'atomic' }>;

export interface InFront {
  readonly loop: Loop;
  /** The block in front of the loop, to which its invariants have moved. */
  readonly before: number;
  /** How many instructions it had without them. */
  readonly own: number;
  /** Accesses whose array has no other (onlyAccesses). */
  readonly only: ReadonlySet<number>;
}

/** @returns the line of all loads that have moved; undefined where they keep their own */
export function lineInFront(
  program: Program,
  flow: ControlFlow,
  { loop, before, own, only }: InFront,
): SourcePlace | undefined {
  const { instructions } = program.blocks[before];
  const outer = flow.loops[flow.loopOf[before]];
  const isSure = hasPass(program, loop, before);
  const stands = outer && isSure ? instructions.slice(0, own).findLast(hasLine) : undefined;
  if (stands) return placeOf(program, stands);
  if (outer) return headOf(program, isGuardedOutside(program, loop, before, outer) ? outer : loop);
  const last = isSure ? instructions.slice(0, own).findLast(isAccess) : undefined;
  if (last) return program.accesses[last.access].place;
  const first = firstCode(program);
  if (first && instructions.slice(own).some((i) => i.op === 'load' && only.has(i.access))) return first;
  if (!isSure) return lineOfSharedInFront(program, flow, loop, before, own) ?? headOf(program, loop);
  const [condition] = flow.predecessors[before].map((from) => program.blocks[from].terminator);
  return condition?.kind === 'branch' ? program.branches[condition.branch].place : undefined;
}

/** Accesses, barriers and arithmetic with floats; what counts and what makes addresses moves about too much to tell. */
export const hasLine = (i: Instruction): boolean =>
  isAccess(i) ||
  i.op === 'barrier' ||
  ((i.op === 'binary' || i.op === 'fma') && (i.type === 'f32' || i.type === 'f64'));

const isAccess = (i: Instruction): i is Access => i.op === 'load' || i.op === 'store' || i.op === 'atomic';

/** Whether a loop counts between constants, so that nothing asks whether it has a pass. */
function hasPass(program: Program, loop: Loop, before: number): boolean {
  const question = questionOf(program, loop, before);
  return question !== undefined && program.registers[question.bound].role === 'constant';
}

/** Whether a loop is known to have a pass: by constants, or since a loop around it begins alike and asks for the same. */
export function surelyHasPass(program: Program, flow: ControlFlow, loop: Loop, before: number): boolean {
  const question = questionOf(program, loop, before);
  if (!question) return false;
  if (program.registers[question.bound].role === 'constant') return true;
  for (let at = flow.loopOf[before]; at >= 0; at = flow.loops[at].parent) {
    const outer = flow.loops[at];
    const [entry] = flow.predecessors[outer.header].filter((p) => outer.contains[p] === 0);
    const asked = entry === undefined ? undefined : questionOf(program, outer, entry);
    if (asked && asked.fn === question.fn && asked.bound === question.bound && asked.start === question.start)
      return true;
  }
  return false;
}

/** What a loop asks before its first pass, where its counter begins at a constant. */
function questionOf(
  { blocks, registers }: Program,
  loop: Loop,
  before: number,
): { readonly fn: CompareOp; readonly bound: Register; readonly start: Register } | undefined {
  const test = testOf(blocks[loop.header]);
  if (test?.op !== 'compare') return undefined;
  const copied = blocks[loop.header].instructions.find((i) => writesOf(i).includes(test.a));
  const counter = copied?.op === 'unary' && copied.fn === 'mov' ? copied.a : test.a;
  const start = blocks[before].instructions.findLast((i) => writesOf(i).includes(counter));
  if (start?.op !== 'unary' || registers[start.a].role !== 'constant') return undefined;
  return { fn: test.fn, bound: test.b, start: start.a };
}

const testOf = ({ instructions, terminator }: Block): Instruction | undefined =>
  instructions.find((i) => i.op === 'compare' && terminator.kind === 'branch' && i.dst === terminator.condition);

/** Whether the outer loop changes nothing about the inner one having a pass. */
function isGuardedOutside({ blocks, registers }: Program, loop: Loop, before: number, outer: Loop): boolean {
  const test = testOf(blocks[loop.header]);
  if (test === undefined) return false;
  const writers = new Map<Register, Instruction>();
  for (const [index, block] of blocks.entries()) {
    if (outer.contains[index] === 0) continue;
    if (block.instructions.some(isFence)) return false;
    for (const i of block.instructions) for (const r of writesOf(i)) writers.set(r, i);
  }
  const isKept = (r: Register, depth: number): boolean => {
    const writer = writers.get(r);
    if (writer === undefined) return true;
    // what a loop begins with
    const start =
      registers[r].role === 'variable' ? blocks[before].instructions.findLast((i) => writesOf(i).includes(r)) : writer;
    return (
      start !== undefined && isPure(start) && depth < DEEPEST && readsOf(start).every((each) => isKept(each, depth + 1))
    );
  };
  return readsOf(test).every((r) => isKept(r, 0));
}

const DEEPEST = 8;

/** The first statement of the kernel itself that computes something. */
function firstCode({ registers, inputs }: Program): SourcePlace | undefined {
  const special = new Set(inputs.flatMap(({ register, source }) => ('axis' in source ? [register] : [])));
  let first: RegisterInfo | undefined;
  registers.forEach((register, r) => {
    const { role, statement = 0, call } = register;
    if (statement === 0 || call !== undefined || (role !== 'temporary' && !special.has(r))) return;
    if (statement < (first?.statement ?? Number.POSITIVE_INFINITY)) first = register;
  });
  return first && statementOf(first);
}

/** The accesses of arrays behind parameters that have no other. */
export function onlyAccesses({ accesses, blocks, inputs, objects }: Program): Set<number> {
  const parameters = new Set(
    inputs.flatMap(({ register, source }) =>
      source.kind === 'parameter' && source.path.length === 1 ? [register] : [],
    ),
  );
  const found = new Map<number, number | undefined>();
  for (const { instructions } of blocks)
    for (const i of instructions) {
      if (!('access' in i)) continue;
      const { object } = accesses[i.access];
      if (object === undefined || objects[object].bytes !== undefined) continue;
      if (!parameters.has(objects[object].register)) continue;
      found.set(object, !found.has(object) || found.get(object) === i.access ? i.access : undefined);
    }
  return new Set([...found.values()].filter((access) => access !== undefined));
}
