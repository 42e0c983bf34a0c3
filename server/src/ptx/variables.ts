/** Declarations of variables: `.shared .align 16 .b8 tile[4096];`, with initialisers. */

import { literal } from './literals';
import type { PtxVariable } from './module';
import type { Scanner } from './scanner';

export const stateSpaces: ReadonlySet<string> = new Set(['shared', 'global', 'const', 'local', 'param', 'reg', 'tex']);

const sizes: Readonly<Record<string, number>> = {
  b8: 1,
  u8: 1,
  s8: 1,
  pred: 1,
  b16: 2,
  u16: 2,
  s16: 2,
  f16: 2,
  bf16: 2,
  b32: 4,
  u32: 4,
  s32: 4,
  f32: 4,
  f16x2: 4,
  bf16x2: 4,
  b64: 8,
  u64: 8,
  s64: 8,
  f64: 8,
  b128: 16,
};

/** Bytes of a PTX type, 0 for types without a size (.texref …). */
export function sizeOf(type: string): number {
  return sizes[type] ?? 0;
}

/** Elements of initialisers kept at most: longer tables are not known. */
const MOST_ELEMENTS = 1 << 20;

/** Reads what follows the state space, up to the `;`, `,` or `)` behind it. Several names may share a type. */
export function readVariable(scanner: Scanner, space: string, isExtern: boolean, isParameter = false): PtxVariable[] {
  let alignment = 0;
  let type = '';
  let vector = 1;
  let isPointer = false;
  while (scanner.peekCode() === 46) {
    const word = scanner.next().slice(1);
    if (word === 'align') alignment = Number(literal(scanner.next()) ?? 0);
    else if (word === 'ptr') isPointer = true;
    else if (word === 'v2' || word === 'v4') vector = Number(word.slice(1));
    else if (sizes[word] !== undefined || word.endsWith('ref')) type = word;
  }
  const size = sizeOf(type) * vector;
  const result: PtxVariable[] = [];
  do {
    const at = scanner.position;
    const name = scanner.next();
    const dimensions: number[] = [];
    while (scanner.take('[')) {
      const length = scanner.peek() === ']' ? 0 : Number(literal(scanner.next()) ?? 0);
      dimensions.push(Number.isSafeInteger(length) ? length : 0);
      scanner.take(']');
    }
    const initial = scanner.take('=') ? initialiser(scanner) : undefined;
    const elements = dimensions.reduce((product, length) => product * length, 1);
    const bytes = size * elements;
    result.push({
      name,
      space,
      type,
      alignment: Math.max(alignment, Math.min(16, size), 1),
      bytes: Number.isSafeInteger(bytes) ? bytes : 0,
      isExtern,
      dimensions,
      isPointer,
      initial,
      at,
    });
  } while (!isParameter && scanner.take(','));
  return result;
}

/** `{1, 2, {3, 4}}`, `0f3F800000`, `generic(x) + 4`: nested braces are flattened. */
function initialiser(scanner: Scanner): (bigint | number | undefined)[] {
  const values: (bigint | number | undefined)[] = [];
  let depth = 0;
  for (;;) {
    const token = scanner.peek();
    if (token === '' || (depth === 0 && (token === ';' || token === ','))) return values;
    scanner.next();
    if (token === '{') depth++;
    else if (token === '}') {
      if (--depth <= 0) return values;
    } else if (token === '-') {
      const value = literal(scanner.next());
      push(values, value === undefined ? undefined : -value);
    } else if (token === '(') {
      while (!scanner.isAtEnd && scanner.next() !== ')');
    } else if (token === '+') {
      scanner.next();
    } else if (token !== ',') push(values, literal(token));
  }
}

function push(values: (bigint | number | undefined)[], value: bigint | number | undefined): void {
  if (values.length < MOST_ELEMENTS) values.push(value);
}
