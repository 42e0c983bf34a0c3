/** PTX types and how their values are held in registers of the IR. */

import type { ScalarType } from '../program/program';

/** Untyped bits count as signed: addresses and indices mostly are, and the held form is the same. */
const irTypes: Readonly<Record<string, ScalarType>> = {
  pred: 'pred',
  b8: 'u8',
  u8: 'u8',
  s8: 'i8',
  b16: 'u16',
  u16: 'u16',
  s16: 'i16',
  f16: 'f16',
  bf16: 'bf16',
  b32: 'i32',
  s32: 'i32',
  u32: 'u32',
  f32: 'f32',
  b64: 'i64',
  s64: 'i64',
  u64: 'u64',
  f64: 'f64',
};

/** The type an instruction computes in; undefined for packed and other types without one. */
export function irType(type: string | undefined): ScalarType | undefined {
  return type === undefined ? undefined : irTypes[type];
}

/** Whether the word of an opcode is a type. */
export function isType(part: string): boolean {
  return irTypes[part] !== undefined || part === 'f16x2' || part === 'bf16x2' || part === 'b128' || part === 'tf32';
}

/** The last type of an opcode: 'f32' of `ld.global.v4.f32`. */
export function typeOf(parts: readonly string[]): string | undefined {
  for (let i = parts.length - 1; i > 0; i--) if (isType(parts[i])) return parts[i];
  return undefined;
}

/** All types of an opcode in order: ['f32', 's32'] of `cvt.rn.f32.s32`. */
export function typesOf(parts: readonly string[]): string[] {
  return parts.filter((part, index) => index > 0 && isType(part));
}

/** How a PTX register is held: integers of one width alike, whatever their sign. */
const heldTypes: Readonly<Record<string, ScalarType>> = {
  pred: 'pred',
  b8: 'u16',
  u8: 'u16',
  s8: 'u16',
  b16: 'u16',
  u16: 'u16',
  s16: 'u16',
  f16: 'u16',
  bf16: 'u16',
  b32: 'i32',
  u32: 'i32',
  s32: 'i32',
  f16x2: 'i32',
  bf16x2: 'i32',
  f32: 'f32',
  b64: 'i64',
  u64: 'i64',
  s64: 'i64',
  f64: 'f64',
  b128: 'i64',
};

export function heldType(type: string): ScalarType {
  return heldTypes[type] ?? 'i32';
}

export const bitsOf: Readonly<Record<ScalarType, number>> = {
  pred: 1,
  i8: 8,
  u8: 8,
  i16: 16,
  u16: 16,
  i32: 32,
  u32: 32,
  i64: 64,
  u64: 64,
  f16: 16,
  bf16: 16,
  f32: 32,
  f64: 64,
};

export function unsigned(type: ScalarType): ScalarType {
  if (type === 'i8') return 'u8';
  if (type === 'i16') return 'u16';
  if (type === 'i32') return 'u32';
  return type === 'i64' ? 'u64' : type;
}

export function signed(type: ScalarType): ScalarType {
  if (type === 'u8') return 'i8';
  if (type === 'u16') return 'i16';
  if (type === 'u32') return 'i32';
  return type === 'u64' ? 'i64' : type;
}

/** Whether a register held as one type may be read as the other without any conversion. */
export function isSameForm(a: ScalarType, b: ScalarType): boolean {
  return a === b || (signed(a) === signed(b) && bitsOf[a] >= 32);
}
