/** Makes small cubins for tests: code, line tables and what an ELF file needs around them. */

/** An instruction of 16 bytes: operation in its low 12 bits, predicate (7: always), field of the width. */
export interface Word {
  readonly operation: number;
  readonly predicate?: number;
  readonly width?: number;
}

/** `at` bytes in the code; `call` the number (from 1) of the row that the code was inlined at. */
export interface Row {
  readonly at: number;
  readonly line: number;
  readonly file?: number;
  readonly call?: number;
}

export interface Kernel {
  readonly name: string;
  readonly code: readonly Word[];
  readonly source: readonly Row[];
  readonly ptx: readonly Row[];
}

export const LDS = 0x984;
export const LDG = 0x981;
export const STG = 0x986;
export const LDGSTS = 0xfae;
export const ADD = 0x221;
export const width = { u8: 0, word: 4, pair: 5, quad: 6 };

export function makeCubin(kernels: readonly Kernel[], files: readonly string[], withAddends = true): Uint8Array {
  const sections: Part[] = [{ name: '', type: 0, data: Buffer.alloc(0) }];
  for (const { name, code } of kernels) sections.push({ name: `.text.${name}`, type: 1, data: codeOf(code) });
  const symbols = Buffer.alloc(24 * (kernels.length + 1));
  for (const index of kernels.keys()) symbols.writeUInt16LE(index + 1, 24 * (index + 1) + 6);
  sections.push({ name: '.symtab', type: 2, data: symbols });
  const tables = [
    { name: 'debug_line', rowsOf: ({ source }: Kernel) => source, names: files },
    { name: 'nv_debug_line_sass', rowsOf: ({ ptx }: Kernel) => ptx, names: [] },
  ];
  for (const { name, rowsOf, names } of tables) {
    const { data, places } = lineProgram(kernels.map(rowsOf), names);
    sections.push({ name: `.${name}`, type: 1, data });
    const entry = withAddends ? 24 : 16;
    const relocations = Buffer.alloc(entry * places.length);
    places.forEach((place, index) => {
      relocations.writeBigUInt64LE(BigInt(place), entry * index);
      relocations.writeUInt32LE(index + 1, entry * index + 12);
    });
    sections.push({ name: `${withAddends ? '.rela' : '.rel'}.${name}`, type: withAddends ? 4 : 9, data: relocations });
  }
  return elf(sections);
}

interface Part {
  readonly name: string;
  readonly type: number;
  readonly data: Buffer;
}

function codeOf(words: readonly Word[]): Buffer {
  const code = Buffer.alloc(16 * words.length);
  words.forEach(({ operation, predicate = 7, width: field = 4 }, index) => {
    code.writeUInt32LE(operation | (predicate << 12), 16 * index);
    code.writeUInt32LE(field << 9, 16 * index + 8);
  });
  return code;
}

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >> 7)];
}

function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
}

const ascii = (text: string): number[] => [...Buffer.from(text), 0];

/** One sequence a kernel; `places`: where their addresses are to be set. */
function lineProgram(kernels: readonly (readonly Row[])[], files: readonly string[]) {
  const names = files.flatMap((name) => [...ascii(name), 0, 0, 0]);
  const lengths = [0, 1, 1, 1, 1, 0, 0, 0, 1];
  const prologue = [1, 1, 0xfb, 14, 10, ...lengths, 0, ...names, 0];
  const bytes: number[] = [];
  const places: number[] = [];
  for (const rows of kernels) {
    bytes.push(0, 9, 2);
    places.push(10 + prologue.length + bytes.length);
    bytes.push(0, 0, 0, 0, 0, 0, 0, 0);
    let [at, line, file, call] = [0, 1, 1, 0];
    for (const row of rows) {
      if ((row.call ?? 0) !== call) bytes.push(0, 3, 0x90, ...unsigned((call = row.call ?? 0)), ...unsigned(0));
      if ((row.file ?? 1) !== file) bytes.push(4, ...unsigned((file = row.file ?? 1)));
      if (row.line !== line) bytes.push(3, ...signed(row.line - line));
      if (row.at !== at) bytes.push(2, ...unsigned(row.at - at));
      [at, line] = [row.at, row.line];
      bytes.push(1);
    }
    bytes.push(0, 1, 1);
  }
  const head = Buffer.alloc(10);
  head.writeUInt32LE(6 + prologue.length + bytes.length, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt32LE(prologue.length, 6);
  return { data: Buffer.concat([head, Buffer.from(prologue), Buffer.from(bytes)]), places };
}

function elf(parts: readonly Part[]): Uint8Array {
  const strings: Part = {
    name: '.shstrtab',
    type: 3,
    data: Buffer.from(['', ...parts.map((p) => p.name), '.shstrtab'].join('\0')),
  };
  const all = [...parts, { ...strings, data: Buffer.concat([strings.data, Buffer.from([0])]) }];
  const head = Buffer.alloc(64);
  head.writeUInt32LE(0x464c457f, 0);
  head.writeUInt8(2, 4);
  head.writeUInt8(1, 5);
  const table = Buffer.alloc(64 * all.length);
  let offset = 64;
  let name = 1;
  all.forEach((part, index) => {
    table.writeUInt32LE(part.name === '' ? 0 : name, 64 * index);
    table.writeUInt32LE(part.type, 64 * index + 4);
    table.writeBigUInt64LE(BigInt(offset), 64 * index + 24);
    table.writeBigUInt64LE(BigInt(part.data.length), 64 * index + 32);
    offset += part.data.length;
    name += part.name.length + 1;
  });
  head.writeBigUInt64LE(BigInt(offset), 0x28);
  head.writeUInt16LE(64, 0x3a);
  head.writeUInt16LE(all.length, 0x3c);
  head.writeUInt16LE(all.length - 1, 0x3e);
  return Buffer.concat([head, ...all.map((part) => part.data), table]);
}
