/** Sections of a cubin: an ELF file of 64 bits, little-endian (System V ABI, chapter 4; `readelf -S` shows the same). */

export interface Section {
  readonly name: string;
  readonly data: DataView;
  /** Section that this one names: the strings of a symbol table. */
  readonly link: number;
}

const MAGIC = 0x464c457f;
const HEADER_BYTES = 64;
const MOST_SECTIONS = 100_000;

/** In order; none of what is no such file. A section that reaches beyond the end is empty. Never throws. */
export function sectionsOf(bytes: Uint8Array): readonly Section[] {
  const file = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.byteLength < HEADER_BYTES || file.getUint32(0, true) !== MAGIC) return [];
  const is64 = file.getUint8(4) === 2 && file.getUint8(5) === 1;
  const table = Number(file.getBigUint64(0x28, true));
  const size = file.getUint16(0x3a, true);
  const count = Math.min(file.getUint16(0x3c, true), MOST_SECTIONS);
  if (!is64 || size < HEADER_BYTES || table + count * size > file.byteLength) return [];
  const heads = Array.from({ length: count }, (_, index) => {
    const at = table + index * size;
    const isInFile = file.getUint32(at + 4, true) !== NO_BITS;
    const offset = Number(file.getBigUint64(at + 24, true));
    const length = isInFile ? Number(file.getBigUint64(at + 32, true)) : 0;
    const fits = offset + length <= file.byteLength;
    return {
      name: file.getUint32(at, true),
      link: file.getUint32(at + 40, true),
      data: new DataView(bytes.buffer, bytes.byteOffset + (fits ? offset : 0), fits ? length : 0),
    };
  });
  const names = heads[file.getUint16(0x3e, true)]?.data;
  return heads.map(({ name, link, data }) => ({ name: names ? textAt(names, name) : '', link, data }));
}

/** sh_type of a section without contents. */
const NO_BITS = 8;

/** A text that ends with a zero; '' outside of the data. */
export function textAt(data: DataView, offset: number): string {
  let end = offset;
  while (end < data.byteLength && data.getUint8(end) !== 0) end++;
  if (end <= offset) return '';
  return new TextDecoder().decode(new Uint8Array(data.buffer, data.byteOffset + offset, end - offset));
}
