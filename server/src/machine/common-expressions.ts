/**
 * Equal computations are done once where the first comes before the second on every way (global value numbering, as NVVM does
 * it): addresses hoisted from two loops are then the same register, and so are the loads from them one.
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { ExpressionTable, operationKey } from '../program/expression-table';
import { readsInto } from '../program/operands';
import type { Block, Instruction, Program, Register, Terminator } from '../program/program';

export function shareExpressions(program: Program): Program {
  const flow = controlFlow(program);
  const renamed = new Int32Array(program.registers.length).fill(-1);
  const now = (r: Register): Register => (renamed[r] < 0 ? r : renamed[r]);
  const known = new ExpressionTable();
  const blocks: Block[] = [...program.blocks];
  // as long as nothing is shared, nothing is called otherwise
  let changes = false;
  const share = (index: number): void => {
    const { instructions, terminator } = program.blocks[index];
    let kept: Instruction[] | undefined = changes ? [] : undefined;
    for (let at = 0; at < instructions.length; at++) {
      const i = changes ? withOperands(instructions[at], now) : instructions[at];
      if (isShareable(program, i)) {
        const found = findOrAdd(program, known, i);
        if (found >= 0) {
          renamed[i.dst] = found;
          kept ??= instructions.slice(0, at);
          changes = true;
          continue;
        }
      }
      kept?.push(i);
    }
    if (kept) blocks[index] = { instructions: kept, terminator: withCondition(terminator, now) };
  };
  // down the tree of dominators: at every block the table holds what the blocks above it compute
  const children = dominated(flow);
  const path: { readonly block: number; next: number }[] = [];
  const open = (block: number): void => {
    known.enter();
    share(block);
    path.push({ block, next: 0 });
  };
  if (flow.order.length > 0) open(flow.order[0]);
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const inner = children[top.block];
    if (top.next < inner.length) open(inner[top.next++]);
    else {
      known.leave();
      path.pop();
    }
  }
  return changes ? { ...program, blocks } : program;
}

/** By block: the blocks whose immediate dominator it is. */
function dominated(flow: ControlFlow): number[][] {
  const children: number[][] = flow.successors.map(() => []);
  for (const block of flow.order) if (flow.dominator[block] >= 0) children[flow.dominator[block]].push(block);
  return children;
}

type Shareable = Extract<Instruction, { op: 'unary' | 'convert' | 'binary' | 'compare' | 'select' | 'fma' }>;

/** Computations whose operands never change and whose result is a temporary. */
function isShareable(program: Program, i: Instruction): i is Shareable {
  const { registers } = program;
  switch (i.op) {
    case 'unary':
    case 'convert':
      return registers[i.dst].role === 'temporary' && isStable(program, i.a);
    case 'binary':
    case 'compare':
      return registers[i.dst].role === 'temporary' && isStable(program, i.a) && isStable(program, i.b);
    case 'select':
    case 'fma':
      if (registers[i.dst].role !== 'temporary' || !isStable(program, i.a) || !isStable(program, i.b)) return false;
      return isStable(program, i.op === 'select' ? i.p : i.c);
    default:
      return false;
  }
}

const isStable = ({ registers }: Program, r: Register): boolean => registers[r].role !== 'variable';

/** The register that holds the same already, or -1: then it is known from here on. */
function findOrAdd(program: Program, known: ExpressionTable, i: Shareable): Register {
  // another name, as a load has whose value was at hand
  if (i.op === 'unary' && i.fn === 'mov' && program.registers[i.a].type === program.registers[i.dst].type) return i.a;
  const operation = operationKey(i.op, 'fn' in i ? i.fn : '', i.type, 'from' in i ? i.from : undefined);
  let first = i.op === 'select' ? i.p : i.a;
  let second = i.op === 'select' ? i.a : 'b' in i ? i.b : -1;
  if (i.op === 'binary' && first > second && commutative.has(i.fn)) [first, second] = [second, first];
  const third = i.op === 'select' ? i.b : i.op === 'fma' ? i.c : -1;
  const found = known.find(operation, first, second, third);
  if (found < 0) known.add(operation, first, second, third, i.dst);
  else if (program.registers[found].type !== program.registers[i.dst].type) return -1;
  return found;
}

const commutative: ReadonlySet<string> = new Set(['add', 'mul', 'and', 'or', 'xor', 'min', 'max']);

function withCondition(terminator: Terminator, now: (r: Register) => Register): Terminator {
  return terminator.kind === 'branch' ? { ...terminator, condition: now(terminator.condition) } : terminator;
}

const reads: Register[] = [];

/** The instruction with its operands replaced. */
export function withOperands(i: Instruction, now: (r: Register) => Register): Instruction {
  const count = readsInto(i, reads);
  let at = 0;
  while (at < count && now(reads[at]) === reads[at]) at++;
  if (at === count) return i;
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
      return {
        ...i,
        source: now(i.source),
        destination: now(i.destination),
        read: i.read === undefined ? undefined : now(i.read),
      };
    case 'lane':
      return {
        ...i,
        a: i.a === undefined ? undefined : now(i.a),
        b: i.b === undefined ? undefined : now(i.b),
        width: i.width === undefined ? undefined : now(i.width),
      };
    case 'work':
      return { ...i, reads: i.reads?.map(now) };
    case 'host':
      return { ...i, args: i.args.map(now) };
    case 'barrier':
    case 'unknown':
      return i;
  }
}
