/** Pointers into variables in registers, moved by what they point to: `(const char*)&key + 1` is one byte on, `(int*)bytes + 1` four elements. */
import { sizeOf, type Type, typeKey, unqualified } from './types';
import type { RegisterTarget } from './values';

/** The target of a pointer to `to` that is moved by so many elements of its own. */
export function moved(target: RegisterTarget, to: Type, count: number): RegisterTarget {
  const stride = sizeOf(target.elementType);
  const size = sizeOf(to);
  if (!stride || !size || isAlike(target, to)) return { ...target, index: target.index + count };
  const bytes = bytesBehind(target, stride) + count * size;
  const index = Math.floor(bytes / stride);
  return { ...target, index, bytes: bytes - index * stride || undefined };
}

/** How many elements of what they point to lie between two pointers into one array, from b to a. */
export function distanceBetween(a: RegisterTarget, b: RegisterTarget, to: Type): number {
  const stride = sizeOf(a.elementType);
  const size = sizeOf(to);
  if (!stride || !size || isAlike(a, to)) return a.index - b.index;
  return (bytesBehind(a, stride) - bytesBehind(b, stride)) / size;
}

/** Whether a pointer to `to` leads to a whole element of the target, as it was declared. */
export const isAlike = ({ elementType, bytes }: RegisterTarget, to: Type): boolean =>
  bytes === undefined && typeKey(unqualified(to)) === typeKey(unqualified(elementType));

const bytesBehind = ({ index, bytes = 0 }: RegisterTarget, stride: number): number => index * stride + bytes;
