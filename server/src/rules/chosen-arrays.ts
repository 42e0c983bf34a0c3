/**
 * Local arrays that the assembler keeps in registers though an index is not constant: it chooses among all elements by selections.
 *
 * Evidence (ptxas 13.0, sm_90, stack frames of 81 kernels): elements of four bytes only (of one, two and eight none: 0 of 12), up to 64 of them
 * (64 yes, 96 no), and as long as that costs little. With the elements counted once an access, eight times in a loop, all arrays up to 64 are in
 * registers (31 of 31), between 65 and 128 some (6 of 13), above none (0 of 20). So a cost of 64 is no local memory, of 128 is open.
 */
import { controlFlow } from '../program/control-flow';
import { accessesOf, addressesOf } from '../program/operands';
import { bytesOf, type Instruction, type Program, type Register } from '../program/program';

const WORD = 4;
const MOST_ELEMENTS = 64;
const PASSES = 8;
const SURELY = 64;
const PERHAPS = 128;
const TOO_MUCH = 1e6;

/** By object of local memory: whether the assembler keeps it in registers; absent where it does not. */
export function chosenArrays(
  program: Program,
  isOpen: (address: Register) => boolean,
): ReadonlyMap<number, 'surely' | 'perhaps'> {
  const costs = new Map<number, number>();
  const flow = controlFlow(program);
  const depthOf = (loop: number): number => (loop < 0 ? 0 : 1 + depthOf(flow.loops[loop].parent));
  program.blocks.forEach(({ instructions }, block) => {
    for (const i of instructions) {
      const addresses = addressesOf(i);
      for (const [k, access] of accessesOf(i).entries()) {
        const { space, object } = program.accesses[access];
        if (space !== 'local' || object === undefined) continue;
        const passes = isOpen(addresses[k]) ? PASSES ** depthOf(flow.loopOf[block]) : 0;
        const cost = widthOf(i) === WORD || passes === 0 ? elementsOf(program, object) * passes : TOO_MUCH;
        costs.set(object, (costs.get(object) ?? 0) + cost);
      }
    }
  });
  const chosen = new Map<number, 'surely' | 'perhaps'>();
  for (const [object, cost] of costs) {
    if (cost > PERHAPS || elementsOf(program, object) > MOST_ELEMENTS) continue;
    chosen.set(object, cost <= SURELY ? 'surely' : 'perhaps');
  }
  return chosen;
}

const elementsOf = ({ objects }: Program, object: number): number => (objects[object].bytes ?? TOO_MUCH) / WORD;

/** Bytes of a plain load or store. */
function widthOf(i: Instruction): number | undefined {
  if (i.op === 'load') return bytesOf[i.type] * i.dst.length;
  return i.op === 'store' ? bytesOf[i.type] * i.values.length : undefined;
}
