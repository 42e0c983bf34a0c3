/**
 * Which memory instructions the assembler made, and of what: nothing is executed. The cubin that nvcc makes for registers
 * and spills has all of it when it is compiled with `-lineinfo`, for each instruction its line in the PTX and in the source.
 */
import { sectionsOf } from './elf';
import { type LineRow, type LineTable, lineTableOf, rowsAt } from './line-table';
import type { MachineAccess, MachineCode, MachineLine } from './machine-access';
import { INSTRUCTION_BYTES, memoryInstructionAt } from './memory-instructions';

/** Before 7.0 instructions are encoded otherwise. */
const FIRST_ARCHITECTURE = 70;
const MOST_ACCESSES = 100_000;
const PREFIX = '.text.';

/**
 * The memory instructions of every kernel of a cubin; none where it has no line tables or is of another kind. Never throws.
 * @param architecture that it was compiled for, 90 for capability 9.0
 */
export function readCubin(bytes: Uint8Array, architecture: number): MachineCode {
  const code = new Map<string, readonly MachineAccess[]>();
  if (architecture < FIRST_ARCHITECTURE) return code;
  const sections = sectionsOf(bytes);
  const source = lineTableOf(sections, '.debug_line');
  const ptx = lineTableOf(sections, '.nv_debug_line_sass');
  for (const { name, data } of sections) {
    if (name.startsWith(PREFIX) && ptx.has(name))
      code.set(name.slice(PREFIX.length), accessesOf(name, data, source, ptx));
  }
  return code;
}

function accessesOf(name: string, code: DataView, source: LineTable, ptx: LineTable): MachineAccess[] {
  const found: MachineAccess[] = [];
  const [sourceRows, ptxRows] = [source.get(name) ?? [], ptx.get(name) ?? []];
  for (let offset = 0; offset + INSTRUCTION_BYTES <= code.byteLength; offset += INSTRUCTION_BYTES) {
    const instruction = memoryInstructionAt(code, offset);
    if (!instruction) continue;
    const ptxLine = rowsAt(ptxRows, offset).at(-1)?.line ?? 0;
    const lines = linesOf(rowsAt(sourceRows, offset));
    const { kinds, bytes, isPredicated } = instruction;
    for (const kind of kinds) found.push({ offset, ptxLine, ...kind, bytes, isPredicated, lines });
    if (found.length > MOST_ACCESSES) return [];
  }
  return found;
}

/**
 * The line that Nsight Compute charges, then the lines that it stands for. Where a call and the first instruction of what was
 * inlined there have one address, the table has a row for each and the profiler takes the first, the call (evidence: all
 * 14,900 recorded instructions of test/hardware/recorded that are charged to the program itself).
 */
function linesOf(rows: readonly LineRow[]): MachineLine[] {
  if (rows.length === 0) return [];
  const lines: MachineLine[] = [];
  const add = ({ file, line }: LineRow) => {
    if (!lines.some((each) => each.file === file && each.line === line)) lines.push({ file, line });
  };
  add(rows[0]);
  for (let row: LineRow | undefined = rows[rows.length - 1], depth = 0; row && depth < 64; row = row.call, depth++)
    add(row);
  return lines;
}
