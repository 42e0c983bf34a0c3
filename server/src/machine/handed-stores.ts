/** Stores of inlined functions whose place is handed to these, or was computed by the caller before (charge-calls.ts). */
import type { ControlFlow } from '../program/control-flow';
import type { Program, SourcePlace, StoreInstruction } from '../program/program';
import type { Sums } from './address-sums';

interface Graph {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly sums: Sums;
}

/**
 * Through how many calls an address has come that the function would have computed, had not the caller computed the same before: of `if (a[i] > a[p]) swap(a, i, p)`
 * both. 0 where the function has branched since.
 */
export function callsThrough(
  { program, flow }: Graph,
  { address, offset, access }: StoreInstruction,
  block: number,
): number {
  const inner = program.accesses[access].place.call;
  const [before, ...others] = flow.predecessors[block];
  if (!inner || offset !== 0 || others.length > 0) return 0;
  const end = before === undefined ? undefined : program.blocks[before].terminator;
  if (end?.kind === 'branch')
    for (let at = program.branches[end.branch].place.call; at; at = at.call) if (at === inner) return 0;
  const outer = program.registers[address].call;
  for (let at: SourcePlace | undefined = inner, calls = 1; at; at = at.call, calls++)
    if (at.call === outer) return calls;
  return 0;
}

/**
 * A store that needs nothing but an address and a value, both of which its function was given. Members and copies of records add to the address; where it moves with a loop,
 * what it was before the step is copied in front of the store, unless several passes are written out.
 */
export function isStoreOfValue(graph: Graph, i: StoreInstruction, block: number): boolean {
  const { isMember, copiedBytes } = graph.program.accesses[i.access];
  if (isMember || (copiedBytes !== undefined && !i.isReinterpreted)) return false;
  return !graph.sums.isMoving(i.address) || isOneOfCopies(graph, i, block);
}

/** Whether a loop around the store is written out, so that there are others of it in its block. */
const isOneOfCopies = ({ program }: Graph, i: StoreInstruction, block: number): boolean =>
  program.blocks[block].instructions.some((each) => each !== i && each.op === 'store' && each.access === i.access);
