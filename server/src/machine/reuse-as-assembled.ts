/**
 * Loads that the assembler drops though NVVM repeats them. ptxas looks at one block of straight code at a time, and takes shuffles, votes,
 * reads of the clock and volatile assembly for what they are: no writes to memory. Evidence: machine code of 178 small kernels, nvcc 13.0,
 * sm_90 (two loads of one place, a store and a load of it; some twenty kinds of instructions between them; six kinds of pointers):
 *
 * - `x = a[i]; y = __shfl_xor_sync(…); z = a[i]` loads once, in shared memory too, and so do `__ldg(p) + __ldg(p)`;
 * - behind a barrier and `__threadfence()` nothing is known but what is read through `__restrict__` and `const` (loads from global memory
 *   are where the kernel has no shared memory, which is not modelled: no kernel has barriers without);
 * - a store that may go there ends it, one to another shared array or to other bytes behind the same register does not.
 */
import {
  type AccessSite,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
} from '../program/program';
import { isReadOnly, mayTouch } from './memory-overlap';

/** What is at `offset` behind a register. */
interface Known {
  readonly address: Register;
  readonly offset: number;
  readonly type: LoadInstruction['type'];
  readonly values: readonly Register[];
  readonly site: AccessSite;
  readonly isReadOnly: boolean;
}

const WORDS = 4096;

export function reuseAsAssembled(program: Program): Program {
  let changes = false;
  const blocks = program.blocks.map((block) => {
    const instructions = reuseIn(program, block.instructions);
    if (instructions === block.instructions) return block;
    changes = true;
    return { ...block, instructions };
  });
  return changes ? { ...program, blocks } : program;
}

function reuseIn(program: Program, instructions: readonly Instruction[]): readonly Instruction[] {
  if (!hasTwo(instructions)) return instructions;
  let known = new Map<string, Known>();
  let out: Instruction[] | undefined;
  const keep = (holds: (k: Known) => boolean): void => {
    for (const [key, value] of known) if (!holds(value)) known.delete(key);
  };
  instructions.forEach((i, at) => {
    const values = i.op === 'load' ? known.get(keyOf(i)) : undefined;
    if (i.op === 'load' && values) {
      out ??= instructions.slice(0, at);
      out.push(
        ...values.values.map((a, k): Instruction => ({ op: 'unary', fn: 'mov', type: i.type, dst: i.dst[k], a })),
      );
      return;
    }
    out?.push(i);
    forget(program, i, keep);
    if (known.size > WORDS) known = new Map();
    remember(program, i, known);
  });
  return out ?? instructions;
}

function hasTwo(instructions: readonly Instruction[]): boolean {
  let loads = 0;
  let accesses = 0;
  for (const { op } of instructions) {
    if (op === 'load') loads++;
    if (op === 'load' || op === 'store') accesses++;
  }
  return loads > 0 && accesses > 1;
}

const keyOf = (i: LoadInstruction): string => `${i.address}+${i.offset}:${i.type}x${i.dst.length}`;

/** Which of what is known an instruction leaves standing. */
function forget(program: Program, i: Instruction, keep: (holds: (k: Known) => boolean) => void): void {
  switch (i.op) {
    case 'barrier':
      keep((k) => k.isReadOnly);
      return;
    case 'work':
      if (i.fence === 'memory') keep((k) => k.isReadOnly);
      return;
    case 'store': {
      const site = program.accesses[i.access];
      const end = i.offset + bytesOf[i.type] * i.values.length;
      const isBeside = (k: Known) =>
        k.address === i.address && (end <= k.offset || k.offset + bytesOf[k.type] * k.values.length <= i.offset);
      keep((k) => k.isReadOnly || !mayTouch(program, k.site, site) || isBeside(k));
      return;
    }
    case 'atomic':
      keep((k) => k.isReadOnly || !mayTouch(program, k.site, program.accesses[i.access]));
      return;
    case 'asyncCopy':
      keep((k) => k.isReadOnly || !mayTouch(program, k.site, program.accesses[i.storeAccess]));
      return;
    case 'matrix':
      if (i.direction === 'store') keep((k) => k.isReadOnly || !mayTouch(program, k.site, program.accesses[i.access]));
  }
}

function remember(program: Program, i: Instruction, known: Map<string, Known>): void {
  if (i.op !== 'load' && i.op !== 'store') return;
  const site = program.accesses[i.access];
  if (site.isVolatile || isVariable(program, i.address)) return;
  const values = i.op === 'load' ? i.dst : i.values;
  if (values.some((v) => isVariable(program, v))) return;
  const { address, offset, type } = i;
  const entry = { address, offset, type, values, site, isReadOnly: isReadOnly(site, program) };
  known.set(`${address}+${offset}:${type}x${values.length}`, entry);
}

const isVariable = (program: Program, register: Register): boolean => program.registers[register].role === 'variable';
