/**
 * Loads that the assembler drops though NVVM repeats them. ptxas looks at one block of straight code at a time, and takes shuffles, votes,
 * reads of the clock and volatile assembly for what they are: no writes to memory. Evidence: machine code of 178 small kernels, nvcc 13.0,
 * sm_90 (two loads of one place, a store and a load of it; some twenty kinds of instructions between them; six kinds of pointers):
 *
 * - `x = a[i]; y = __shfl_xor_sync(…); z = a[i]` loads once, in shared memory too, and so do `__ldg(p) + __ldg(p)`;
 * - behind a barrier, `__threadfence()` and a call (`printf`) nothing is known but what is read through `__restrict__` and `const` (loads from global memory
 *   are where the kernel has no shared memory, which is not modelled: no kernel has barriers without);
 * - a store that may go there ends it, one to another shared array or to other bytes behind the same register does not;
 * - an element of a vector that was loaded or stored is known too (float4, int2, double2; not the bytes of a word, nor half of a float4);
 * - what is read in front of a loop stands behind the question whether there is a pass, in a block of its own (guard-preheaders.ts; H200: treeshap_paths.cu:88).
 */
import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type StoreInstruction,
} from '../program/program';
import { AvailableLoads, rangeOf } from './available-loads';
import { withChangedBlocks } from './changed-blocks';
import { isFenceToAssembler, isReadOnly } from './memory-overlap';
import { countReads } from './read-counts';
import { forgetStored } from './reuse-loads';

export function reuseAsAssembled(program: Program): Program {
  let reads: readonly number[] | undefined;
  const isRead = (register: Register): boolean => (reads ??= countReads(program))[register] > 0;
  return withChangedBlocks(program, (instructions) =>
    hasTwo(instructions) ? reuseIn(program, instructions, isRead) : instructions,
  );
}

/** One access alone repeats nothing. */
function hasTwo(instructions: readonly Instruction[]): boolean {
  let loads = 0;
  let accesses = 0;
  for (const { op } of instructions) {
    if (op === 'load') loads++;
    if (op === 'load' || op === 'store') accesses++;
  }
  return loads > 0 && accesses > 1;
}

function reuseIn(
  program: Program,
  instructions: readonly Instruction[],
  isRead: (register: Register) => boolean,
): readonly Instruction[] {
  let table = new AvailableLoads(program);
  let out: Instruction[] | undefined;
  let isInFrontOfLoop = false;
  for (let at = 0; at < instructions.length; at++) {
    const i = instructions[at];
    if (i.op === 'load' && i.isOfLoop && !isInFrontOfLoop) {
      isInFrontOfLoop = true;
      table = new AvailableLoads(program);
    }
    const isOpen = i.op === 'load' && !program.accesses[i.access].isVolatile;
    const known = isOpen ? knownValues(program, table, i, isRead) : undefined;
    if (isOpen && known) {
      out ??= instructions.slice(0, at);
      for (let k = 0; k < known.length; k++)
        out.push({ op: 'unary', fn: 'mov', type: i.type, dst: i.dst[k], a: known[k] });
      continue;
    }
    out?.push(i);
    if (isFenceToAssembler(i)) table.forgetWritten();
    else forgetStored(program, table, i);
    if (i.op === 'load') remember(program, table, i, i.dst);
    else if (i.op === 'store') remember(program, table, i, i.values);
  }
  return out ?? instructions;
}

function knownValues(
  { accesses }: Program,
  table: AvailableLoads,
  { address, offset, type, dst, access }: LoadInstruction,
  isRead: (register: Register) => boolean,
): readonly Register[] | undefined {
  const known = table.find(address, offset, type, dst.length);
  const { space, isMember } = accesses[access];
  // `((float4 *)p)[t]` and `p[4 * t + 2]` are 64-bit products of different numbers, which are not the same where 32 bits overflow
  const isSameBase = isMember || space === 'shared';
  if (known || !isSameBase || dst.length > 1 || bytesOf[type] < 4) return known;
  // what nobody asks of a vector is not in a register
  const element = table.findElement(address, offset, type, (k, { isStored, values }) => isStored || isRead(values[k]));
  return element === undefined ? undefined : [element];
}

function remember(
  program: Program,
  table: AvailableLoads,
  i: LoadInstruction | StoreInstruction,
  values: readonly Register[],
): void {
  const site = program.accesses[i.access];
  const isVariable = (register: Register): boolean => program.registers[register].role === 'variable';
  if (site.isVolatile || isVariable(i.address) || values.some(isVariable)) return;
  const range = rangeOf(i.address, i.offset, i.type, values.length);
  table.add(site, isReadOnly(site, program), range, i.type, values, i.op === 'store');
}
