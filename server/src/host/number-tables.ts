/** What tables of numbers hold when the program begins, as bytes. */
import { bytesOf, type MemoryObject, type ScalarType } from '../program/program';

type Write = (view: DataView, at: number, value: number) => void;

/** Halves are not among them: instructions of the program store these. */
const writers: Readonly<Partial<Record<ScalarType, Write>>> = {
  i8: (view, at, value) => view.setInt8(at, value),
  u8: (view, at, value) => view.setUint8(at, value),
  i16: (view, at, value) => view.setInt16(at, value, true),
  u16: (view, at, value) => view.setUint16(at, value, true),
  i32: (view, at, value) => view.setInt32(at, value, true),
  u32: (view, at, value) => view.setUint32(at, value, true),
  i64: (view, at, value) => view.setBigInt64(at, BigInt(value), true),
  u64: (view, at, value) => view.setBigUint64(at, BigInt(value), true),
  f32: (view, at, value) => view.setFloat32(at, value, true),
  f64: (view, at, value) => view.setFloat64(at, value, true),
};

/** Whether tables of the type can be written so. */
export const hasWriter = (type: ScalarType): boolean => writers[type] !== undefined;

/** @param start place of the first number */
export function writeNumbers(
  view: DataView,
  start: number,
  { type, values }: NonNullable<MemoryObject['begins']>,
): void {
  const write = writers[type];
  values.forEach((value, i) => {
    write?.(view, start + i * bytesOf[type], value);
  });
}
