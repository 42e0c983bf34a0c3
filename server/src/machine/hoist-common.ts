/**
 * A load that both arms of a branch begin with is made once, before the branch, by the lanes of both. Evidence: SimplifyCFG and
 * GVN hoisting of NVVM with nvcc 13.0; on an H200 branches.cu:11 reads in[i] of both arms with one full request, bitonic_sort.cu:43
 * both elements. The load keeps the line of the second arm. The body of a loop and what follows the loop are not arms of a branch
 * (PTX of a stencil that marches through planes and writes the last one behind the loop).
 */
import { controlFlow } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, LoadInstruction, Program, Register } from '../program/program';

export function hoistCommonLoads(program: Program): Program {
  const flow = controlFlow(program);
  const blocks = program.blocks.map((b) => ({ ...b, instructions: [...b.instructions] }));
  for (const index of flow.order) {
    const { terminator } = blocks[index];
    if (terminator.kind !== 'branch' || terminator.ifTrue === terminator.ifFalse) continue;
    if (program.branches[terminator.branch].kind === 'loop') continue;
    const arms = [terminator.ifTrue, terminator.ifFalse];
    if (!arms.every((arm) => flow.predecessors[arm].length === 1)) continue;
    hoist(program, blocks[index].instructions, blocks[arms[0]], blocks[arms[1]]);
  }
  return { ...program, blocks };
}

/** What an arm computes before it changes anything: by key, equal in both arms where the operands are equal. */
interface Beginning {
  readonly byKey: Map<string, Instruction>;
  readonly definedBy: Map<Register, Instruction>;
}

type Arm = { instructions: Instruction[] };

function hoist(program: Program, before: Instruction[], first: Arm, second: Arm): void {
  const numbers = new Map<string, number>();
  const a = beginningOf(program, first.instructions, numbers);
  const b = beginningOf(program, second.instructions, numbers);
  const common = [...a.byKey].flatMap(([key, i]) => {
    const other = b.byKey.get(key);
    return i.op === 'load' && other?.op === 'load' ? [{ load: i, other }] : [];
  });
  if (common.length === 0) return;
  const moved = new Set<Instruction>();
  for (const { load } of common) collect(a, load, moved);
  const inOrder = first.instructions.filter((i) => moved.has(i));
  const access = new Map<Instruction, number>(common.map(({ load, other }) => [load, other.access]));
  before.push(...inOrder.map((i) => (i.op === 'load' ? { ...i, access: access.get(i) ?? i.access } : i)));
  first.instructions = first.instructions.filter((i) => !moved.has(i));
  const replacement = new Map<Instruction, LoadInstruction>(common.map(({ load, other }) => [other, load]));
  second.instructions = second.instructions.flatMap((i): Instruction[] => {
    const load = replacement.get(i);
    if (!load || i.op !== 'load') return [i];
    return i.dst.map((dst, k) => ({ op: 'unary', fn: 'mov', type: i.type, dst, a: load.dst[k] }));
  });
}

/** A load and the computations in its arm that its address needs. */
function collect(beginning: Beginning, instruction: Instruction, into: Set<Instruction>): void {
  if (into.has(instruction)) return;
  into.add(instruction);
  for (const r of readsOf(instruction)) {
    const source = beginning.definedBy.get(r);
    if (source) collect(beginning, source, into);
  }
}

const pure = new Set<Instruction['op']>(['unary', 'convert', 'binary', 'compare', 'select', 'fma']);

/** @param numbers of keys, shared by both arms: operands are named by the number of what computed them */
function beginningOf(program: Program, instructions: readonly Instruction[], numbers: Map<string, number>): Beginning {
  const result: Beginning = { byKey: new Map(), definedBy: new Map() };
  const names = new Map<Register, string>();
  const assigned = new Set<Register>();
  for (const i of instructions) {
    const isLoad = i.op === 'load' && !program.accesses[i.access].isVolatile;
    if (!isLoad && !pure.has(i.op)) break;
    const written = writesOf(i);
    const usable =
      readsOf(i).every((r) => !assigned.has(r)) && written.every((r) => program.registers[r].role === 'temporary');
    if (!usable) {
      for (const r of written) assigned.add(r);
      continue;
    }
    const key = keyOf(i, (r) => names.get(r) ?? `r${r}`);
    if (!result.byKey.has(key)) result.byKey.set(key, i);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    for (const [k, r] of written.entries()) {
      names.set(r, `#${number}.${k}`);
      result.definedBy.set(r, i);
    }
  }
  return result;
}

function keyOf(i: Instruction, name: (r: Register) => string): string {
  const operands = readsOf(i).map(name).join(',');
  if (i.op === 'load') return `load:${i.type}x${i.dst.length}:${i.offset}:${operands}`;
  const fn = 'fn' in i ? i.fn : '';
  const from = 'from' in i ? (i.from ?? '') : '';
  return `${i.op}:${fn}:${'type' in i ? i.type : ''}:${from}:${operands}`;
}
