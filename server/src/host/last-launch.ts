/** What a program does when it has launched its last kernel matters to no kernel: it ends there. */
import { controlFlow } from '../program/control-flow';
import type { Block, Instruction, Program } from '../program/program';
import { blocksOf } from './functions';
import { finishing, isThrown } from './graph';

const isLaunch = (i: Instruction): boolean => i.op === 'host' && i.fn === 'launch';

/** The program without what comes after its last launches: references computed on the processor, comparisons, output. */
export function endAfterLastLaunch(program: Program): Program {
  const flow = controlFlow(program);
  const { predecessors } = flow;
  const launches = program.blocks.map((block) => block.instructions.some(isLaunch));
  // by block: whether a launch comes after it
  const comes = program.blocks.map(() => false);
  const open = launches.flatMap((does, block) => (does ? [block] : []));
  // of a function that calls itself every part may come before a launch of the next call
  program.functions?.forEach((_, index) => {
    const blocks = blocksOf(program, flow.successors, index);
    if (!blocks.some((block) => launches[block])) return;
    for (const block of blocks) comes[block] = true;
    open.push(...blocks);
  });
  for (let block = open.pop(); block !== undefined; block = open.pop())
    for (const before of predecessors[block] ?? [])
      if (!comes[before]) {
        comes[before] = true;
        open.push(before);
      }
  const isFailure = (i: Instruction) =>
    i.op === 'host' && i.fn === 'end' && i.args.length > 0 && program.registers[i.args[0]].value !== 0;
  const marks = [isFailure, isThrown].map((isMark) => ({
    finishes: finishing(program, flow, isMark),
    mark: program.blocks.flatMap(({ instructions }) => instructions.filter(isMark)).at(0),
  }));
  const blocks = program.blocks.map((block, index): Block => {
    if (comes[index]) return block;
    const kept = block.instructions.slice(0, block.instructions.findLastIndex(isLaunch) + 1);
    // a way that ends in an error, or where something is thrown, stays one: it is not taken where its condition is not known
    const lost = marks.find(({ finishes, mark }) => mark && finishes[index] === 0);
    if (lost?.mark) kept.push(lost.mark);
    return { ...block, instructions: kept, terminator: { kind: 'exit' } };
  });
  return { ...program, blocks };
}
