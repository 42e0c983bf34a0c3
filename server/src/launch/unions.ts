/** Members of unions lie over each other: what is written to one is not known of the others. */
import type { RecordDeclaration } from '../parse/ast';
import type { HostType } from './host-type';
import type { Cell } from './value';

/** Members that lie beside each other in each of the alternatives. */
export type UnionCells = readonly (readonly Cell[])[];

type Names = readonly string[];
const known = new WeakMap<RecordDeclaration, readonly (readonly Names[])[]>();

/** The unions in a record, each by the names in its alternatives. */
function unionsOf(record: RecordDeclaration): readonly (readonly Names[])[] {
  let unions = known.get(record);
  if (!unions) {
    const members = record.members ?? [];
    const inner = members.flatMap((m) => (m.kind === 'record' && m.name === undefined ? unionsOf(m) : []));
    unions = record.key === 'union' ? [members.map(namesIn).filter((names) => names.length > 0), ...inner] : inner;
    known.set(record, unions);
  }
  return unions;
}

function namesIn(member: NonNullable<RecordDeclaration['members']>[number]): Names {
  if (member.kind === 'variable') return member.name && !member.specifiers.isStatic ? [member.name] : [];
  return member.kind === 'record' && member.name === undefined ? (member.members ?? []).flatMap(namesIn) : [];
}

/** Tells the members of an object which of them share their bytes. */
export function linkUnions(type: HostType, fields: ReadonlyMap<string, Cell>): void {
  if (type.kind !== 'record') return;
  for (const union of unionsOf(type.declaration)) {
    const cells: UnionCells = union.map((names) => names.flatMap((name) => fields.get(name) ?? []));
    for (const cell of cells.flat()) cell.union = cells;
  }
}
