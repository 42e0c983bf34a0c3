/**
 * Shared variables that are only written are gone, with what is written to them. Evidence: PTX of 20 small kernels, nvcc 13.0, sm_90: arrays, rows,
 * records, single variables and vectors, also through casts, inlined functions and loops, and where a template reads them in other instances only. Kept are
 * volatile ones, those that an atomic goes to, those whose address is stored, chosen between two or handed to a call, and those of which a load could be
 * forwarded (`s[i] += 2`), though nothing reads memory afterwards.
 */
import { accessesOf, readsInto } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { withChangedBlocks } from './changed-blocks';

export function dropUnreadShared(program: Program): Program {
  if (program.skipped.length > 0) return program;
  const unread = onlyWritten(program);
  if (unread.size === 0) return program;
  const gone = withoutOtherUses(program, unread);
  if (gone.size === 0) return program;
  const isGone = (i: Instruction): boolean => i.op === 'store' && gone.has(program.accesses[i.access].object ?? -1);
  return withChangedBlocks(program, (instructions) =>
    instructions.some(isGone) ? instructions.filter((i) => !isGone(i)) : instructions,
  );
}

/** Static shared objects that plain stores go to and nothing else; none where an access may go to any of them. */
function onlyWritten({ objects, blocks, accesses }: Program): Set<number> {
  const found = new Set<number>();
  objects.forEach(({ space, isDynamic, elementType }, index) => {
    if (space === 'shared' && !isDynamic && !isOfCollective(elementType)) found.add(index);
  });
  if (found.size === 0) return found;
  for (const { instructions } of blocks) {
    for (const i of instructions) {
      for (const access of accessesOf(i)) {
        const { object, space, isVolatile } = accesses[access];
        if (object === undefined && (space === 'shared' || space === 'generic')) return new Set();
        if (object !== undefined && (i.op !== 'store' || isVolatile)) found.delete(object);
      }
    }
  }
  return found;
}

/** The storage of CUB's collectives: its address lies in an object before anything is written (one warp's reduction writes what nobody reads). */
const isOfCollective = (elementType: string): boolean => /^__\w+Storage</.test(elementType);

/** Those of the objects whose address is nothing but where the stores go. */
function withoutOtherUses(program: Program, objects: ReadonlySet<number>): Set<number> {
  const { registers, blocks } = program;
  const of = new Map<Register, number>([...objects].map((index) => [program.objects[index].register, index]));
  const kept = new Set<number>();
  const reads: Register[] = [];
  // an address is made behind the registers that it is made of: the blocks are in the order of the text, loops aside
  for (let size = -1; size !== of.size; ) {
    size = of.size;
    for (const { instructions } of blocks) {
      for (const i of instructions) {
        const count = readsInto(i, reads);
        for (let k = 0; k < count; k++) {
          const object = of.get(reads[k]);
          if (object === undefined) continue;
          const moved = movedTo(i);
          if (moved !== undefined && registers[moved].role !== 'variable') of.set(moved, object);
          else if (i.op !== 'store' || k > 0) kept.add(object);
        }
      }
    }
  }
  return new Set([...objects].filter((object) => !kept.has(object)));
}

/** The address that an instruction makes of another. */
function movedTo(i: Instruction): Register | undefined {
  if (i.op === 'binary') return i.fn === 'add' || i.fn === 'sub' ? i.dst : undefined;
  return i.op === 'convert' || (i.op === 'unary' && i.fn === 'mov') ? i.dst : undefined;
}
