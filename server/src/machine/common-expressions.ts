/**
 * Equal computations are done once where the first comes before the second on every way (global value numbering, as NVVM does
 * it): addresses hoisted from two loops are then the same register, and so are the loads from them one.
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { readsOf } from '../program/operands';
import type { Block, Instruction, Program, Register, Terminator } from '../program/program';

/** Dominators looked through for an equal computation. */
const FARTHEST = 64;

export function shareExpressions(program: Program): Program {
  const flow = controlFlow(program);
  const renamed = new Map<Register, Register>();
  const now = (r: Register): Register => renamed.get(r) ?? r;
  const tables = new Map<number, Map<string, Register>>();
  const blocks: Block[] = [...program.blocks];
  for (const index of flow.order) {
    const table = new Map<string, Register>();
    tables.set(index, table);
    const instructions: Instruction[] = [];
    for (const original of program.blocks[index].instructions) {
      const i = withOperands(original, now);
      const key = keyOf(program, i);
      const known = key === undefined ? undefined : lookUp(flow, tables, index, key);
      if (known !== undefined && 'dst' in i && typeof i.dst === 'number') renamed.set(i.dst, known);
      else {
        if (key !== undefined && 'dst' in i && typeof i.dst === 'number') table.set(key, i.dst);
        instructions.push(i);
      }
    }
    blocks[index] = { instructions, terminator: withCondition(program.blocks[index].terminator, now) };
  }
  return { ...program, blocks };
}

function lookUp(
  flow: ControlFlow,
  tables: ReadonlyMap<number, ReadonlyMap<string, Register>>,
  block: number,
  key: string,
): Register | undefined {
  let at = block;
  for (let step = 0; at >= 0 && step < FARTHEST; step++) {
    const known = tables.get(at)?.get(key);
    if (known !== undefined) return known;
    at = flow.dominator[at];
  }
  return undefined;
}

/** Of computations whose operands never change and whose result is a temporary. */
function keyOf(program: Program, i: Instruction): string | undefined {
  const isStable = (r: Register) => program.registers[r].role !== 'variable';
  switch (i.op) {
    case 'unary':
      if (i.fn === 'mov' && program.registers[i.a].role === 'variable') return undefined;
      break;
    case 'convert':
    case 'binary':
    case 'compare':
    case 'select':
    case 'fma':
      break;
    default:
      return undefined;
  }
  if (program.registers[i.dst].role !== 'temporary' || !readsOf(i).every(isStable)) return undefined;
  const fn = 'fn' in i ? i.fn : '';
  const from = 'from' in i ? (i.from ?? '') : '';
  const operands = i.op === 'binary' && commutative.has(i.fn) ? [...readsOf(i)].sort((a, b) => a - b) : readsOf(i);
  return `${i.op}:${fn}:${i.type}:${from}:${program.registers[i.dst].type}:${operands.join(',')}`;
}

const commutative: ReadonlySet<string> = new Set(['add', 'mul', 'and', 'or', 'xor', 'min', 'max']);

function withCondition(terminator: Terminator, now: (r: Register) => Register): Terminator {
  return terminator.kind === 'branch' ? { ...terminator, condition: now(terminator.condition) } : terminator;
}

/** The instruction with its operands replaced. */
export function withOperands(i: Instruction, now: (r: Register) => Register): Instruction {
  if (readsOf(i).every((r) => now(r) === r)) return i;
  switch (i.op) {
    case 'unary':
    case 'convert':
      return { ...i, a: now(i.a) };
    case 'binary':
    case 'compare':
      return { ...i, a: now(i.a), b: now(i.b) };
    case 'select':
      return { ...i, p: now(i.p), a: now(i.a), b: now(i.b) };
    case 'fma':
      return { ...i, a: now(i.a), b: now(i.b), c: now(i.c) };
    case 'load':
    case 'matrix':
      return { ...i, address: now(i.address) };
    case 'store':
      return { ...i, address: now(i.address), values: i.values.map(now) };
    case 'atomic':
      return {
        ...i,
        address: now(i.address),
        value: now(i.value),
        compare: i.compare === undefined ? undefined : now(i.compare),
      };
    case 'asyncCopy':
      return { ...i, source: now(i.source), destination: now(i.destination) };
    case 'lane':
      return {
        ...i,
        a: i.a === undefined ? undefined : now(i.a),
        b: i.b === undefined ? undefined : now(i.b),
        width: i.width === undefined ? undefined : now(i.width),
      };
    case 'work':
      return { ...i, reads: i.reads?.map(now) };
    case 'barrier':
    case 'unknown':
      return i;
  }
}
