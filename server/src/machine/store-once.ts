/**
 * What is stored in front of a branch and again on one side of it (`a[i] = v; if (v > m) a[i] = m;`) is stored once, behind both: the value is
 * selected. Evidence: InstCombine of NVVM, and SimplifyCFG where a load stands between; PTX and machine code of 30 small kernels, nvcc 13.0, sm_90:
 *
 * - one access on the side, a store to the same address of the same type, whatever is computed there; nothing that reads or writes memory
 *   between the two, but loads, which keep the first store, where the side computes nothing;
 * - nothing else leads behind the branch: not where it ends the body of another `if`, or the kernel after an early return;
 * - where the side's condition says what the index is (`if (i == 0)`) its address is another one;
 * - vectors are stored whole, volatile stores stay;
 * - several in a row are one in the end;
 * - loads that only the side uses stay in front of the first store until then;
 * - the store has no line of its own and is shown at what the assembler writes before it: at the branch where NVVM selects the value there; else,
 *   with nothing behind it, at the second store. In front of a barrier one to shared memory stands behind its address: at the first store, where the
 *   side has a slow path and stays apart, but at the second where the address was at hand (SASS of 440 kernels);
 * - in a loop the last one of a pass is shown at the loop, whose step the assembler writes before it.
 */
import { type ControlFlow, controlFlow, dominates, type Loop } from '../program/control-flow';
import type {
  Block,
  Instruction,
  Program,
  Register,
  RegisterInfo,
  SourcePlace,
  StoreInstruction,
} from '../program/program';
import { costOf, isFolded } from '../program/speculation';
import { FixedVariables } from './fixed-variables';
import { headOf } from './loop-head';
import { type OneSided, oneSidedAt } from './one-sided-branches';
import { hasSlowPath, isPure } from './pure';

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly given: FixedVariables;
  readonly blocks: Block[];
  readonly registers: RegisterInfo[];
  readonly accesses: Program['accesses'][number][];
}

/** A store in front of a branch, and the one on a side of it. */
interface Pair extends OneSided {
  readonly first: StoreInstruction;
  readonly second: StoreInstruction;
  readonly isRead: boolean;
}

export function storeOnce(program: Program): Program {
  if (!program.blocks.some(endsWithStore)) return program;
  const flow = controlFlow(program);
  const work: Work = {
    program,
    flow,
    given: new FixedVariables(program, flow),
    blocks: [...program.blocks],
    registers: [...program.registers],
    accesses: [...program.accesses],
  };
  const last = new Map<string, { readonly join: number; readonly access: number; readonly loop: Loop }>();
  for (const from of flow.order) {
    const pair = pairAt(work, from);
    if (!pair) continue;
    const access = merge(work, pair);
    const loop = flow.loops[flow.loopOf[pair.join]];
    if (loop) last.set(`${loop.index}:${pair.second.access}`, { join: pair.join, access, loop });
  }
  if (work.accesses.length === program.accesses.length) return program;
  for (const { access, loop } of last.values()) {
    const charged = headOf(program, loop);
    if (charged) work.accesses[access] = { ...work.accesses[access], charged };
  }
  return { ...program, blocks: work.blocks, registers: work.registers, accesses: work.accesses };
}

const endsWithStore = ({ instructions, terminator }: Block): boolean =>
  terminator.kind === 'jump' && instructions.findLast((i) => !isPure(i))?.op === 'store';

function pairAt(work: Work, from: number): Pair | undefined {
  const branch = oneSidedAt(work.program, work.flow, work.blocks, from);
  if (!branch || !endsWithStore(work.blocks[branch.side]) || !isOnlyWay(work, branch.join)) return undefined;
  const found = storesOf(work, from, branch.side);
  return found && { ...branch, ...found };
}

function storesOf(work: Work, from: number, side: number): Pick<Pair, 'first' | 'second' | 'isRead'> | undefined {
  const { blocks, program, registers, accesses, given } = work;
  const { instructions } = blocks[side];
  const [second, ...others] = instructions.filter((i) => !isPure(i));
  if (second?.op !== 'store' || others.length > 0 || !isPlain(work, second)) return undefined;
  const before = blocks[from].instructions;
  const at = before.findLastIndex((i) => !isPure(i) && i.op !== 'load');
  const first = before[at];
  if (first?.op !== 'store' || !isPlain(work, first) || !isSamePlace(first, second)) return undefined;
  // a variable may have been assigned since
  if ([...first.values, ...second.values, first.address].some((r) => registers[r].role === 'variable'))
    return undefined;
  const isRead = before.slice(at).some((i) => i.op === 'load');
  if (isRead && costOf(instructions.filter(isPure)) > 0) return undefined;
  const { object } = accesses[first.access];
  const isOther = given.inArm(side)?.(
    second.address,
    second.offset,
    object === undefined ? undefined : program.objects[object],
  );
  return isOther ? undefined : { first, second, isRead };
}

function isPlain({ accesses }: Pick<Work, 'accesses'>, { access, values }: StoreInstruction): boolean {
  const { space, isVolatile, isAssembly, atomic, copiedBytes } = accesses[access];
  const isKnown = (space === 'global' || space === 'shared') && copiedBytes === undefined;
  return isKnown && !isVolatile && !isAssembly && !atomic && values.length === 1;
}

const isSamePlace = (a: StoreInstruction, b: StoreInstruction): boolean =>
  a.address === b.address && a.offset === b.offset && a.type === b.type;

/** Whether nothing else comes to where the two sides meet: blocks without instructions are none to the compiler, and all that return are one. */
function isOnlyWay({ blocks, flow }: Work, join: number): boolean {
  for (let block = join; blocks[block].instructions.length === 0; ) {
    const { terminator } = blocks[block];
    if (terminator.kind === 'branch') return true;
    if (terminator.kind === 'exit') return flow.order.filter((b) => blocks[b].terminator.kind === 'exit').length === 1;
    block = terminator.target;
    if (flow.predecessors[block].length > 1) return false;
  }
  return true;
}

/** The store behind both sides; returns its access. */
function merge(work: Work, pair: Pair): number {
  const { blocks, registers, accesses } = work;
  const { from, side, join, first, second, isRead } = pair;
  const { type } = first;
  const add = (role: RegisterInfo['role']): Register =>
    registers.push({ type: registers[first.values[0]].type, role }) - 1;
  const [variable, value] = [add('variable'), add('temporary')];
  const move = (dst: Register, a: Register): Instruction => ({
    op: 'unary',
    fn: 'mov',
    type: registers[a].type,
    dst,
    a,
  });
  const charged = placeBefore(work, pair);
  const access = accesses.push({ ...accesses[first.access], charged }) - 1;
  const inFront = isRead ? blocks[from].instructions : blocks[from].instructions.filter((i) => i !== first);
  const change = (block: number, instructions: readonly Instruction[]) => {
    blocks[block] = { ...blocks[block], instructions };
  };
  change(from, [...inFront, move(variable, first.values[0])]);
  change(side, [...blocks[side].instructions.filter((i) => i !== second), move(variable, second.values[0])]);
  change(join, [move(value, variable), { ...first, type, values: [value], access }, ...blocks[join].instructions]);
  return access;
}

/** What the assembler writes before the store. */
function placeBefore({ program, blocks, registers, accesses, flow }: Work, pair: Pair): SourcePlace | undefined {
  const { from, side, join, first, second } = pair;
  const { terminator } = blocks[from];
  const branch = terminator.kind === 'branch' ? program.branches[terminator.branch].place : undefined;
  const computed = blocks[side].instructions.filter(isPure);
  if (isFolded(registers, [computed])) return branch;
  const [atFirst, atSecond] = [first, second].map(({ access }) => accesses[access].place);
  const behind = actBehind(blocks, join);
  if (behind === 'nothing') return atSecond;
  if (behind === 'other' || accesses[first.access].space !== 'shared') return branch;
  const isAtHand = blocks.some(
    ({ instructions }, block) =>
      dominates(flow.dominator, block, from) &&
      instructions.some(
        (i) => (i.op === 'load' || i.op === 'store') && i !== first && i !== second && i.address === first.address,
      ),
  );
  if (isAtHand) return atSecond;
  return computed.some(hasSlowPath) ? atFirst : branch;
}

/** What is done next from a block on. */
function actBehind(blocks: readonly Block[], from: number): 'nothing' | 'barrier' | 'other' {
  for (let block = from, passed = 0; passed < blocks.length; passed++) {
    const { instructions, terminator } = blocks[block];
    const next = instructions.find((i) => !isPure(i));
    if (next?.op === 'barrier') return 'barrier';
    if (next || terminator.kind === 'branch') return 'other';
    if (terminator.kind === 'exit') return 'nothing';
    block = terminator.target;
  }
  return 'other';
}
