/**
 * A vector of which only the bits are used as another type of the same size is loaded as that type, at the line where its first element is
 * read as such: `int4 b = *p; …` with `__int_as_float(b.x)`, a view of it, or memcpy into floats, as classes for packed vectors do it.
 * Evidence (nvcc 13.0, sm_90, lines of PTX and machine code of 41 kernels): float of int and unsigned in functions, classes,
 * conditions, behind barriers and for values read twice. What an array of integers is given as floats
 * (`*(float4 *)bits = v`) becomes integers where it is given them (machine code of 8 kernels; H200: two GEMVs of packed weights). A variable that is declared behind the vector is read at memcpy. Not where the type stays, where elements are narrower
 * or wider than what was loaded, where the integer is used as well, and not for single numbers. Read-only data (`const __restrict__`, `__ldg`)
 * is loaded by an intrinsic function with a type of its own, which no conversion becomes part of: it stays at its line (PTX of 6 kernels).
 */
import { readsInto } from '../program/operands';
import {
  type AccessSite,
  bytesOf,
  type Instruction,
  type Program,
  type Register,
  type SourcePlace,
} from '../program/program';
import { isReadOnly } from './memory-overlap';

/** What reads a register, as far as that matters here. */
interface Use {
  readonly place?: SourcePlace;
  readonly isReinterpreted: boolean;
}

const NARROWEST = 4;

export function placeReinterpreted(program: Program): Program {
  const isBitcast = (i: Instruction): boolean => i.op === 'unary' && i.fn === 'bitcast' && i.place !== undefined;
  if (!program.blocks.some(({ instructions }) => instructions.some(isBitcast))) return program;
  const uses = usesOf(program);
  const accesses: AccessSite[] = [...program.accesses];
  const blocks = program.blocks.map((block) => {
    const instructions = block.instructions.map((i): Instruction => {
      if (i.op !== 'load' || i.dst.length < 2) return i;
      const site = program.accesses[i.access];
      if (site.isVolatile || isReadOnly(site, program)) return i;
      const place = placeOfUses(i.dst, uses);
      return place ? { ...i, access: accesses.push({ ...site, place }) - 1 } : i;
    });
    return { ...block, instructions };
  });
  return { ...program, blocks, accesses };
}

/** Of the first element that is used; undefined where some element is used as it is. */
function placeOfUses(dst: readonly Register[], uses: ReadonlyMap<Register, Use>): SourcePlace | undefined {
  const used = dst.map((r) => uses.get(r)).filter((use) => use !== undefined);
  return used.every(({ isReinterpreted }) => isReinterpreted) ? used[0]?.place : undefined;
}

function usesOf(program: Program): Map<Register, Use> {
  const uses = new Map<Register, Use>();
  const reads: Register[] = [];
  for (const { instructions, terminator } of program.blocks) {
    for (const i of instructions) {
      const isReinterpreted =
        i.op === 'unary' && i.fn === 'bitcast' && i.place !== undefined && changesKind(program, i);
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) {
        const known = uses.get(reads[k]);
        if (!known) uses.set(reads[k], { place: isReinterpreted ? i.place : undefined, isReinterpreted });
        else if (known.isReinterpreted && !isReinterpreted) uses.set(reads[k], { isReinterpreted });
      }
    }
    if (terminator.kind === 'branch') uses.set(terminator.condition, { isReinterpreted: false });
  }
  return uses;
}

/** Between integers and floating point, with as many bytes. */
function changesKind({ registers }: Program, { a, type }: Instruction & { op: 'unary' }): boolean {
  const from = registers[a].type;
  if (bytesOf[from] !== bytesOf[type] || bytesOf[type] < NARROWEST) return false;
  return from.startsWith('f') !== type.startsWith('f');
}
