/**
 * A vector that a variable gets from memory and only hands on to memory is copied at once: the load moves to the store and bears its
 * line. Evidence: NVVM forwards copies of memory (MemCpyOpt) before it keeps variables in registers; machine code and lines of
 * fifty small kernels, nvcc 13.0, sm_90:
 *
 * - `float4 v = in[i]; out[i] = v;`: both on the second line, and in `if (i < n) out[i] = v;` only the lanes of the branch read;
 *   so through parameters and results of functions, a second variable, and members of records;
 * - of uchar4 to float4 and the like; not of half2, which has a copy constructor, of records with the alignment of their members or made of vectors
 *   (`struct { float4 a, b; }`), nor of elements of local arrays;
 * - not where the variable is used otherwise (`v.x`, make_float4(v.x, …)), or one of its copies cannot move;
 * - a store between the two stops it, if it may go there: `__restrict__` says nothing yet (`o[i] = 3` with three such parameters), a
 *   declared shared array is told from a parameter. Barriers stop it, __syncwarp too; loads and atomics do not.
 */
import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import { readsInto } from '../program/operands';
import type {
  AccessSite,
  Instruction,
  LoadInstruction,
  Program,
  Register,
  RegisterInfo,
  StoreInstruction,
} from '../program/program';
import { isFence } from './memory-overlap';
import { blocksBetween } from './reuse-loads';

/** A load, and the stores that are all that reads what it gave. */
interface Copy {
  readonly load: LoadInstruction;
  readonly block: number;
  readonly index: number;
  readonly stores: { readonly store: StoreInstruction; readonly block: number; readonly index: number }[];
  isElsewhere: boolean;
}

export function forwardCopies(program: Program): Program {
  const copies = findCopies(program);
  if (copies.length === 0) return program;
  const flow = controlFlow(program);
  const dropped = new Set<Instruction>();
  const registers: RegisterInfo[] = [...program.registers];
  const accesses: AccessSite[] = [...program.accesses];
  const inFront = new Map<Instruction, { readonly load: LoadInstruction; readonly store: StoreInstruction }>();
  for (const copy of copies) {
    if (copy.isElsewhere || !copy.stores.every((to) => mayMove(program, flow, copy, to))) continue;
    dropped.add(copy.load);
    for (const { store } of copy.stores) {
      const dst = copy.load.dst.map(() => registers.push({ type: copy.load.type, role: 'temporary' }) - 1);
      const site = { ...accesses[copy.load.access], place: accesses[store.access].place };
      inFront.set(store, {
        load: { ...copy.load, dst, access: accesses.push(site) - 1 },
        store: { ...store, values: dst },
      });
    }
  }
  const blocks = program.blocks.map((block) => {
    const instructions = block.instructions.flatMap((i): readonly Instruction[] => {
      if (dropped.has(i)) return [];
      const moved = inFront.get(i);
      return moved ? [moved.load, moved.store] : [i];
    });
    return { ...block, instructions };
  });
  return { ...program, blocks, registers, accesses };
}

/** Loads of vectors whose results only stores of the whole read. */
function findCopies(program: Program): Copy[] {
  const byRegister = new Map<Register, Copy>();
  const stored = program.blocks.some((block) => block.instructions.some((i) => i.op === 'store' && i.isCopy === true));
  if (!stored) return [];
  const copies: Copy[] = [];
  program.blocks.forEach(({ instructions }, block) => {
    instructions.forEach((i, index) => {
      if (i.op !== 'load' || program.accesses[i.access].isVolatile) return;
      if (program.registers[i.address].role === 'variable') return;
      const copy: Copy = { load: i, block, index, stores: [], isElsewhere: false };
      for (const r of i.dst) byRegister.set(r, copy);
      copies.push(copy);
    });
  });
  const reads: Register[] = [];
  program.blocks.forEach(({ instructions, terminator }, block) => {
    instructions.forEach((i, index) => {
      const whole = i.op === 'store' && i.isCopy ? byRegister.get(i.values[0]) : undefined;
      const isWhole = i.op === 'store' && whole?.load.type === i.type && same(whole.load.dst, i.values);
      if (isWhole) whole.stores.push({ store: i, block, index });
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) {
        const copy = byRegister.get(reads[k]);
        if (copy && !(isWhole && copy === whole)) copy.isElsewhere = true;
      }
    });
    const copy = terminator.kind === 'branch' ? byRegister.get(terminator.condition) : undefined;
    if (copy) copy.isElsewhere = true;
  });
  return copies.filter((copy) => copy.stores.length > 0);
}

const same = (a: readonly Register[], b: readonly Register[]): boolean =>
  a.length === b.length && a.every((r, k) => r === b[k]);

/** Nothing on the way from the load to the store may change what it reads; into and out of loops nothing moves. */
function mayMove(program: Program, flow: ControlFlow, from: Copy, to: Copy['stores'][number]): boolean {
  if (flow.loopOf[from.block] !== flow.loopOf[to.block]) return false;
  const site = program.accesses[from.load.access];
  const isHarmless = (i: Instruction) => !mayChange(program, i, site);
  const { instructions } = program.blocks[from.block];
  if (from.block === to.block)
    return from.index < to.index && instructions.slice(from.index, to.index).every(isHarmless);
  if (!dominates(flow.dominator, from.block, to.block)) return false;
  const between = blocksBetween(flow, from.block, to.block);
  return (
    !between.has(to.block) &&
    instructions.slice(from.index).every(isHarmless) &&
    program.blocks[to.block].instructions.slice(0, to.index).every(isHarmless) &&
    [...between].every((block) => program.blocks[block].instructions.every(isHarmless))
  );
}

function mayChange(program: Program, i: Instruction, site: AccessSite): boolean {
  if (isFence(i)) return true;
  if (i.op === 'asyncCopy') return mayMeet(program, site, program.accesses[i.storeAccess]);
  if (i.op !== 'store' && !(i.op === 'matrix' && i.direction === 'store')) return false;
  return mayMeet(program, site, program.accesses[i.access]);
}

/** Different spaces and different declared arrays do not meet. */
function mayMeet(program: Program, a: AccessSite, b: AccessSite): boolean {
  const objectOf = (site: AccessSite) => (site.object === undefined ? undefined : program.objects[site.object]);
  const [first, second] = [objectOf(a), objectOf(b)];
  const [sa, sb] = [first?.space ?? a.space, second?.space ?? b.space];
  if (sa !== 'generic' && sb !== 'generic' && sa !== sb) return false;
  return first === second || first?.bytes === undefined || second?.bytes === undefined;
}
