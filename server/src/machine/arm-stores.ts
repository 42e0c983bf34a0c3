/** Arms of a branch as what is sunk out of them asks for them: what each defines, what its condition says, what it stores last. */
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, Register, StoreInstruction } from '../program/program';
import type { Arm, Work } from './arm-plans';
import { isPure } from './pure';

export function armsOf(work: Work, join: number): Arm[] {
  return (work.joins.get(join) ?? []).map((block): Arm => {
    const { instructions } = work.blocks[block];
    const definedBy = new Map<Register, Instruction>();
    const position = new Map<Instruction, number>();
    instructions.forEach((i, index) => {
      position.set(i, index);
      for (const r of writesOf(i)) definedBy.set(r, i);
    });
    return { block, definedBy, position, fixed: fixedIn(work, block) };
  });
}

/** `if (i == 0)`: what is compared, in the arm where it is equal. */
function fixedIn({ flow, blocks, sources }: Work, block: number): ReadonlySet<Register> {
  const [from] = flow.predecessors[block];
  const { instructions, terminator } = blocks[from] ?? blocks[block];
  if (flow.predecessors[block].length !== 1 || terminator.kind !== 'branch') return new Set();
  const test = instructions.find((i) => i.op === 'compare' && i.dst === terminator.condition);
  const holds = test?.op === 'compare' && test.fn === (terminator.ifTrue === block ? 'eq' : 'ne');
  const fixed = new Set<Register>();
  for (let r = holds ? test.a : undefined; r !== undefined; r = sources.get(r)) fixed.add(r);
  return fixed;
}

/** The last access or barrier of an arm, when it is a store. */
export function lastStore({ blocks }: Work, block: number): StoreInstruction | undefined {
  const i = blocks[block].instructions.findLast((each) => !isPure(each));
  return i?.op === 'store' ? i : undefined;
}

/** Variables that an arm gives what it computes behind its store: `y[k] = x[i]; i++;`, but not `y[k] = x[i++]`. */
export function computedBehind({ blocks, registers }: Work, block: number, store: StoreInstruction): Set<Register> {
  const { instructions } = blocks[block];
  const computed = new Set<Register>();
  const variables = new Set<Register>();
  for (const i of instructions.slice(instructions.indexOf(store) + 1)) {
    const isMove = i.op === 'unary' && i.fn === 'mov';
    for (const r of writesOf(i)) {
      if (isMove && !computed.has(i.a)) continue;
      if (registers[r].role === 'variable') variables.add(r);
      else computed.add(r);
    }
  }
  return variables;
}

/** Whether an arm only stores what is known in front of it, without computing anything but the address. */
export function isPlainStore(work: Work, arm: Arm, store: StoreInstruction): boolean {
  const ofAddress = new Set<Instruction>();
  const open = [store.address];
  for (let r = open.pop(); r !== undefined; r = open.pop()) {
    const by = arm.definedBy.get(r);
    if (by === undefined || ofAddress.has(by)) continue;
    ofAddress.add(by);
    open.push(...readsOf(by));
  }
  return work.blocks[arm.block].instructions.every((i) => i === store || ofAddress.has(i));
}
