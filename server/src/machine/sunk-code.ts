/** The code of what the arms of a branch end with, made once behind them: operands that differ are selected, the arms lose what is made there. */
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Register, RegisterInfo, ScalarType } from '../program/program';
import type { Arm, Plan, Work } from './arm-plans';
import { withOperands } from './common-expressions';

/** Emits what a plan computes; returns the register that holds it behind the arms. */
export function emit(
  work: Work,
  arms: readonly Arm[],
  plan: Plan,
  out: Instruction[],
  gone: Set<Instruction>,
  chosen: number,
): Register {
  switch (plan.kind) {
    case 'same':
      return plan.register;
    case 'selected':
      return selectedValue(work, arms, plan, out);
    case 'sunk': {
      const operands = plan.operands.map((each) => emit(work, arms, each, out, gone, chosen));
      const i = plan.instructions[chosen];
      const dst = newRegister(work, work.registers[writesOf(i)[0]].type, 'temporary');
      if (i.op === 'load') {
        const [address] = plan.operands;
        out.push({ ...i, dst: [dst], address: operands[0], offset: withOffset(address) ? 0 : i.offset });
        for (const load of plan.instructions) gone.add(load);
      } else {
        const reads: Register[] = [];
        const count = readsInto(i, reads);
        const now = new Map(reads.slice(0, count).map((r, k) => [r, operands[k]]));
        out.push({ ...withOperands(i, (r) => now.get(r) ?? r), dst } as Instruction);
      }
      return dst;
    }
  }
}

export const withOffset = (plan: Plan): boolean => plan.kind === 'selected' && plan.offsets !== undefined;

/** A variable that every arm assigns its own operand. */
function selectedValue(
  work: Work,
  arms: readonly Arm[],
  plan: Plan & { kind: 'selected' },
  out: Instruction[],
): Register {
  const { type } = work.registers[plan.registers[0]];
  const variable = newRegister(work, type, 'variable');
  arms.forEach((arm, k) => {
    const { instructions } = work.blocks[arm.block];
    let a = plan.registers[k];
    const offset = plan.offsets?.[k] ?? 0;
    if (offset !== 0) {
      const by = newRegister(work, type, 'constant', offset);
      const sum = newRegister(work, type, 'temporary');
      instructions.push({ op: 'binary', fn: 'add', type, dst: sum, a, b: by });
      a = sum;
    }
    instructions.push({ op: 'unary', fn: 'mov', type, dst: variable, a });
  });
  const dst = newRegister(work, type, 'temporary');
  out.push({ op: 'unary', fn: 'mov', type, dst, a: variable });
  return dst;
}

function newRegister(work: Work, type: ScalarType, role: RegisterInfo['role'], value?: number): Register {
  work.reads.push(1);
  return work.registers.push(value === undefined ? { type, role } : { type, role, value }) - 1;
}

export function moveTo(
  work: Work,
  join: number,
  arms: readonly Arm[],
  out: Instruction[],
  gone: ReadonlySet<Instruction>,
): void {
  for (const { block } of arms) {
    const kept = work.blocks[block].instructions.filter((i) => !gone.has(i));
    work.blocks[block] = { ...work.blocks[block], instructions: kept };
  }
  work.blocks[join] = { ...work.blocks[join], instructions: [...out, ...work.blocks[join].instructions] };
}
