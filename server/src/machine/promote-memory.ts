/**
 * A place in memory that a loop reads and writes with the same address every time lives in a register meanwhile: it is read once
 * in front of the loop. Where nothing else in the loop can see it, it is written once behind it too; otherwise every pass writes it.
 * Evidence: LICM's promotion and GVN's partial redundancy elimination in NVVM, PTX of nvcc 13.0 for ten small kernels:
 *
 * - `for (…) a[i] += b[k]`: one load, a store each pass; with `__restrict__`, or a in shared memory and b not, one store;
 * - a store that a condition guards, or that comes behind a break, stays where it is, and still no pass loads where every way
 *   into the loop reads the place in any case, or has just written it (`s[i] = 0; for (…) if (…) s[i] += …`);
 * - a fence (memory-overlap.ts), an atomic or another store that may go there ends it; load and store keep their own lines, but where no pass is left
 *   with either both have that of the last use (21 kernels: `float s = a[i]; …; a[i] = s * 3`);
 * - of a loop that is written out with the passes left behind it (in another loop) these are part of it: one store behind all;
 * - behind the loop the value is still known: `a[i] = 0; for (…) a[i] += b[k]; a[i] *= 2` loads nothing. But where nothing was known in front
 *   of it and nobody knows that it has a pass, it is read again, since the read in front stands behind the loop's guard (H200: x[i] += z[i] behind such a sum).
 */
import { type ControlFlow, controlFlow, dominates, type Loop, reachableWithout } from '../program/control-flow';
import { writesOf } from '../program/operands';
import type {
  AccessSite,
  Instruction,
  LoadInstruction,
  Program,
  Register,
  RegisterInfo,
  StoreInstruction,
} from '../program/program';
import { changesAtFence, isBeside, isFence, isReadOnly, mayTouch, widthOf } from './memory-overlap';

type Access = LoadInstruction | StoreInstruction;

/** Of the passes left of a loop. */
const MOST_REST_BLOCKS = 64;

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly registers: RegisterInfo[];
  readonly accesses: AccessSite[];
  readonly blocks: Instruction[][];
  /** Stores that moved behind a loop. */
  readonly sunk: Set<Instruction>;
  /** By block and place: variables that hold what is there at the end of the block. */
  readonly held: Map<string, readonly Register[]>;
}

/** Accesses of a loop that all go to one place. */
interface Place {
  readonly key: string;
  readonly members: { readonly block: number; readonly instruction: Access }[];
}

export function promoteMemory(program: Program): Program {
  const flow = controlFlow(program);
  if (flow.loops.length === 0) return program;
  const blocks = program.blocks.map((b) => [...b.instructions]);
  const [registers, accesses] = [[...program.registers], [...program.accesses]];
  const work: Work = { program, flow, registers, accesses, blocks, sunk: new Set(), held: new Map() };
  // inner loops first: what leaves an inner loop may leave the outer one too; then as they stand
  const depthOf = (loop: Loop): number => (loop.parent < 0 ? 0 : 1 + depthOf(flow.loops[loop.parent]));
  const position = new Map(flow.order.map((block, index) => [block, index]));
  const positionOf = (loop: Loop) => position.get(loop.header) ?? 0;
  const order = [...flow.loops].sort((a, b) => depthOf(b) - depthOf(a) || positionOf(a) - positionOf(b));
  let changes = false;
  for (const loop of order) if (promoteIn(work, loop)) changes = true;
  if (!changes) return program;
  return {
    ...program,
    registers,
    accesses,
    blocks: program.blocks.map((b, i) => ({ ...b, instructions: work.blocks[i] })),
  };
}

/** Whether something of the loop is a variable now. */
function promoteIn(work: Work, loop: Loop): boolean {
  const { flow, program, blocks } = work;
  const outside = flow.predecessors[loop.header].filter((p) => !loop.contains[p]);
  if (outside.length !== 1 || program.blocks[outside[0]].terminator.kind !== 'jump') return false;
  const inside = loop.blocks;
  if (!inside.some((block) => blocks[block].some((i) => i.op === 'store'))) return false;
  let changes = false;
  const written = new Uint8Array(work.registers.length);
  for (const block of inside) for (const i of blocks[block]) for (const r of writesOf(i)) written[r] = 1;
  for (const place of placesOf(work, inside, written)) {
    if (!place.members.some(({ instruction }) => instruction.op === 'store')) continue;
    const isRead = isInFirstPass(work, loop, place) || isKnownBefore(work, outside[0], place);
    if (!isRead || !isOwnPlace(work, inside, place)) continue;
    promote(work, loop, outside[0], inside, place);
    changes = true;
  }
  return changes;
}

const keyOf = (i: Access): string => `${i.address}+${i.offset}:${i.type}x${countOf(i)}`;
const countOf = (i: Access): number => (i.op === 'load' ? i.dst.length : i.values.length);
const isAccess = (i: Instruction): i is Access => i.op === 'load' || i.op === 'store';

/** The places that the loop accesses by addresses it does not change. */
function placesOf(work: Work, inside: readonly number[], written: Uint8Array): Place[] {
  const places = new Map<string, Place>();
  for (const block of inside) {
    for (const instruction of work.blocks[block]) {
      if (!isAccess(instruction) || written[instruction.address]) continue;
      const key = keyOf(instruction);
      const place = places.get(key);
      if (place) place.members.push({ block, instruction });
      else places.set(key, { key, members: [{ block, instruction }] });
    }
  }
  return [...places.values()];
}

/** Whoever enters the loop comes to it: nothing but the header leaves before. */
function isInFirstPass(work: Work, loop: Loop, place: Place): boolean {
  return place.members.some(
    ({ block }) =>
      isEveryPass(work, loop, block) &&
      loop.exitBranches.every((exit) => exit === loop.header || dominates(work.flow.dominator, block, exit)),
  );
}

/** The block in front of the loop has just read or written it. */
function isKnownBefore(work: Work, before: number, place: Place): boolean {
  return work.held.has(`${before}|${place.key}`) || isAccessedBefore(work, before, place);
}

function isAccessedBefore(work: Work, before: number, place: Place): boolean {
  const site = work.accesses[place.members[0].instruction.access];
  for (const i of work.blocks[before].toReversed()) {
    if (isAccess(i) && keyOf(i) === place.key) return true;
    if (changes(work, i, site, place)) return false;
  }
  return false;
}

/** Nothing else in the loop changes it. */
function isOwnPlace(work: Work, inside: readonly number[], place: Place): boolean {
  const sites = place.members.map(({ instruction }) => work.accesses[instruction.access]);
  if (sites.some((site) => site.isVolatile || site.isAssembly || site.space === 'local')) return false;
  const mine = new Set<Instruction>(place.members.map(({ instruction }) => instruction));
  return inside.every((block) =>
    work.blocks[block].every((i) => mine.has(i) || !sites.some((site) => changes(work, i, site, place))),
  );
}

function changes(work: Work, i: Instruction, site: Program['accesses'][number], place: Place): boolean {
  const { accesses } = work;
  if (isFence(i) && changesAtFence(work.program, site)) return true;
  switch (i.op) {
    case 'store':
      return mayTouch(work.program, site, accesses[i.access], widthOf(i)) && !isBeside(i, place.members[0].instruction);
    case 'atomic':
      return mayTouch(work.program, site, accesses[i.access]);
    case 'asyncCopy':
      return mayTouch(work.program, site, accesses[i.storeAccess]);
    case 'matrix':
      return i.direction === 'store' && mayTouch(work.program, site, accesses[i.access]);
    default:
      return false;
  }
}

/** Nothing else in the loop reads it either. */
function isUnseen(work: Work, inside: readonly number[], place: Place): boolean {
  const { program } = work;
  const site = work.accesses[place.members[0].instruction.access];
  const mine = new Set<Instruction>(place.members.map(({ instruction }) => instruction));
  return inside.every((block) =>
    work.blocks[block].every((i) => {
      if (mine.has(i)) return true;
      if (isFence(i) && changesAtFence(program, site)) return false;
      if (i.op === 'asyncCopy' || i.op === 'matrix') return false;
      if (i.op !== 'load') return true;
      const other = work.accesses[i.access];
      return (
        isReadOnly(other, program) ||
        !mayTouch(program, site, other, widthOf(i)) ||
        isBeside(i, place.members[0].instruction)
      );
    }),
  );
}

function promote(work: Work, loop: Loop, before: number, inside: readonly number[], place: Place): void {
  const { blocks } = work;
  const loads = place.members.flatMap(({ instruction }) => (instruction.op === 'load' ? [instruction] : []));
  const stores = place.members.filter(({ instruction }) => instruction.op === 'store');
  const [first] = loads;
  const behind = exitOf(work, loop);
  const sinks =
    behind !== undefined && isUnseen(work, inside, place) && stores.some((s) => isEveryPass(work, loop, s.block));
  if (!first && !sinks) return;
  const { type } = place.members[0].instruction;
  const variables = Array.from({ length: countOf(place.members[0].instruction) }, () =>
    register(work, type, 'variable'),
  );
  const held = work.held.get(`${before}|${place.key}`);
  const isSure = held !== undefined || isAccessedBefore(work, before, place) || isEntered(work, loop, before);
  const earlier = (sinks ? takeSunk(work, before, place) : undefined) ?? held;
  if (earlier) {
    variables.forEach((dst, k) => {
      blocks[before].push({ op: 'unary', fn: 'mov', type, dst, a: earlier[k] });
    });
  } else if (first) {
    const values = variables.map(() => register(work, type, 'temporary'));
    const access = sinks ? chargedTo(work, first, lastUse(work, loop, place)) : first.access;
    blocks[before].push({ ...first, dst: values, access, isOfLoop: !isSure && !sinks });
    variables.forEach((dst, k) => {
      blocks[before].push({ op: 'unary', fn: 'mov', type, dst, a: values[k] });
    });
  }
  const mine = new Set<Instruction>(place.members.map(({ instruction }) => instruction));
  for (const block of inside)
    blocks[block] = blocks[block].flatMap((i) => (mine.has(i) && isAccess(i) ? inRegisters(i, variables, sinks) : [i]));
  if (behind === undefined) return;
  const last = stores[stores.length - 1].instruction;
  if (sinks && last.op === 'store') {
    const values = variables.map(() => register(work, type, 'temporary'));
    const moves = values.map((dst, k): Instruction => ({ op: 'unary', fn: 'mov', type, dst, a: variables[k] }));
    const access = chargedTo(work, last, lastUse(work, loop, place));
    const store: Instruction = { ...last, values, access, isOfLoop: !isEntered(work, loop, before) };
    work.sunk.add(store);
    blocks[behindRest(work, loop, behind, place, variables) ?? behind].unshift(...moves, store);
  } else if (isSure) knownBehind(work, behind, place, variables);
}

/** LLVM gives what it makes of a promoted place the line of the use it has seen last: what stands under a condition comes last. */
function lastUse(work: Work, loop: Loop, { members }: Place): Access {
  const last = members.findLast(({ block }) => !isEveryPass(work, loop, block)) ?? members[members.length - 1];
  return last.instruction;
}

function chargedTo({ accesses }: Work, { access }: Access, use: Access): number {
  const { place } = accesses[use.access];
  return place.first === accesses[access].place.first
    ? access
    : accesses.push({ ...accesses[access], charged: place }) - 1;
}

/**
 * Where the passes that are left of a loop end, when they stand behind it one by one and nothing else in them can see the place either: it lives in the
 * variables there too.
 */
function behindRest(
  work: Work,
  loop: Loop,
  behind: number,
  place: Place,
  variables: readonly Register[],
): number | undefined {
  const rest = restOf(work, loop, behind);
  if (!rest) return undefined;
  const members = placesOf(work, rest.blocks, new Uint8Array(work.registers.length)).find(
    ({ key }) => key === place.key,
  );
  if (!members || !isOwnPlace(work, rest.blocks, members) || !isUnseen(work, rest.blocks, members)) return undefined;
  const mine = new Set<Instruction>(members.members.map(({ instruction }) => instruction));
  for (const block of rest.blocks)
    work.blocks[block] = work.blocks[block].flatMap((i) =>
      mine.has(i) && isAccess(i) ? inRegisters(i, variables, true) : [i],
    );
  return rest.end;
}

/** The passes left of a loop that was written out: they test the condition that it does. */
function restOf({ program, flow }: Work, loop: Loop, behind: number): { blocks: number[]; end: number } | undefined {
  const [head, test] = [program.blocks[loop.header].terminator, program.blocks[behind].terminator];
  if (head.kind !== 'branch' || test.kind !== 'branch') return undefined;
  const [of, is] = [program.branches[head.branch].place, program.branches[test.branch].place];
  if (of.first !== is.first || of.last !== is.last || of.call !== is.call) return undefined;
  const blocks = reachableWithout(flow.successors, test.ifTrue, test.ifFalse);
  const isInside = (block: number): boolean => block === behind || blocks.includes(block);
  const isAlone = [...blocks, test.ifFalse].every((block) => flow.predecessors[block].every(isInside));
  const isLeft = blocks.some((block) => program.blocks[block].terminator.kind === 'exit');
  if (!isAlone || isLeft || blocks.length > MOST_REST_BLOCKS) return undefined;
  return { blocks: [behind, ...blocks], end: test.ifFalse };
}

/** The rest of a loop that was unrolled goes on from what the first part left: that store is not needed. */
function takeSunk(work: Work, before: number, place: Place): readonly Register[] | undefined {
  const block = work.blocks[before];
  const at = block.findIndex((i) => work.sunk.has(i) && isAccess(i) && keyOf(i) === place.key);
  const store = block[at];
  if (store?.op !== 'store') return undefined;
  const site = work.accesses[store.access];
  const isTouched = block.slice(at + 1).some((i) => {
    if (isAccess(i))
      return (
        mayTouch(work.program, site, work.accesses[i.access], widthOf(i)) && !isBeside(i, place.members[0].instruction)
      );
    return i.op === 'atomic' || isFence(i) || i.op === 'asyncCopy' || i.op === 'matrix';
  });
  if (isTouched) return undefined;
  block.splice(at, 1);
  return store.values;
}

function register(work: Work, type: RegisterInfo['type'], role: 'variable' | 'temporary'): Register {
  work.registers.push({ type, role });
  return work.registers.length - 1;
}

/** An access as moves from and to the variables. */
function inRegisters(i: Access, variables: readonly Register[], sinks: boolean): Instruction[] {
  if (i.op === 'load') return i.dst.map((dst, k) => ({ op: 'unary', fn: 'mov', type: i.type, dst, a: variables[k] }));
  const moves = i.values.map((a, k): Instruction => ({ op: 'unary', fn: 'mov', type: i.type, dst: variables[k], a }));
  return sinks ? moves : [i, ...moves];
}

/** The block to which the header of the loop leaves, when there is no other way out and no other way there. */
function exitOf({ flow, program }: Work, loop: Loop): number | undefined {
  if (loop.exitBranches.length !== 1) return undefined;
  const { terminator } = program.blocks[loop.exitBranches[0]];
  if (terminator.kind !== 'branch') return undefined;
  const exit = loop.contains[terminator.ifTrue] ? terminator.ifFalse : terminator.ifTrue;
  return flow.predecessors[exit].length === 1 ? exit : undefined;
}

function isEveryPass({ flow }: Work, loop: Loop, block: number): boolean {
  const latches = flow.predecessors[loop.header].filter((p) => loop.contains[p]);
  return latches.every((latch) => dominates(flow.dominator, block, latch));
}

/** Loads right behind the loop find the value in the variables. */
function knownBehind(work: Work, behind: number, place: Place, variables: readonly Register[]): void {
  const site = work.accesses[place.members[0].instruction.access];
  const out: Instruction[] = [];
  let isKnown = true;
  for (const i of work.blocks[behind]) {
    if (isKnown && isAccess(i) && i.op === 'load' && keyOf(i) === place.key)
      out.push(...inRegisters(i, variables, false));
    else out.push(i);
    if ((isAccess(i) && i.op === 'store' && keyOf(i) === place.key) || changes(work, i, site, place)) isKnown = false;
  }
  work.blocks[behind] = out;
  if (isKnown) work.held.set(`${behind}|${place.key}`, variables);
}

/** A comparison of constants lets everybody into the first pass: such a loop has no guard. */
function isEntered({ program, blocks }: Work, loop: Loop, before: number): boolean {
  const { terminator } = program.blocks[loop.header];
  if (terminator.kind !== 'branch') return true;
  const test = blocks[loop.header].findLast((i) => i.op === 'compare' && i.dst === terminator.condition);
  if (test?.op !== 'compare') return false;
  return isConstantAt(test.a) && isConstantAt(test.b);

  function isConstantAt(r: Register): boolean {
    if (program.registers[r].role === 'constant') return true;
    const copied = copyOf(blocks[loop.header], r) ?? r;
    const start = copyOf(blocks[before], copied);
    return start !== undefined && program.registers[start].role === 'constant';
  }
}

/** The register that was last moved to this one in a block. */
function copyOf(block: readonly Instruction[], r: Register): Register | undefined {
  const move = block.findLast((i) => i.op === 'unary' && i.dst === r);
  return move?.op === 'unary' && move.fn === 'mov' ? move.a : undefined;
}
