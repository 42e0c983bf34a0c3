/** The control flow of the host's program, made plain: straight lines are one block, ways that end in an error are no ways. */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import type { Block, Instruction, Program } from '../program/program';

/** Joins blocks that always follow one another. */
export function joinBlocks(program: Program): Program {
  const { predecessors, order } = controlFlow(program);
  const isJoined = new Uint8Array(program.blocks.length);
  // where functions begin and end stays the border of a block
  const entries = new Set(program.functions?.map(({ entry }) => entry));
  const exits = new Set(program.functions?.map(({ exit }) => exit));
  const blocks: Block[] = [...program.blocks];
  for (const first of order) {
    if (isJoined[first] === 1) continue;
    const instructions = [...blocks[first].instructions];
    let { terminator } = blocks[first];
    let last = first;
    const isEdge = (from: number, to: number) => entries.has(to) || exits.has(to) || exits.has(from);
    while (
      terminator.kind === 'jump' &&
      terminator.target !== first &&
      predecessors[terminator.target].length === 1 &&
      !isEdge(last, terminator.target)
    ) {
      const next = terminator.target;
      isJoined[next] = 1;
      last = next;
      for (const i of blocks[next].instructions) instructions.push(i);
      ({ terminator } = blocks[next]);
      blocks[next] = { instructions: [], terminator: { kind: 'exit' } };
    }
    blocks[first] = { instructions, terminator };
  }
  return { ...program, blocks };
}

/** Nothing is run behind it. */
export const isEnd = (i: Instruction): boolean => i.op === 'host' && (i.fn === 'end' || i.fn === 'lost');

export const isThrown = (i: Instruction): boolean => i.op === 'host' && i.fn === 'thrown';

/** A way that comes here is taken for an error. */
export const isErrorWay = (i: Instruction): boolean => isEnd(i) || isThrown(i);

/**
 * By block: 1 when the program can come to its proper end from here.
 * @param isError what it may not come by
 */
export function finishing(program: Program, flow: ControlFlow, isError = isEnd): Uint8Array {
  const endsInError = ({ instructions }: Block) => instructions.some(isError);
  const finishes = new Uint8Array(program.blocks.length);
  const work = flow.order.filter(
    (b) => program.blocks[b].terminator.kind === 'exit' && !endsInError(program.blocks[b]),
  );
  for (const block of work) finishes[block] = 1;
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    for (const from of flow.predecessors[block]) {
      if (finishes[from] === 1 || endsInError(program.blocks[from])) continue;
      finishes[from] = 1;
      work.push(from);
    }
  }
  return finishes;
}

/** The program in which an unknown condition never leads to an error: such branches go the other way. Only for analyses. */
export function withoutErrors(program: Program, finishes: Uint8Array): Program {
  const blocks = program.blocks.map((block): Block => {
    const { terminator } = block;
    if (terminator.kind !== 'branch' || finishes[terminator.ifTrue] === finishes[terminator.ifFalse]) return block;
    const target = finishes[terminator.ifTrue] === 1 ? terminator.ifTrue : terminator.ifFalse;
    return { ...block, terminator: { kind: 'jump', target } };
  });
  return { ...program, blocks };
}
