/** `union { float4 all; float each[4]; };` in a function: a variable without a name, whose members are known by theirs. */
import type { RecordDeclaration, VariableDeclaration } from '../parse/ast';
import type { Context } from './context';
import { memberOf } from './members';
import { recordOf } from './records';
import type { RecordInfo } from './types';
import { unknownValue } from './values';
import { declareVariable } from './variables';

export function declareAnonymousUnion(ctx: Context, declaration: RecordDeclaration): void {
  const name = `(union ${declaration.first})`;
  const { first, last, specifiers } = declaration;
  const type: VariableDeclaration['type'] = {
    kind: 'record',
    record: declaration,
    isConst: false,
    isVolatile: false,
    first,
    last,
  };
  declareVariable(ctx, { kind: 'variable', name, nameToken: first, type, specifiers, first, last });
  const entity = ctx.scope.own(name);
  const object = entity?.kind === 'value' ? entity.value : undefined;
  const record = object && recordOf(object.type);
  for (const member of record ? membersOf(record) : []) {
    const value = object && memberOf(ctx, object, member, declaration);
    const reason = `member ${member} could not be followed`;
    ctx.scope.define(member, { kind: 'value', value: value ?? unknownValue({ kind: 'unknown', reason }, reason) });
  }
}

/** Those of structs without a name inside too. */
const membersOf = ({ fields }: RecordInfo): string[] =>
  fields.flatMap(({ name, type, isAnonymous }) =>
    isAnonymous ? (type.kind === 'record' ? membersOf(type.record) : []) : [name],
  );
