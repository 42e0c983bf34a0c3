/**
 * Types whose objects are copied by a function: what it reads and writes is aligned as the type is, whatever record it is part of,
 * so that neighbours are not joined. Evidence: records of sixteen bytes, `alignas(16)`, by value, assigned, through `const __restrict__` and
 * through functions; with four `__half2`, `__nv_bfloat162` or a class with a copy constructor as members PTX has four accesses of four bytes
 * (20 of 20), with `__half`, `__nv_bfloat16`, `float`, `float2` or `uchar4` one of sixteen (24 of 24).
 */
import type { FunctionDeclaration } from '../parse/ast';
import type { RecordInfo, Type } from './types';

/** Of the built-in types those with a copy constructor of their own (cuda_fp16.h, cuda_bf16.h). */
const builtin: ReadonlySet<string> = new Set(['__half2', '__nv_bfloat162']);

/** The record that a member of the type, or its elements, is copied as; undefined where bytes are copied. */
export function copiedAs(type: Type): RecordInfo | undefined {
  if (type.kind === 'array') return copiedAs(type.of);
  return type.kind === 'record' && copiesItself(type.record) ? type.record : undefined;
}

export function copiesItself(record: RecordInfo): boolean {
  if (record.isVector) return builtin.has(record.name);
  const name = record.declaration?.name?.parts.at(-1)?.name;
  return name !== undefined && [name, 'operator='].some((f) => record.methods.get(f)?.some((m) => takesOwn(m, name)));
}

/** `C(const C&)`, `operator=(const C&)` with a body. */
function takesOwn({ body, parameters }: FunctionDeclaration, name: string): boolean {
  const type = parameters.length === 1 ? parameters[0].type : undefined;
  if (!body || type?.kind !== 'reference' || type.to.kind !== 'named') return false;
  return type.to.name.parts.at(-1)?.name === name;
}
