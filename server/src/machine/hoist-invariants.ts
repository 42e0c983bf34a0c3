/**
 * Loop-invariant code moves in front of the loop, loads too where nothing in the loop can change what they read. Evidence:
 * LICM of NVVM on kernels compiled with nvcc 13.0; on an H200 nbody.cu:59 reads p[i] once, not once a round.
 */
import { type ControlFlow, controlFlow, dominates, type Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { AccessSite, Instruction, Program, Register } from '../program/program';
import { isReadOnly, mayTouch } from './reuse-loads';

export function hoistInvariants(program: Program): Program {
  const flow = controlFlow(program);
  if (flow.loops.length === 0) return program;
  const blocks = program.blocks.map((b) => ({ ...b, instructions: [...b.instructions] }));
  const work: Program = { ...program, blocks };
  // inner loops first: what leaves an inner loop may leave the outer one too
  const order = [...flow.loops].sort((a, b) => sizeOf(a) - sizeOf(b));
  for (const loop of order) hoistFrom(work, flow, loop, blocks);
  return work;
}

const sizeOf = (loop: Loop): number => loop.contains.reduce((n, c) => n + c, 0);

interface LoopFacts {
  readonly written: Uint8Array;
  readonly stores: readonly AccessSite[];
  readonly hasBarrier: boolean;
}

function factsOf(program: Program, loop: Loop): LoopFacts {
  const written = new Uint8Array(program.registers.length);
  const stores: AccessSite[] = [];
  let hasBarrier = false;
  program.blocks.forEach((block, index) => {
    if (!loop.contains[index]) return;
    for (const i of block.instructions) {
      for (const r of writesOf(i)) written[r] = 1;
      if (i.op === 'store' || i.op === 'atomic') stores.push(program.accesses[i.access]);
      if (i.op === 'asyncCopy') stores.push(program.accesses[i.storeAccess]);
      if (i.op === 'barrier') hasBarrier = true;
    }
  });
  return { written, stores, hasBarrier };
}

function hoistFrom(program: Program, flow: ControlFlow, loop: Loop, blocks: { instructions: Instruction[] }[]): void {
  const outside = flow.predecessors[loop.header].filter((p) => !loop.contains[p]);
  if (outside.length !== 1) return;
  const before = outside[0];
  if (program.blocks[before].terminator.kind !== 'jump') return;
  const facts = factsOf(program, loop);
  const latches = flow.predecessors[loop.header].filter((p) => loop.contains[p]);
  for (const index of flow.order) {
    if (!loop.contains[index]) continue;
    const always = latches.every((latch) => dominates(flow.dominator, index, latch));
    const kept: Instruction[] = [];
    for (const i of blocks[index].instructions) {
      if (!isInvariant(program, i, facts, always)) {
        kept.push(i);
        continue;
      }
      blocks[before].instructions.push(i);
      for (const r of writesOf(i)) facts.written[r] = 0;
    }
    blocks[index].instructions = kept;
  }
}

function isInvariant(program: Program, i: Instruction, facts: LoopFacts, always: boolean): boolean {
  if (!readsOf(i).every((r) => !facts.written[r]) || !writesOf(i).every((r) => isTemporary(program, r))) return false;
  switch (i.op) {
    case 'unary':
    case 'convert':
    case 'binary':
    case 'compare':
    case 'select':
    case 'fma':
      return true;
    case 'load':
      return always && mayHoistLoad(program, program.accesses[i.access], facts);
    default:
      return false;
  }
}

const isTemporary = (program: Program, register: Register): boolean => program.registers[register].role === 'temporary';

function mayHoistLoad(program: Program, site: AccessSite, facts: LoopFacts): boolean {
  if (site.isVolatile) return false;
  if (isReadOnly(site, program)) return true;
  return !facts.hasBarrier && facts.stores.every((store) => !mayTouch(program, site, store));
}
