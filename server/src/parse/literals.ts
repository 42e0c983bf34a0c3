/** Values and types of literals. */
import type { BuiltinTypeName } from './ast';

export type NumberLiteral =
  | { readonly kind: 'integer'; readonly value: bigint; readonly type: BuiltinTypeName }
  | { readonly kind: 'float'; readonly value: number; readonly type: 'float' | 'double' | 'long double' };

const maxNumberLength = 400;
/** Suffixes of the user's, and of the library: durations, days and years, imaginary numbers. */
const ownSuffix = '_[A-Za-z]\\w*|ms|us|ns|min|s|h|d|y|if|il|i';
const integerForm = new RegExp(`^(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uUlLzZ]*)(${ownSuffix})?$`);
const floatForm = new RegExp(`^([0-9]*\\.?[0-9]*(?:[eE][+-]?[0-9]+)?)([fFlL]?)(?:${ownSuffix}|[fF]16|bf16)?$`);
const smallIntegers: bigint[] = Array.from({ length: 1025 }, (_, index) => BigInt(index));

/** Reads a number token; undefined if it is malformed. A suffix of the user's (`3_cm`; primary.ts makes a call of it) or of the library (`5ms`) adds nothing. */
export function readNumber(text: string): NumberLiteral | undefined {
  if (text.length > maxNumberLength) return undefined;
  if (/^[0-9]{1,3}$/.test(text) && (text === '0' || text.charCodeAt(0) !== 48)) {
    return { kind: 'integer', value: smallIntegers[Number(text)], type: 'int' };
  }
  const plain = text.includes("'") ? text.replaceAll("'", '') : text;
  return readInteger(plain) ?? readFloat(plain);
}

function readInteger(text: string): NumberLiteral | undefined {
  const match = integerForm.exec(text);
  if (!match) return undefined;
  const octal = /^0[0-9]+$/.test(match[1]);
  if (octal && /[89]/.test(match[1])) return undefined;
  const value = octal ? BigInt(`0o${match[1].slice(1)}`) : BigInt(match[1]);
  const decimal = match[1][0] !== '0' || match[1].length === 1;
  return { kind: 'integer', value, type: integerType(value, decimal, match[2].toLowerCase()) };
}

/** C++ [lex.icon] for a 64-bit `long`, as nvcc on Linux has it. */
function integerType(value: bigint, decimal: boolean, suffix: string): BuiltinTypeName {
  const unsigned = suffix.includes('u');
  const longs = suffix.includes('z') ? 1 : suffix.split('l').length - 1;
  const bits = value < 0x80000000n ? 31 : value < 0x100000000n ? 32 : value < 0x8000000000000000n ? 63 : 64;
  const mayBeUnsigned = unsigned || !decimal;
  if (longs === 0 && !unsigned && bits <= 31) return 'int';
  if (longs === 0 && mayBeUnsigned && bits <= 32) return 'unsigned int';
  const wide = longs === 2 ? 'long long' : 'long';
  return !unsigned && bits <= 63 ? wide : longs === 2 ? 'unsigned long long' : 'unsigned long';
}

function readFloat(text: string): NumberLiteral | undefined {
  const hex = /^0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?[0-9]+)([fFlL]?)$/.exec(text);
  if (hex) {
    const digits = Number.parseInt(hex[1] + hex[2] || '0', 16);
    return { kind: 'float', value: digits * 2 ** (Number(hex[3]) - 4 * hex[2].length), type: floatType(hex[4]) };
  }
  const match = floatForm.exec(text);
  if (!match || !/[0-9]/.test(match[1]) || !/[.eE]/.test(match[1])) return undefined;
  return { kind: 'float', value: Number(match[1]), type: floatType(match[2]) };
}

function floatType(suffix: string): 'float' | 'double' | 'long double' {
  return suffix === '' ? 'double' : suffix.toLowerCase() === 'f' ? 'float' : 'long double';
}

const simpleEscapes: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['t', 9],
  ['r', 13],
  ['a', 7],
  ['b', 8],
  ['f', 12],
  ['v', 11],
  ['e', 27],
]);

function resolveEscapes(body: string): string {
  if (!body.includes('\\')) return body;
  return body.replace(
    /\\(?:x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|\r?\n|([\s\S]))/g,
    (_, hex, short, long, octal, simple) => {
      if (simple !== undefined) {
        const code = simpleEscapes.get(simple);
        return code === undefined ? simple : String.fromCharCode(code);
      }
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      const digits = hex ?? short ?? long;
      if (digits === undefined) return '';
      const code = Number.parseInt(digits, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : '';
    },
  );
}

/** Text of a string token: prefix, quotes and escapes resolved. */
export function readString(text: string): string {
  const raw = /^(?:u8|[uUL])?R"([^(\s]*)\(/.exec(text);
  if (raw) {
    const close = text.lastIndexOf(`)${raw[1]}"`);
    return text.slice(raw[0].length, close < raw[0].length ? text.length : close);
  }
  const open = text.indexOf('"');
  const close = text.lastIndexOf('"');
  return resolveEscapes(text.slice(open + 1, close > open ? close : text.length));
}

const characterTypes: ReadonlyMap<string, BuiltinTypeName> = new Map([
  ['', 'char'],
  ['u8', 'char8_t'],
  ['u', 'char16_t'],
  ['U', 'char32_t'],
  ['L', 'wchar_t'],
]);

/** Value and type of a character literal; several characters make an int, as compilers have it. */
export function readCharacter(text: string): { readonly value: bigint; readonly type: BuiltinTypeName } {
  const open = text.indexOf("'");
  const close = text.lastIndexOf("'");
  const type = characterTypes.get(text.slice(0, Math.max(open, 0))) ?? 'char';
  const body = resolveEscapes(text.slice(open + 1, close > open ? close : text.length));
  const codes = [...body].map((character) => character.codePointAt(0) ?? 0);
  if (codes.length > 1) {
    const value = codes.slice(-4).reduce((sum, code) => (sum << 8) | (code & 255), 0);
    return { value: BigInt(value), type: 'int' };
  }
  const code = codes[0] ?? 0;
  return { value: BigInt(type === 'char' && code > 127 && code < 256 ? code - 256 : code), type };
}
