/**
 * What ptxas can know of addresses that move with a loop which NVVM wrote out in part. NVVM gives the copies one register that points at the element in the middle
 * of them (four floats: offsets -8, -4, 0 and 4), so behind a row that is not a fixed array the register is aligned to half of what a pass reads and no better:
 * `sum += u[t][c]` in fours is two LDS.64, not one LDS.128. Evidence (nvcc 13.0, machine code of 200 loops):
 *
 * - four copies that begin at 0: 8 bytes of floats, two copies: 4, eight copies: 16; loads and stores, u[t][c] and s[t * 64 + c] alike;
 * - four copies that begin at another constant: one by one;
 * - s[c] of a fixed array is merged as it lies, since its address is known; so is what __align__ promises.
 */
import { controlFlow } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';

export interface Induction {
  /** Passes of the source in one. */
  readonly copies: number;
  readonly startsAtZero: boolean;
}

/** Of the loop around a block, where its accesses move with a counter behind something that is no fixed array; undefined otherwise. */
export type InductionOf = (block: number, address: Register) => Induction | undefined;

const none: InductionOf = () => undefined;

export function inductions(program: Program): InductionOf {
  if (!program.branches.some(({ copies }) => copies !== undefined)) return none;
  const flow = controlFlow(program);
  let all: Definitions | undefined;
  const objects = new Set(program.objects.map(({ register }) => register));
  return (block, address) => {
    const loop = flow.loops[flow.loopOf[block]];
    const end = loop && program.blocks[loop.header].terminator;
    const copies = end?.kind === 'branch' ? program.branches[end.branch].copies : undefined;
    if (loop === undefined || copies === undefined) return undefined;
    const definitions = (all ??= definitionsOf(program));
    const counters = new Set<Register>();
    let isBehindOther = false;
    const seen = new Set<Register>();
    const visit = (register: Register): void => {
      if (seen.has(register)) return;
      seen.add(register);
      const known = definitions.get(register) ?? [];
      const { role } = program.registers[register];
      if (role === 'variable') {
        if (known.some((each) => loop.contains[each.block] === 1)) counters.add(register);
        else isBehindOther = true;
      } else if (known.length === 0) isBehindOther ||= role === 'input' && !objects.has(register);
      else if (known[0].instruction.op === 'load') isBehindOther = true;
      else for (const read of readsOf(known[0].instruction)) visit(read);
    };
    visit(address);
    if (counters.size !== 1 || !isBehindOther) return undefined;
    const [counter] = counters;
    const starts = (definitions.get(counter) ?? []).filter((each) => loop.contains[each.block] === 0);
    return {
      copies,
      startsAtZero: starts.length > 0 && starts.every(({ instruction }) => isZero(program, instruction)),
    };
  };
}

type Definitions = ReadonlyMap<Register, readonly { readonly block: number; readonly instruction: Instruction }[]>;

function definitionsOf(program: Program): Definitions {
  const found = new Map<Register, { readonly block: number; readonly instruction: Instruction }[]>();
  program.blocks.forEach(({ instructions }, block) => {
    for (const instruction of instructions)
      for (const register of writesOf(instruction)) {
        const known = found.get(register);
        if (known) known.push({ block, instruction });
        else found.set(register, [{ block, instruction }]);
      }
  });
  return found;
}

const isZero = (program: Program, i: Instruction): boolean =>
  i.op === 'unary' && i.fn === 'mov' && program.registers[i.a].value === 0;
