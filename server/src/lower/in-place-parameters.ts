/**
 * Parameters of a kernel that stay in constant memory where an array in them is indexed at run time: the machine loads the element with an
 * index in a register. All others are copied to local memory first (STL of all of it, LDL of the element).
 *
 * Evidence (nvcc 13.0, sm_90, PTX of 58 kernels): `__grid_constant__` ones do, and so does every parameter of more than 128 bytes of which the
 * kernel writes no member: read in straight code and in loops, through references, methods, pointers and copies (28 of 28); up to 128 bytes
 * it is copied (27 of 27), and so it is where a member is assigned, whether the one that is read or not (3 of 3).
 */
import { anywhere, assignedBy } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { findField } from './records';
import { sizeOf, type Type } from './types';

/** Copies up to this size are made member by member, which NVVM does not undo. */
const COPIED_BYTES = 128;

export function staysInPlace(parameter: ast.Parameter, type: Type, body: ast.Statement | undefined): boolean {
  if (parameter.specifiers.isGridConstant) return true;
  if (type.kind !== 'record' || (sizeOf(type) ?? 0) <= COPIED_BYTES) return false;
  return body === undefined || !writes(body, parameter.name ?? '', type);
}

/** Whether a piece of syntax assigns a member of the parameter, and not only what a pointer in it points to. */
function writes(body: ast.Statement, name: string, type: Type): boolean {
  return anywhere(body, (node) => {
    const written = assignedBy(node);
    return written !== undefined && typeWithin(written, name, type) !== undefined;
  });
}

/** The type of a part of the parameter; undefined for everything else, and behind pointers. */
function typeWithin(node: ast.Expression, name: string, type: Type): Type | undefined {
  if (node.kind === 'name') return node.name.parts.length === 1 && node.name.parts[0].name === name ? type : undefined;
  if (node.kind === 'index') {
    const base = typeWithin(node.base, name, type);
    return base?.kind === 'array' ? base.of : undefined;
  }
  if (node.kind !== 'member' || node.arrow) return undefined;
  const object = typeWithin(node.object, name, type);
  const member = node.name.parts.at(-1)?.name;
  return object?.kind === 'record' && member ? findField(object.record, member)?.path.at(-1)?.type : undefined;
}
