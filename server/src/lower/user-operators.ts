/** Operators that classes and functions of the user define. */
import type * as ast from '../parse/ast';
import type { FoundFunctions } from './associated-functions';
import { pathToBase } from './bases';
import { callExpression } from './calls';
import type { Context } from './context';
import { lookupName } from './lookup';
import { bestOverload, type ChosenFunction, chooseOverload } from './overloads';
import { findMethods, recordOf } from './records';
import { resolveType } from './resolve-type';
import type { Entity } from './scope';
import { type RecordInfo, withoutReference } from './types';
import type { Value } from './values';

/** An operator function or method of the user's, if one is declared for these operands. */
export function userOperator(
  ctx: Context,
  name: string,
  operands: readonly Value[],
  node: ast.Node,
): Value | undefined {
  const record = recordOf(operands[0].type);
  const anyRecord = record ?? operands.map((o) => recordOf(o.type)).find((r) => r !== undefined);
  if (!anyRecord) return undefined;
  const call = (callee: Value, args: readonly Value[]): Value =>
    callExpression(
      ctx,
      {
        kind: 'call',
        callee: { kind: 'this', first: node.first, last: node.last },
        arguments: [],
        first: node.first,
        last: node.last,
      },
      callee,
      args,
    );
  const methods = record && findMethods(record, name);
  if (methods?.owner.scope && methods.declarations.some((d) => d.body && d.parameters.length === operands.length - 1)) {
    const isCopy = name === 'operator=' && record !== undefined && recordOf(operands[1].type) === record;
    // beside assignments of other types a class keeps the one of its own that every class has
    if (isCopy) {
      const chosen = chooseOverload(ctx, methods.declarations, methods.owner.scope, operands.slice(1), undefined);
      if (!chosen || !mayTake(ctx, chosen, record)) return undefined;
    }
    return call(
      {
        kind: 'functions',
        type: { kind: 'function' },
        declarations: methods.declarations,
        scope: methods.owner.scope,
        self: operands[0],
      },
      operands.slice(1),
    );
  }
  const entity = operatorFor(ctx, name, anyRecord, operands);
  if (!entity) return undefined;
  return call(
    { kind: 'functions', type: { kind: 'function' }, declarations: entity.declarations, scope: entity.scope },
    operands,
  );
}

/** Whether an assignment is that of its own class, and not of what an object only converts to (`optional& operator=(const T&)`). */
function mayTake(ctx: Context, { declaration, scope }: ChosenFunction, record: RecordInfo): boolean {
  if (declaration.templateParameters) return true;
  const type = withoutReference(resolveType(ctx, declaration.parameters[0].type, scope));
  const taken = recordOf(type);
  return type.kind === 'unknown' || (taken !== undefined && pathToBase(record, taken) !== undefined);
}

/** Where an operator of these operands may be defined: in the class of the first, and beside it or in sight. */
export function operatorFunctions(
  ctx: Context,
  name: string,
  operands: readonly Value[],
): readonly (FoundFunctions & { readonly isMethod?: true })[] {
  const record = operands.map((o) => recordOf(o.type)).find((r) => r !== undefined);
  const own = recordOf(operands[0].type);
  const methods = own && findMethods(own, name);
  const isConst = withoutReference(operands[0].type).isConst;
  // a constant object has its constant operators only
  const usable = methods?.declarations.filter((d) => !isConst || d.isConst) ?? [];
  const beside = record && operatorFor(ctx, name, record, operands);
  return [
    ...(methods?.owner.scope ? [{ declarations: usable, scope: methods.owner.scope, isMethod: true as const }] : []),
    ...(beside ? [{ declarations: beside.declarations, scope: beside.scope }] : []),
  ];
}

type Candidate = Entity & { kind: 'functions' };

const takesOperands = (entity: Entity | undefined, count: number): entity is Candidate =>
  entity?.kind === 'functions' && entity.declarations.some((d) => d.body && d.parameters.length === count);

/** Declared with a record: in it as a friend, or around it; a member of another form (`-a` where `a - b` is meant) hides nothing. */
function besideRecord(ctx: Context, name: string, record: RecordInfo, count: number): Entity | undefined {
  for (let scope = record.scope; scope; scope = scope.parent) {
    const entity = lookupName(ctx, scope, name);
    if (!entity || takesOperands(entity, count) || !scope.recordType) return entity;
  }
  return undefined;
}

/** The functions that an operator means: of those in sight and those declared with the record the ones that take the operands best. */
function operatorFor(
  ctx: Context,
  name: string,
  record: RecordInfo,
  operands: readonly Value[],
): Candidate | undefined {
  const beside = operands.map((o) => recordOf(o.type)).filter((r) => r !== undefined);
  const found = new Set([
    lookupName(ctx, ctx.scope, name),
    ...[record, ...beside].map((each) => besideRecord(ctx, name, each, operands.length)),
  ]);
  const candidates = [...found].flatMap((entity) => (takesOperands(entity, operands.length) ? [entity] : []));
  if (candidates.length < 2) return candidates[0];
  const rated = candidates.flatMap((candidate) => {
    const best = bestOverload(ctx, candidate.declarations, candidate.scope, operands, undefined);
    return best?.chosen.templateArguments.every((t) => t.kind !== 'unknown') ? [{ candidate, cost: best.cost }] : [];
  });
  const least = Math.min(...rated.map(({ cost }) => cost));
  return rated.find(({ cost }) => cost === least)?.candidate ?? candidates[0];
}
