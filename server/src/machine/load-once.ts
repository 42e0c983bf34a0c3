/**
 * What is loaded in front of a branch and again from elsewhere on one side of it (`k = a[i]; if (c) k = a[j];`) is loaded once, behind both: the address is
 * selected. Evidence: InstCombine of NVVM makes a load of addresses that meet of loads that do; PTX and machine code of 10 small kernels and recorded
 * machine code of five (searches for the greatest, with the index beside it), nvcc 13.0, sm_90:
 *
 * - nothing else reads either of the two (`if (k > m) k = a[j]` keeps both), and nothing writes memory behind them before the sides meet;
 * - both from one array, of one type; nothing else leads behind the branch;
 * - several in a row are one in the end, so that a loop that is written out loads once; one that is not keeps its loads;
 * - it is shown at what stands behind the branch: in a loop that is written out, at the loop's step.
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { readsInto } from '../program/operands';
import type {
  Block,
  Instruction,
  LoadInstruction,
  Program,
  Register,
  RegisterInfo,
  SourcePlace,
} from '../program/program';
import { type OneSided, oneSidedAt } from './one-sided-branches';
import { placeBehind } from './place-behind';
import { isPure } from './pure';

type Move = Extract<Instruction, { op: 'unary' }>;

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly blocks: Block[];
  readonly registers: RegisterInfo[];
  readonly accesses: Program['accesses'][number][];
  /** By register: how often it is read. */
  readonly reads: number[];
}

/** A variable that is assigned what a load gives, and nothing else asks for. */
interface Loaded {
  readonly load: LoadInstruction;
  readonly move: Move;
}

interface Pair extends OneSided {
  readonly first: Loaded;
  readonly second: Loaded;
}

export function loadOnce(program: Program): Program {
  if (!program.blocks.some(isSide)) return program;
  const flow = controlFlow(program);
  const work: Work = {
    program,
    flow,
    blocks: [...program.blocks],
    registers: [...program.registers],
    accesses: [...program.accesses],
    reads: readsOf(program),
  };
  for (const from of flow.order) for (let pair = pairAt(work, from); pair; pair = pairAt(work, from)) merge(work, pair);
  if (work.accesses.length === program.accesses.length) return program;
  return { ...program, blocks: work.blocks, registers: work.registers, accesses: work.accesses };
}

const isSide = ({ instructions, terminator }: Block): boolean =>
  terminator.kind === 'jump' && instructions.some((i) => i.op === 'load');

function readsOf({ blocks, registers }: Program): number[] {
  const reads: number[] = registers.map(() => 0);
  const found: Register[] = [];
  for (const { instructions, terminator } of blocks) {
    for (const i of instructions) for (let k = readsInto(i, found); k > 0; k--) reads[found[k - 1]]++;
    if (terminator.kind === 'branch') reads[terminator.condition]++;
  }
  return reads;
}

function pairAt(work: Work, from: number): Pair | undefined {
  const branch = oneSidedAt(work.program, work.flow, work.blocks, from);
  if (!branch || !isSide(work.blocks[branch.side]) || !isOnlyWay(work, branch.join)) return undefined;
  for (const second of loadedIn(work, branch.side)) {
    const first = loadedIn(work, from).find(({ move }) => move.dst === second.move.dst);
    if (first && isAlike(work, first.load, second.load)) return { ...branch, first, second };
  }
  return undefined;
}

/** Whether nothing else comes to where the sides meet: blocks without instructions are none to the compiler. */
function isOnlyWay({ blocks, flow }: Work, join: number): boolean {
  for (let block = join; blocks[block].instructions.length === 0; ) {
    const { terminator } = blocks[block];
    if (terminator.kind !== 'jump') return true;
    block = terminator.target;
    if (flow.predecessors[block].length > 1) return false;
  }
  return true;
}

/** Variables that a block leaves with what it has loaded, where nothing behind the load writes memory and nothing in the block reads them. */
function loadedIn(work: Work, block: number): Loaded[] {
  const { blocks, registers, reads } = work;
  const { instructions } = blocks[block];
  const found: Loaded[] = [];
  const seen = new Set<Register>();
  const operands: Register[] = [];
  for (let at = instructions.length - 1; at >= 0; at--) {
    const i = instructions[at];
    if (!isPure(i) && i.op !== 'load') break;
    if (i.op === 'unary' && i.fn === 'mov' && registers[i.dst].role === 'variable' && !seen.has(i.dst)) {
      const load = reads[i.a] === 1 ? loadOf(work, instructions, at, i.a) : undefined;
      if (load) found.push({ load, move: i });
    }
    for (let k = readsInto(i, operands); k > 0; k--) seen.add(operands[k - 1]);
    if ('dst' in i && typeof i.dst === 'number') seen.add(i.dst);
  }
  return found;
}

/** The load that a register comes from, where nothing writes memory behind it. */
function loadOf(
  work: Work,
  instructions: readonly Instruction[],
  before: number,
  of: Register,
): LoadInstruction | undefined {
  for (let at = before - 1; at >= 0; at--) {
    const i = instructions[at];
    if (i.op === 'load' && i.dst.includes(of)) return isPlain(work, i) ? i : undefined;
    if (!isPure(i) && i.op !== 'load') return undefined;
  }
  return undefined;
}

function isPlain({ accesses, registers }: Work, { access, dst, address }: LoadInstruction): boolean {
  const { space, isVolatile, isAssembly, atomic, copiedBytes } = accesses[access];
  const isKnown = (space === 'global' || space === 'shared') && copiedBytes === undefined;
  return isKnown && !isVolatile && !isAssembly && !atomic && dst.length === 1 && registers[address].role !== 'variable';
}

function isAlike({ accesses }: Work, a: LoadInstruction, b: LoadInstruction): boolean {
  const [one, other] = [accesses[a.access], accesses[b.access]];
  const isElsewhere = a.address !== b.address || a.offset !== b.offset;
  return isElsewhere && a.type === b.type && one.object === other.object && one.space === other.space;
}

function merge(work: Work, { from, side, join, first, second }: Pair): void {
  const { blocks, registers, accesses } = work;
  const { load, move } = first;
  const addressType = registers[load.address].type;
  const variable = registers.push({ type: addressType, role: 'variable' }) - 1;
  const [address, value] = [addressType, registers[load.dst[0]].type].map(
    (type) => registers.push({ type, role: 'temporary' }) - 1,
  );
  const access = accesses.push({ ...accesses[load.access], charged: placeOf(work, from, join) }) - 1;
  for (const [block, loaded] of [[from, first] as const, [side, second] as const])
    blocks[block] = {
      ...blocks[block],
      instructions: blocks[block].instructions.flatMap((i) =>
        i === loaded.load ? [] : i === loaded.move ? selected(work, loaded.load, variable) : [i],
      ),
    };
  const behind: readonly Instruction[] = [
    { op: 'unary', fn: 'mov', type: addressType, dst: address, a: variable },
    { ...load, dst: [value], address, offset: 0, access },
    { ...move, a: value },
  ];
  work.reads[value] = 1;
  blocks[join] = { ...blocks[join], instructions: [...behind, ...blocks[join].instructions] };
}

/** Where the load is shown: an earlier one that it was made of says nothing. */
function placeOf({ program, flow, blocks }: Work, from: number, join: number): SourcePlace | undefined {
  const { terminator } = blocks[from];
  const step = terminator.kind === 'branch' ? program.branches[terminator.branch].step : undefined;
  return step ?? placeBehind(program, flow, join);
}

function selected({ registers }: Work, { address, offset }: LoadInstruction, variable: Register): Instruction[] {
  const { type } = registers[address];
  if (offset === 0) return [{ op: 'unary', fn: 'mov', type, dst: variable, a: address }];
  const by = registers.push({ type, role: 'constant', value: offset }) - 1;
  const sum = registers.push({ type, role: 'temporary' }) - 1;
  return [
    { op: 'binary', fn: 'add', type, dst: sum, a: address, b: by },
    { op: 'unary', fn: 'mov', type, dst: variable, a: sum },
  ];
}
