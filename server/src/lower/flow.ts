/** What is known of variables where paths meet, and what a loop may change. */
import type * as ast from '../parse/ast';
import type { Register } from '../program/program';
import type { Context } from './context';
import { lookupName } from './lookup';
import type { Scope } from './scope';
import { scalarOf, withoutReference } from './types';
import type { Storage, Value } from './values';

interface Assigned {
  /** With whether only what a pointer of that name would point to is assigned (`p[i] = …`). */
  readonly names: Map<string, boolean>;
  /** What objects are made of that are declared there: they may refer to it, and change it until they end. */
  readonly given: Set<string>;
  /** `in >> x`, `out << x`: both sides may be changed where the left one is an object, and none where it is a number. */
  readonly streamed: { readonly object: string; readonly into: string | undefined }[];
  /** a method or unqualified function may change members of this */
  calls: boolean;
}

const cache = new WeakMap<object, Assigned>();

/** Names that a piece of syntax may assign: left sides, ++, &x, arguments (a reference may be behind), objects of methods. */
export function mayAssign(node: object): Assigned {
  const known = cache.get(node);
  if (known) return known;
  const result: Assigned = { names: new Map(), given: new Set(), streamed: [], calls: false };
  collect(node, result, 0);
  cache.set(node, result);
  return result;
}

interface Root {
  readonly name: string;
  /** Whether the way there goes through a pointer, if the name is one. */
  readonly isBehind: boolean;
}

function rootOf(node: ast.Expression): Root | undefined {
  let isBehind = false;
  let e: ast.Expression | undefined = node;
  for (let i = 0; e && i < 64; i++) {
    switch (e.kind) {
      case 'name':
        return { name: e.name.parts[e.name.parts.length - 1].name, isBehind };
      case 'index':
        isBehind = true;
        e = e.base;
        break;
      case 'member':
        isBehind ||= e.arrow;
        e = e.object;
        break;
      case 'unary':
        isBehind ||= e.operator === '*';
        e = e.operand;
        break;
      case 'cast':
        e = e.arguments[0];
        break;
      case 'binary':
        isBehind ||= e.operator !== '.*';
        e = e.left;
        break;
      case 'this':
        return { name: 'this', isBehind };
      default:
        return undefined;
    }
  }
  return undefined;
}

function note(result: Assigned, node: ast.Expression | undefined): void {
  // either may be meant
  if (node?.kind === 'conditional') for (const side of [node.then, node.else]) note(result, side);
  const root = node && rootOf(node);
  if (root?.name === 'this') result.calls = true;
  else if (root) result.names.set(root.name, root.isBehind && result.names.get(root.name) !== false);
}

function collect(value: unknown, result: Assigned, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > 300 || value instanceof Set || value instanceof Map)
    return;
  if (Array.isArray(value)) {
    for (const v of value) collect(v, result, depth + 1);
    return;
  }
  const node = value as { kind?: string };
  if (node.kind === 'assign') note(result, (value as ast.AssignExpression).left);
  if (node.kind === 'unary') {
    const unary = value as ast.UnaryExpression;
    if (unary.operator.includes('++') || unary.operator.includes('--') || unary.operator === '&')
      note(result, unary.operand);
  }
  if (node.kind === 'binary') noteStream(result, value as ast.BinaryExpression);
  if (node.kind === 'call') noteCall(result, value as ast.CallExpression);
  if (node.kind === 'asm') for (const o of (value as ast.AsmStatement).outputs) note(result, o.expression);
  if (node.kind === 'variable') noteReference(result, value as ast.VariableDeclaration);
  for (const child of Object.values(value)) collect(child, result, depth + 1);
}

function noteCall(result: Assigned, call: ast.CallExpression): void {
  for (const argument of call.arguments) note(result, argument);
  if (call.callee.kind === 'member') note(result, call.callee.object);
  // of a pointer to a member
  if (call.callee.kind === 'binary') note(result, call.callee);
  if (call.callee.kind === 'name') {
    result.names.set(call.callee.name.parts[call.callee.name.parts.length - 1].name, false);
    result.calls = true;
  }
}

function noteStream(result: Assigned, { operator, left, right }: ast.BinaryExpression): void {
  const object = operator === '>>' || operator === '<<' ? rootOf(left)?.name : undefined;
  if (object !== undefined) result.streamed.push({ object, into: operator === '>>' ? rootOf(right)?.name : undefined });
}

/** `auto& r = x;` lets later code change x through r. */
function noteReference(result: Assigned, declaration: ast.VariableDeclaration): void {
  const init = declaration.initializer;
  if (!init) return;
  if (declaration.type.kind === 'reference') {
    if (init.form === 'assign') note(result, init.value);
    return;
  }
  const value = init.form === 'assign' ? init.value : undefined;
  const given =
    init.form === 'call'
      ? init.arguments
      : init.form === 'braces'
        ? init.list.elements.map((e) => e.value)
        : value?.kind === 'call'
          ? value.arguments
          : value?.kind === 'cast' && value.form === 'braced'
            ? value.arguments
            : [];
  for (const argument of given) {
    const root = rootOf(argument);
    if (root) result.given.add(root.name);
  }
}

/** Forgets what is known of every variable that the syntax may assign. */
export function forgetAssigned(ctx: Context, nodes: readonly (object | undefined)[]): void {
  const visited = new Set<object>();
  for (const node of nodes) if (node) forget(ctx, node, ctx.scope, visited);
}

function forget(ctx: Context, node: object, scope: Scope, visited: Set<object>): void {
  if (visited.has(node) || visited.size > 200) return;
  visited.add(node);
  const { names, calls, given, streamed } = mayAssign(node);
  for (const { object, into } of streamed) {
    const entity = lookupName(ctx, scope, object);
    if (entity?.kind === 'value' && scalarOf(withoutReference(entity.value.type))) continue;
    if (entity?.kind === 'value') forgetValue(ctx, entity.value, visited);
    const target = into === undefined ? undefined : lookupName(ctx, scope, into);
    if (target?.kind === 'value') forgetValue(ctx, target.value, visited);
  }
  for (const name of ctx.unit.isHost ? given : []) {
    const entity = lookupName(ctx, scope, name);
    if (entity?.kind === 'value') forgetValue(ctx, entity.value, visited);
  }
  for (const [name, isBehind] of names) {
    const entity = lookupName(ctx, scope, name);
    // a call that is handed a constant cannot change it
    if (entity?.kind === 'value' && isConstant(entity.value)) continue;
    if (entity?.kind === 'value' && isBehind) forgetBehind(ctx, entity.value, visited);
    else if (entity?.kind === 'value') forgetValue(ctx, entity.value, visited);
    if (entity?.kind === 'global' && entity.scope.recordType) forgetThis(ctx, visited);
  }
  if (calls) forgetThis(ctx, visited);
}

const isConstant = (value: Value): boolean =>
  value.kind === 'place' &&
  value.type.isConst === true &&
  scalarOf(value.type) !== undefined &&
  value.type.kind !== 'pointer';

/** Of what is stored behind a name, `p[i]` or `f.p[i]`: a pointer stays what it is, and so do pointers that are members of a record. */
function forgetBehind(ctx: Context, value: Value, visited: Set<object>): void {
  const storage = value.kind === 'place' && value.place.kind === 'storage' ? value.place.storage : undefined;
  if (!storage) forgetValue(ctx, value, visited);
  // objects of the host's library change their members in ways that only their methods show
  else if (ctx.unit.isHost && storage.kind !== 'scalar') forgetStorage(ctx, storage, visited);
  else forgetElements(ctx, storage, visited);
}

function forgetElements(ctx: Context, storage: Storage, visited: Set<object>): void {
  if (storage.kind === 'scalar' && storage.type.kind === 'pointer') return;
  if (storage.kind === 'aggregate' && storage.type.kind === 'record' && !storage.type.record.isUnion)
    for (const member of storage.elements) forgetElements(ctx, member, visited);
  else forgetStorage(ctx, storage, visited);
}

function forgetThis(ctx: Context, visited: Set<object>): void {
  for (let s: Scope | undefined = ctx.scope; s; s = s.parent) {
    if (s.thisValue) {
      forgetValue(ctx, s.thisValue, visited);
      return;
    }
  }
}

function forgetValue(ctx: Context, value: Value, visited: Set<object>): void {
  if (value.kind === 'place' && value.place.kind === 'storage') forgetStorage(ctx, value.place.storage, visited);
  else if (value.kind === 'placePointer') for (const s of value.target.elements) forgetStorage(ctx, s, visited);
  else if (value.kind === 'lambda') forget(ctx, value.lambda.body, value.scope, visited);
  else if (value.kind === 'scalar') ctx.known.delete(value.register);
  else if (value.kind === 'pack') for (const e of value.elements) forgetValue(ctx, e, visited);
}

function forgetStorage(ctx: Context, storage: Storage, visited: Set<object>): void {
  if (storage.kind === 'scalar') ctx.known.delete(storage.register as Register);
  else if (storage.kind === 'aggregate') for (const e of storage.elements) forgetStorage(ctx, e, visited);
  else if (storage.kind === 'view') for (const leaf of storage.leaves) forgetStorage(ctx, leaf, visited);
  else forgetValue(ctx, storage.cell.value, visited);
}
