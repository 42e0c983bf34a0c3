/** Whether the ends of several arms compute the same on different operands, and which of these must be selected. */
import type { ControlFlow } from '../program/control-flow';
import { readsInto, readsOf } from '../program/operands';
import type {
  AccessSite,
  Instruction,
  LoadInstruction,
  Program,
  Register,
  RegisterInfo,
  StoreInstruction,
  Terminator,
} from '../program/program';
import type { FixedVariables } from './fixed-variables';
import type { LoopAddresses } from './loop-addresses';
import { isPure } from './pure';

export interface Work {
  /** Its accesses grow by those that are charged to another line. */
  readonly program: Program & { readonly accesses: AccessSite[] };
  readonly flow: ControlFlow;
  readonly addresses: LoopAddresses;
  readonly given: FixedVariables;
  /** By register: 1 where lanes of a warp may differ. */
  readonly divergent: Uint8Array;
  /** Whether a join is the end of the body of a `for` whose head stands before the token. */
  readonly endsLoop: (join: number, first: number) => boolean;
  readonly joins: ReadonlyMap<number, readonly number[]>;
  /** Whether more than one condition leads to a block. */
  readonly isOfSeveralConditions: (block: number) => boolean;
  readonly blocks: { instructions: Instruction[]; readonly terminator: Terminator }[];
  readonly registers: RegisterInfo[];
  /** By register: how often it is read. */
  readonly reads: number[];
  /** By register: how many of these add it to an array together with other numbers. */
  readonly readsOfSums: readonly number[];
  /** By register: what it is a conversion or copy of. */
  readonly sources: ReadonlyMap<Register, Register>;
}

/** The end of one arm. */
export interface Arm {
  readonly block: number;
  readonly definedBy: Map<Register, Instruction>;
  readonly position: Map<Instruction, number>;
  /** Registers that are a constant in this arm, by its condition. */
  readonly fixed: ReadonlySet<Register>;
}

/** How the operands of the arms become one behind them. */
export type Plan =
  | { readonly kind: 'same'; readonly register: Register }
  | { readonly kind: 'selected'; readonly registers: readonly Register[]; readonly offsets?: readonly number[] }
  | { readonly kind: 'sunk'; readonly instructions: readonly Instruction[]; readonly operands: readonly Plan[] };

/**
 * Undefined where a condition says what an operand is, or an address is a variable.
 * @param ends by arm: the position in front of which its operands are needed; what a store in between could change stays
 */
export function planOf(
  work: Work,
  arms: readonly Arm[],
  registers: readonly Register[],
  ends: readonly number[],
): Plan | undefined {
  const [first] = registers;
  if (arms.some((arm, k) => arm.fixed.has(registers[k]))) return undefined;
  if (registers.every((r) => r === first)) return { kind: 'same', register: first };
  const selected: Plan = { kind: 'selected', registers };
  const found = registers.map((r, k) => arms[k].definedBy.get(r));
  if (!found.every((i) => i !== undefined)) return selected;
  if (found.every((i) => isFixedElement(work, i))) return selected;
  if (!found.every((i, k) => mayMove(work, arms[k], i, ends[k]) && isSameOperation(work, found[0], i))) return selected;
  const operands = operandPlans(work, arms, found, ends);
  if (!operands) return undefined;
  if (operands.filter((plan) => plan.kind === 'selected').length > 1) return selected;
  const isNew = operands.some((plan) => plan.kind !== 'same');
  const isSingle = registers.every((r) => work.reads[r] - work.readsOfSums[r] <= 1);
  return isSingle || (!isNew && found[0].op !== 'load') ? { kind: 'sunk', instructions: found, operands } : selected;
}

function operandPlans(
  work: Work,
  arms: readonly Arm[],
  found: readonly Instruction[],
  ends: readonly number[],
): Plan[] | undefined {
  const [first] = found;
  if (first.op === 'load') {
    const address = addressPlan(work, arms, found as readonly LoadInstruction[], ends);
    return address && [address];
  }
  const reads = found.map((i) => {
    const list: Register[] = [];
    return list.slice(0, readsInto(i, list));
  });
  const plans: Plan[] = [];
  for (const k of reads[0].keys()) {
    const column = reads.map((list) => list[k]);
    const plan = planOf(work, arms, column, ends);
    if (!plan) return undefined;
    plans.push(plan);
  }
  return plans;
}

/** Addresses that differ in their offset only are selected as a whole. */
export function addressPlan(
  work: Work,
  arms: readonly Arm[],
  accesses: readonly (LoadInstruction | StoreInstruction)[],
  ends: readonly number[],
): Plan | undefined {
  const registers = accesses.map((i) => i.address);
  if (registers.some((r) => work.registers[r].role === 'variable')) return undefined;
  const offsets = accesses.map((i) => i.offset);
  // a sum as an index is mostly made in front of the branch, where its parts are no constants yet
  const unfixed = arms.map((arm, k) => (isSum(arm, registers[k]) ? { ...arm, fixed: new Set<Register>() } : arm));
  if (offsets.every((offset) => offset === offsets[0])) return planOf(work, unfixed, registers, ends);
  return { kind: 'selected', registers, offsets };
}

/** Whether an arm adds more than one number to an array. */
function isSum({ definedBy }: Arm, register: Register): boolean {
  const isAdd = (i?: Instruction) => i?.op === 'binary' && i.fn === 'add';
  const by = definedBy.get(register);
  return by !== undefined && isAdd(by) && readsOf(by).some((r) => isAdd(definedBy.get(r)));
}

/**
 * An element of a declared array that the text numbers. Where all arms read one, all lanes read them instead; beside an element with an index it is
 * chosen by its address (`i > 0 ? s[i - 1] : s[0]`: PTX of 40 kernels, one load).
 */
export function isFixedElement({ program: { objects } }: Work, i: Instruction): boolean {
  if (i.op !== 'load') return false;
  return objects.some((o) => o.register === i.address && o.bytes !== undefined && !o.isDynamic);
}

/** Nothing behind it in the arm may change what it reads. */
function mayMove(work: Work, arm: Arm, i: Instruction, end: number): boolean {
  const { accesses } = work.program;
  const reads: Register[] = [];
  if (readsInto(i, reads) > 0 && reads.some((r) => work.registers[r].role === 'variable')) return false;
  if (isPure(i)) return true;
  if (i.op !== 'load' || i.dst.length !== 1 || accesses[i.access].isVolatile) return false;
  const { instructions } = work.blocks[arm.block];
  return instructions.slice(arm.position.get(i) ?? 0, end).every((each) => isPure(each) || each.op === 'load');
}

export function isSameOperation(work: Work, a: Instruction, b: Instruction): boolean {
  if (a === b) return true;
  if (a.op !== b.op) return false;
  if (a.op === 'load' && b.op === 'load')
    return a.type === b.type && spaceOf(work, a) === spaceOf(work, b) && a.dst.length === b.dst.length;
  const keyOf = (i: Instruction) =>
    `${'fn' in i ? i.fn : ''}:${'type' in i ? i.type : ''}:${'from' in i ? (i.from ?? '') : ''}`;
  return keyOf(a) === keyOf(b);
}

export function spaceOf({ program }: Work, { access }: LoadInstruction | StoreInstruction): string {
  const { object, space } = program.accesses[access];
  return object === undefined ? space : program.objects[object].space;
}
