/**
 * Three and more arms that store what they load, of which a condition has loaded some already, as in merging:
 * `if (i >= n) c[k] = b[j++]; else if (j >= m) c[k] = a[i++]; else if (a[i] < b[j]) c[k] = a[i++]; else c[k] = b[j++];` is one load from where each arm points and one store,
 * and what the condition has loaded is loaded again: NVVM sinks what the arms end with before it looks what is known. The load is shown at the last arm, but at the one before
 * where the last condition is `<=`, `>=` or `!=`, which NVVM turns around. Not where more follows in the arms (`c[k] = b[j]; j++;`), nor where
 * nothing but the kernel's end, which other ways lead to as well, stands behind them. Evidence: machine code of 84 kernels (seven contexts, nvcc 13.0, sm_90); of 72 with other first
 * conditions the load of some is another arm's.
 */
import { controlFlow } from '../program/control-flow';
import type { Instruction, LoadInstruction, Program, StoreInstruction } from '../program/program';
import { lineArm } from './arm-lines';
import { type Arm, addressPlan, planOf, type Work } from './arm-plans';
import { armsOf } from './arm-stores';
import { workOn } from './arm-work';
import { joinsOf, loopEnds } from './joins';
import { reuseLoads } from './reuse-loads';
import { emit, moveTo } from './sunk-code';

/** What an arm ends with. */
interface End {
  readonly store: StoreInstruction;
  readonly load: LoadInstruction;
}

export function sinkChains(program: Program): Program {
  const flow = controlFlow(program);
  const chains = new Map<number, readonly End[]>();
  const joins = joinsOf(program, flow);
  for (const [join, arms] of joins) {
    const ends = arms.flatMap((arm) => endOf(program, arm) ?? []);
    if (arms.length > 2 && ends.length === arms.length) chains.set(join, ends);
  }
  if (chains.size === 0) return program;
  const known = new Set(reuseLoads(program).blocks.flatMap(({ instructions }) => instructions));
  const work: Work = {
    ...workOn(program, flow, joins),
    endsLoop: loopEnds(program, flow),
    readsOfSums: program.registers.map(() => 0),
    sources: new Map(),
  };
  let isOther = false;
  for (const [join, ends] of chains) {
    const again = ends.filter(({ load }) => !known.has(load)).length;
    if (again > 0 && again < ends.length && sink(work, join, ends)) isOther = true;
  }
  return isOther ? { ...work.program, blocks: work.blocks, registers: work.registers } : program;
}

/** A store that is the last of an arm, of what the arm loads. */
function endOf({ blocks, accesses }: Program, arm: number): End | undefined {
  const { instructions } = blocks[arm];
  const store = instructions[instructions.length - 1];
  if (store?.op !== 'store' || store.values.length !== 1 || accesses[store.access].isVolatile) return undefined;
  const load = instructions.findLast((i) => i.op === 'load' && i.dst.length === 1 && i.dst[0] === store.values[0]);
  if (load?.op !== 'load' || accesses[load.access].isVolatile || load.type !== store.type) return undefined;
  return { store, load };
}

function sink(work: Work, join: number, ends: readonly End[]): boolean {
  const arms = armsOf(work, join);
  const stores = ends.map(({ store }) => store);
  const { accesses } = work.program;
  const isOneObject = stores.every(
    ({ access, type }) => type === stores[0].type && accesses[access].object === accesses[stores[0].access].object,
  );
  if (!isOneObject) return false;
  const before = arms.map((arm, k) => arm.position.get(stores[k]) ?? 0);
  const address = addressPlan(work, arms, stores, before);
  const value = planOf(
    work,
    arms,
    stores.map(({ values }) => values[0]),
    before,
  );
  if (!address || address.kind === 'selected' || value?.kind !== 'sunk') return false;
  const bearer = lineArm(work, arms, stores, join);
  const out: Instruction[] = [];
  const gone = new Set<Instruction>(stores);
  const target = emit(work, arms, address, out, gone, bearer);
  const values = [emit(work, arms, value, out, gone, loadingArm(work, arms, ends))];
  out.push({ ...stores[bearer], address: target, values });
  moveTo(work, join, arms, out, gone);
  return true;
}

/** The arm that stands last in the code. */
function loadingArm({ program, flow, blocks }: Work, arms: readonly Arm[], ends: readonly End[]): number {
  const placeOf = (k: number) => program.accesses[ends[k].load.access].place.first;
  const order = arms.map((_, k) => k).sort((a, b) => placeOf(b) - placeOf(a));
  const [last, beforeLast] = order;
  const { instructions, terminator } = blocks[flow.dominator[arms[last].block]];
  if (terminator.kind !== 'branch') return last;
  const test = instructions.find((i) => i.op === 'compare' && i.dst === terminator.condition);
  return test?.op === 'compare' && /^(le|ge|ne)$/.test(test.fn) ? beforeLast : last;
}
