/**
 * Strings are tables of letters, in kernels in global memory: a letter at an index that varies is a load of one byte, one at a known index is
 * known to nvcc (13.0, sm_90: `"0123456789abcdef"[i & 15]` is LDG.E.U8, `s[3]` no access).
 */
import type { StringLiteral } from '../parse/ast';
import { bytesOf, type Register, type ScalarType } from '../program/program';
import { type Context, placeOf } from './context';
import { scalarOf, type Type } from './types';
import { unknownValue, type Value } from './values';

interface Strings {
  readonly addresses: Map<string, Register>;
  readonly letters: Map<Register, readonly number[]>;
}

const stringsOf = new WeakMap<Context, Strings>();

/** The address of a string's characters. Programs take letters from them: `"ACGT"[k]`. */
export function stringAddress(ctx: Context, node: StringLiteral): Register {
  const { value } = node;
  let strings = stringsOf.get(ctx);
  if (!strings) stringsOf.set(ctx, (strings = { addresses: new Map(), letters: new Map() }));
  let register = strings.addresses.get(value);
  if (register === undefined) {
    const values = [...[...value].map((letter) => (letter.codePointAt(0) ?? 0) & 255), 0];
    const object = ctx.builder.object({
      name: 'a string',
      space: 'global',
      bytes: values.length,
      alignment: 1,
      isDynamic: false,
      dimensions: [],
      elementBytes: 1,
      elementType: 'char',
      place: placeOf(ctx, node),
      lifetime: ctx.unit.isHost ? 'program' : undefined,
      contents: { type: 'i8', values },
    });
    strings.addresses.set(value, (register = ctx.builder.objects[object].register));
    strings.letters.set(register, values);
  }
  return register;
}

/** The letter at a known place of a string. */
export function letterAt(ctx: Context, address: Register, offset: number, type: ScalarType): number | undefined {
  return bytesOf[type] === 1 ? stringsOf.get(ctx)?.letters.get(address)?.[offset] : undefined;
}

/** `char digits[] = "0123456789abcdef"`: the same as a list of letters. */
export function letters(ctx: Context, { of, count = 0 }: Type & { kind: 'array' }, text: string): Value {
  const scalar = scalarOf(of);
  if (!scalar) return unknownValue(of, 'text');
  const elements = Array.from({ length: count }, (_, i): Value => {
    const letter = (text.codePointAt(i) ?? 0) & 255;
    const value = scalar === 'i8' && letter > 127 ? letter - 256 : letter;
    return { kind: 'scalar', type: of, register: ctx.builder.constant(scalar, value) };
  });
  return { kind: 'aggregate', type: { kind: 'array', of, count }, elements };
}
