/**
 * Line tables of a cubin that was compiled with `-lineinfo`: `.debug_line` leads from machine code to the source,
 * `.nv_debug_line_sass` to lines of the PTX. DWARF 2 (chapter 6.2) with two extended opcodes of NVIDIA's, as LLVM names
 * them: DW_LNE_NVIDIA_inlined_call and DW_LNE_NVIDIA_set_function_name.
 */
import { type Section, textAt } from './elf';

export interface LineRow {
  /** Byte offset in the section of the code. */
  readonly address: number;
  /** '' where the table names no file (lines of PTX). */
  readonly file: string;
  readonly line: number;
  /** The place where the code of this row was inlined. */
  readonly call?: LineRow;
}

/** By name of the section of the code, e.g. `.text._Z4saxpy…`; rows in the order of their addresses. */
export type LineTable = ReadonlyMap<string, readonly LineRow[]>;

const MOST_ROWS = 4_000_000;
enum Standard {
  copy = 1,
  advanceAddress = 2,
  advanceLine = 3,
  setFile = 4,
  setColumn = 5,
  addConstant = 8,
  advanceFixed = 9,
}
enum Extended {
  endSequence = 1,
  setAddress = 2,
  inlinedCall = 0x90,
  functionName = 0x91,
}

/** The table of the section of this name; empty where there is none or it cannot be read. Never throws. */
export function lineTableOf(sections: readonly Section[], name: string): LineTable {
  const section = sections.find((each) => each.name === name);
  if (!section) return new Map();
  const found = new Map<string, LineRow[]>();
  const codeAt = relocations(sections, name);
  const reader = new Reader(section.data);
  try {
    while (reader.at + 15 < section.data.byteLength) program(reader, codeAt, found);
  } catch (error) {
    // Cut off or of another version: what was read holds.
    if (!(error instanceof RangeError)) throw error;
  }
  for (const rows of found.values()) rows.sort((a, b) => a.address - b.address);
  return found;
}

/** Names of the sections whose addresses are set at the places of a table: entries with addends or without, by capability. */
function relocations(sections: readonly Section[], name: string): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  const withAddends = sections.find((each) => each.name === `.rela${name}`)?.data;
  const entries = withAddends ?? sections.find((each) => each.name === `.rel${name}`)?.data;
  const size = withAddends ? 24 : 16;
  const symbols = sections.find((each) => each.name === '.symtab')?.data;
  if (!entries || !symbols) return names;
  for (let at = 0; at + size <= entries.byteLength; at += size) {
    const symbol = 24 * entries.getUint32(at + 12, true);
    if (symbol + 24 > symbols.byteLength) continue;
    const section = sections[symbols.getUint16(symbol + 6, true)];
    if (section) names.set(Number(entries.getBigUint64(at, true)), section.name);
  }
  return names;
}

class Reader {
  at = 0;

  constructor(readonly data: DataView) {}

  byte(): number {
    return this.data.getUint8(this.at++);
  }

  unsigned(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  signed(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return byte & 64 ? value - 128 * scale : value;
    }
  }

  text(): string {
    const text = textAt(this.data, this.at);
    while (this.byte() !== 0);
    return text;
  }
}

/** One line program: its header and what it says. */
function program(reader: Reader, codeAt: ReadonlyMap<number, string>, found: Map<string, LineRow[]>): void {
  const { data } = reader;
  const end = reader.at + 4 + data.getUint32(reader.at, true);
  const start = reader.at + 10 + data.getUint32(reader.at + 6, true);
  reader.at += 10;
  const minimum = reader.byte();
  reader.byte();
  const lineBase = data.getInt8(reader.at++);
  const lineRange = Math.max(1, reader.byte());
  const opcodeBase = reader.byte();
  const operands = Array.from({ length: Math.max(0, opcodeBase - 1) }, () => reader.byte());
  const files = fileNames(reader);
  reader.at = start;

  // Rows of one sequence (a function) by number, from 1: calls refer to them.
  const rows: LineRow[] = [];
  let state = { address: 0, file: 1, line: 1, call: 0 };
  let code = '';
  const advance = (by: number) => {
    state.address += minimum * by;
  };
  const append = () => {
    if (rows.length >= MOST_ROWS) throw new RangeError('too many rows');
    const { address, file, line, call } = state;
    const row: LineRow = { address, file: files[file - 1] ?? '', line, call: call > 0 ? rows[call - 1] : undefined };
    rows.push(row);
    const known = found.get(code);
    if (known) known.push(row);
    else found.set(code, [row]);
  };
  const extended = () => {
    const length = reader.unsigned();
    const next = reader.at + length;
    const opcode = length > 0 ? reader.byte() : 0;
    switch (opcode) {
      case Extended.endSequence:
        rows.length = 0;
        state = { address: 0, file: 1, line: 1, call: 0 };
        break;
      case Extended.setAddress:
        code = codeAt.get(reader.at) ?? '';
        state.address = Number(data.getBigUint64(reader.at, true));
        break;
      case Extended.inlinedCall:
        // Their length is that of the operands alone.
        state.call = reader.unsigned();
        reader.unsigned();
        return;
      case Extended.functionName:
        reader.unsigned();
        return;
    }
    reader.at = next;
  };
  while (reader.at < end) {
    const opcode = reader.byte();
    if (opcode >= opcodeBase) {
      const value = opcode - opcodeBase;
      advance(Math.floor(value / lineRange));
      state.line += lineBase + (value % lineRange);
      append();
    } else if (opcode === 0) extended();
    else if (opcode === Standard.copy) append();
    else if (opcode === Standard.advanceAddress) advance(reader.unsigned());
    else if (opcode === Standard.advanceLine) state.line += reader.signed();
    else if (opcode === Standard.setFile) state.file = reader.unsigned();
    else if (opcode === Standard.addConstant) advance(Math.floor((255 - opcodeBase) / lineRange));
    else if (opcode === Standard.advanceFixed) {
      state.address += data.getUint16(reader.at, true);
      reader.at += 2;
    } else for (let k = 0; k < operands[opcode - 1]; k++) reader.unsigned();
  }
  reader.at = end;
}

/** Full names of the files, the first one being number 1. */
function fileNames(reader: Reader): string[] {
  const folders: string[] = [];
  for (let name = reader.text(); name !== ''; name = reader.text()) folders.push(name);
  const files: string[] = [];
  for (let name = reader.text(); name !== ''; name = reader.text()) {
    const folder = folders[reader.unsigned() - 1];
    reader.unsigned();
    reader.unsigned();
    files.push(folder === undefined || /^([/\\]|\w:)/.test(name) ? name : `${folder}/${name}`);
  }
  return files;
}

/** The rows of an address: those of the greatest address up to it, in their order. */
export function rowsAt(rows: readonly LineRow[], address: number): readonly LineRow[] {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  let first = low;
  while (first > 0 && rows[first - 1].address === rows[low - 1].address) first--;
  return rows.slice(first, low);
}
