/**
 * A variable that is loaded in front of a loop, and loaded anew at the end of every pass, is loaded at the head of the loop, from a place that
 * is chosen: `int p = first[i]; while (p >= 0) { …; p = next[p]; }`. To NVVM that is one load (InstCombine: a phi of loads becomes a load of
 * a phi) until it puts the loop's question behind the loop as well, where there are two again, but both are shown at the line of the head. Evidence
 * (PTX of 14 loops, nvcc 13.0; H200, H100: karras_lbvh.cu:83, dem_contacts.cu:50, graph_bfs_cc_triangles.cu:64):
 *
 * - `while` and `for`, whatever the question asks; not a loop that asks at its end, nor `while (true)` with a question within;
 * - nothing between either load and the loop's head may write memory (`p = next[p]; done[p] = 1`), and nothing but the head may read what was loaded.
 */
import { type ControlFlow, controlFlow, type Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Block, Instruction, LoadInstruction, Program, Register, SourcePlace } from '../program/program';
import { withChargedLoads } from './charged-loads';
import { headOf } from './loop-head';
import { isFence } from './memory-overlap';

export function placeLoadsAtHeads(program: Program): Program {
  const flow = controlFlow(program);
  const charged = new Map<LoadInstruction, SourcePlace>();
  for (const loop of flow.loops) {
    const ways = waysTo(program, flow, loop);
    if (ways.length < 2 || ways.some((way) => program.blocks[way].terminator.kind !== 'jump')) continue;
    const head = isAskedAtHead(program, loop) ? headOf(program, loop) : undefined;
    if (!head) continue;
    const ends = ways.map((way) => program.blocks[way]);
    for (const load of loadedAtEnds(program, ends)) for (const each of copiesOf(program, load)) charged.set(each, head);
  }
  return withChargedLoads(program, charged);
}

/** Blocks that lead to the head of a loop; those that `continue` and the end of its body meet in a block where nothing is done. */
function waysTo({ blocks }: Program, flow: ControlFlow, { header }: Loop): readonly number[] {
  const isEmpty = (block: number) =>
    blocks[block].instructions.length === 0 && flow.predecessors[block].length > 1 && flow.loopAtHeader[block] < 0;
  return flow.predecessors[header].flatMap((way) => (isEmpty(way) ? flow.predecessors[way] : [way]));
}

function isAskedAtHead({ blocks, branches }: Program, { header }: Loop): boolean {
  const { terminator } = blocks[header];
  return terminator.kind === 'branch' && branches[terminator.branch].kind === 'loop';
}

/** The loads of what is loaded last in all these blocks, from the same space. */
function loadedAtEnds(program: Program, ways: readonly Block[]): LoadInstruction[] {
  const spaceOf = ({ access }: LoadInstruction) => program.accesses[access].space;
  const [before, ...others] = ways.map(({ instructions }) => lastLoads(program, instructions));
  return [...before].flatMap(([variable, load]) => {
    const loads = others.flatMap((each) => each.get(variable) ?? []);
    const isAlike = loads.every((each) => each.type === load.type && spaceOf(each) === spaceOf(load));
    return isAlike && loads.length === others.length ? [load, ...loads] : [];
  });
}

/** The load, and where its loop was written out the same one of other passes. */
function copiesOf({ blocks, accesses }: Program, load: LoadInstruction): LoadInstruction[] {
  const { place } = accesses[load.access];
  const isCopy = (i: Instruction): i is LoadInstruction => {
    if (i.op !== 'load' || i === load) return false;
    const other = accesses[i.access].place;
    return other.first === place.first && other.call === place.call;
  };
  return [load, ...blocks.flatMap(({ instructions }) => instructions.filter(isCopy))];
}

/** By variable: the load that it is assigned from at the end of a block, where nothing behind writes memory or reads it. */
function lastLoads({ accesses }: Program, instructions: readonly Instruction[]): Map<Register, LoadInstruction> {
  const found = new Map<Register, LoadInstruction>();
  /** By register that was loaded: the variable that it is assigned to. */
  const copies = new Map<Register, Register>();
  const used = new Set<Register>();
  for (const i of instructions.toReversed()) {
    const [written] = writesOf(i);
    if (i.op === 'unary' && i.fn === 'mov' && !used.has(written) && !used.has(i.a)) {
      copies.set(i.a, written);
      used.add(written);
      continue;
    }
    if (i.op === 'load' && i.dst.length === 1) {
      const variable = copies.get(written) ?? written;
      if (!found.has(variable) && (copies.has(written) || !used.has(written)) && !accesses[i.access].isAssembly)
        found.set(variable, i);
    }
    if (mayWrite(i)) break;
    for (const r of [...readsOf(i), ...writesOf(i)]) {
      used.add(r);
      copies.delete(r);
    }
  }
  return found;
}

const mayWrite = (i: Instruction): boolean => i.op === 'store' || i.op === 'atomic' || i.op === 'matrix' || isFence(i);
