/**
 * Destructors of the host's objects, where they do more than give memory back: a guard that counts, one that calls a function, one that notes an
 * end, a shared pointer. Local objects are destroyed where their scope ends, and on the way out of it by `return`, `break` and `continue`, the last object
 * first; temporaries where the statement ends; what containers and pointers hold by the library's own text (`__warplens_end`). What they give back stays.
 * What optional objects and variants hold is not destroyed.
 */
import { anywhere, assignedBy } from '../../parse/anywhere';
import type * as ast from '../../parse/ast';
import { pathToBase, subobject } from '../bases';
import { callFunction } from '../calls';
import { choice } from '../conditional';
import type { Context } from '../context';
import { arrayElements } from '../places';
import { dereference } from '../pointers';
import { recordOf } from '../records';
import { type RecordInfo, type Type, withoutReference } from '../types';
import type { Value } from '../values';
import { isOfLibrary } from './only-read';
import { classesMade, objectAs } from './virtual-calls';

/** An object that is destroyed where its scope or statement ends. */
export interface Local {
  readonly value: Value;
  readonly node: ast.Node;
}

/** Notes a local object, if destroying it does something. */
export function noteLocal(ctx: Context, value: Value, node: ast.Node): void {
  if (isDestroyed(ctx, value.type) && value.kind === 'place') ctx.locals.push({ value, node });
}

/** Notes an object that lives until its statement ends. */
export function noteTemporary(ctx: Context, value: Value, node: ast.Node): void {
  if (isDestroyed(ctx, value.type) && value.kind === 'place') ctx.temporaries.push({ value, node });
}

/** Whether anything can be seen behind the end of an object. */
export const isDestroyed = (ctx: Context, type: Type): boolean => ctx.unit.isHost === true && endsSeen(ctx, type, 0);

/** Destroys what was declared since there were so many objects; they stay noted for other ways out. */
export function destroySince(ctx: Context, count: number, but?: Value): void {
  if (ctx.locals.length <= count || !ctx.builder.reachable) return;
  // what a destructor declares is its own business
  const leaving = ctx.locals.slice(count).reverse();
  for (const { value, node } of leaving) if (!but || !isSamePlace(value, but)) endObject(ctx, value, node);
}

/** The same where a scope ends: they are gone. */
export function leaveLocals(ctx: Context, count: number): void {
  destroySince(ctx, count);
  ctx.locals.length = Math.min(ctx.locals.length, count);
}

/** Evaluates something, and destroys the temporaries that it makes. */
export function withTemporaries<T>(ctx: Context, run: () => T): T {
  const { length: before } = ctx.temporaries;
  const result = run();
  endTemporaries(ctx, before);
  return result;
}

/** Destroys the temporaries that were made since there were so many. */
export function endTemporaries(ctx: Context, before: number): void {
  const ending = ctx.temporaries.splice(before).reverse();
  if (ctx.builder.reachable) for (const { value, node } of ending) endObject(ctx, value, node);
}

function isSamePlace(a: Value, b: Value): boolean {
  if (a.kind !== 'place' || b.kind !== 'place') return false;
  if (a.place.kind === 'storage') return b.place.kind === 'storage' && a.place.storage === b.place.storage;
  return b.place.kind === 'memory' && a.place.address === b.place.address && a.place.offset === b.place.offset;
}

const DEEPEST = 8;

/** Destroys an object, by the class that it is of where its destructor is virtual. */
export function endObject(ctx: Context, value: Value, node: ast.Node): void {
  const outer = ctx.keepsMemory;
  ctx.keepsMemory = true;
  endWhole(ctx, value, node);
  ctx.keepsMemory = outer;
}

/** `delete p`: what it leads to, if it leads anywhere. */
export function endBehind(ctx: Context, pointer: Value, node: ast.Node): void {
  const type = withoutReference(pointer.type);
  if (type.kind !== 'pointer' || !isDestroyed(ctx, type.to)) return;
  if (pointer.kind !== 'scalar') return;
  const { builder } = ctx;
  const condition = builder.compare('ne', 'i64', pointer.register, builder.constant('i64', 0));
  const nothing = (): Value => ({ kind: 'void', type: { kind: 'void' } });
  choice(
    ctx,
    node,
    condition,
    () => {
      endObject(ctx, dereference(ctx, pointer, node), node);
      return nothing();
    },
    nothing,
  );
}

/** Before a place is assigned anew by what is not its class's own operator, its members end. */
export function endMembers(ctx: Context, value: Value, node: ast.Node): void {
  const record = recordOf(value.type);
  if (!record || !isDestroyed(ctx, value.type)) return;
  if (isOfLibrary({ kind: 'record', record })) endObject(ctx, value, node);
  else
    for (const field of record.fields) {
      const part = isDestroyed(ctx, field.type) ? subobject(value, field) : undefined;
      if (part) endMembers(ctx, part, node);
    }
}

function endWhole(ctx: Context, value: Value, node: ast.Node): void {
  const record = recordOf(value.type);
  if (!record || !hasVirtualEnd(record)) {
    destroy(ctx, value, node, 0);
    return;
  }
  const ways = objectAs(ctx, value, record, node);
  const from = (index: number): Value => {
    const way = ways.at(index);
    const none: Value = { kind: 'void', type: { kind: 'void' } };
    if (!way || index === ways.length) return none;
    const end = () => {
      destroy(ctx, way.self, node, 0);
      return none;
    };
    return choice(ctx, node, way.condition, end, () => from(index + 1));
  };
  from(0);
}

function destroy(ctx: Context, value: Value, node: ast.Node, depth: number): void {
  const array = withoutReference(value.type).kind === 'array' ? arrayElements(value) : undefined;
  for (const element of array?.toReversed() ?? []) destroy(ctx, element, node, depth + 1);
  const record = recordOf(value.type);
  if (!record || depth > DEEPEST) return;
  const own = destructorOf(record);
  const isLibrarys = isOfLibrary({ kind: 'record', record });
  if (own && record.scope && (isLibrarys || hasEffect(own, record)))
    callFunction(ctx, { declaration: own, scope: record.scope, templateArguments: [] }, [], value, node);
  if (own && isLibrarys) return;
  for (const field of record.fields.toReversed()) {
    const part = endsSeen(ctx, field.type, 0) ? subobject(value, field) : undefined;
    if (part) destroy(ctx, part, node, depth + 1);
  }
}

const destructorsOf = ({ declaration, methods }: RecordInfo): readonly ast.FunctionDeclaration[] =>
  methods.get(`~${declaration?.name?.parts.at(-1)?.name}`) ?? [];

const destructorOf = (record: RecordInfo): ast.FunctionDeclaration | undefined =>
  destructorsOf(record).find((m) => m.body);

/** Its own or a base's. */
const hasVirtualEnd = (record: RecordInfo, depth = 0): boolean =>
  destructorsOf(record).some((m) => m.specifiers.isVirtual) ||
  (depth < DEEPEST &&
    record.fields.some(
      ({ isBase, type }) => isBase && type.kind === 'record' && hasVirtualEnd(type.record, depth + 1),
    ));

interface Answer {
  readonly ends: boolean;
  /** Of so many classes that objects were made of. */
  readonly of: number;
}

const answers = new WeakMap<RecordInfo, Answer>();
const LARGEST_ARRAY = 64;

function endsSeen(ctx: Context, type: Type, depth: number): boolean {
  if (depth > DEEPEST) return false;
  if (type.kind === 'array') return (type.count ?? 0) <= LARGEST_ARRAY && endsSeen(ctx, type.of, depth + 1);
  if (type.kind !== 'record') return false;
  const { record } = type;
  const made = classesMade(ctx);
  const known = answers.get(record);
  if (known && (known.ends || known.of === made.size)) return known.ends;
  // what it holds of its own class is asked about elsewhere
  answers.set(record, { ends: false, of: made.size });
  const ends = isOfLibrary({ kind: 'record', record })
    ? librarysEnds(ctx, record, depth)
    : ownEnds(ctx, record, depth) || (hasVirtualEnd(record) && derivedEnd(ctx, record, depth));
  answers.set(record, { ends, of: made.size });
  return ends;
}

function ownEnds(ctx: Context, record: RecordInfo, depth: number): boolean {
  const own = destructorOf(record);
  return (own !== undefined && hasEffect(own, record)) || record.fields.some((f) => endsSeen(ctx, f.type, depth + 1));
}

const derivedEnd = (ctx: Context, record: RecordInfo, depth: number): boolean =>
  [...classesMade(ctx).keys()].some(
    (derived) => derived !== record && pathToBase(derived, record) && ownEnds(ctx, derived, depth + 1),
  );

/** What holds other objects only sometimes. */
const untold = /^(?:optional|__alternatives|variant)\b/;

/** Containers end what they hold, shared pointers are counted where anybody asks for it. */
function librarysEnds(ctx: Context, record: RecordInfo, depth: number): boolean {
  if (untold.test(record.name)) return false;
  if (record.methods.has('__counted') && (countsMatter(ctx) || sharesDeleters(ctx))) return true;
  const held = record.templateArguments ?? [];
  if (record.methods.has('__deletes') && held.some((a) => a.kind === 'type' && deletesSeen(ctx, a.type, depth)))
    return true;
  if (destructorOf(record)) return held.some((a) => a.kind === 'type' && endsSeen(ctx, a.type, depth + 1));
  return record.fields.some((f) => endsSeen(ctx, f.type, depth + 1));
}

/** Whether a deleter or an allocator does more than give back what it is given; of one that only memory tells nobody knows. */
function deletesSeen(ctx: Context, type: Type, depth: number): boolean {
  if (type.kind === 'record') {
    const { methods } = type.record;
    const calls = isOfLibrary(type) ? [] : ['operator()', 'deallocate'].flatMap((name) => methods.get(name) ?? []);
    return calls.some((method) => hasEffect(method, type.record)) || endsSeen(ctx, type, depth + 1);
  }
  const called = type.kind === 'pointer' ? type.to : type;
  return called.kind === 'callable' || called.kind === 'lambda' || called.kind === 'function';
}

const askedCounts = new WeakMap<object, boolean>();

function countsMatter({ unit }: Context): boolean {
  let asked = askedCounts.get(unit);
  if (asked === undefined)
    askedCounts.set(unit, (asked = unit.tokens.text.some((word) => word === 'use_count' || word === 'weak_ptr')));
  return asked;
}

const sharedDeleters = new WeakMap<object, boolean>();

/** Whether some shared pointer is made with a deleter that may do more than give back: `shared_ptr<T>(p, [&](T*) { ++freed; })`. */
export function sharesDeleters({ unit }: Context): boolean {
  let shares = sharedDeleters.get(unit);
  if (shares === undefined) {
    const { text } = unit.tokens;
    shares = text.some((word, at) => word === 'shared_ptr' && deleterSeen(text, at));
    sharedDeleters.set(unit, shares);
  }
  return shares;
}

/** The second argument behind \`shared_ptr<…> name(\`, if it is no plain lambda that only calls what gives back. */
function deleterSeen(text: readonly string[], at: number): boolean {
  let next = behindAngles(text, at + 1);
  if (/^\w/.test(text[next] ?? '')) next++;
  if (text[next] !== '(' && text[next] !== '{') return false;
  let depth = 0;
  let isSecond = false;
  for (; next < text.length; next++) {
    const word = text[next];
    if (/^[([{]$/.test(word)) depth++;
    else if (/^[)\]}]$/.test(word) && --depth === 0) return false;
    else if (word === ',' && depth === 1) {
      if (text[next + 1] !== '[') return true;
      isSecond = true;
    } else if (
      isSecond &&
      (/^(?:\+\+|--|[-+*/|&^]?=)$/.test(word) ? text[next - 1] !== '[' : isCallOfMember(text, next))
    )
      return true;
  }
  return false;
}

const isCallOfMember = (text: readonly string[], at: number): boolean =>
  (text[at] === '.' || text[at] === '->') && text[at + 2] === '(' && !releasing.test(text[at + 1]);

/** Of a template's arguments. */
function behindAngles(text: readonly string[], first: number): number {
  if (text[first] !== '<') return first;
  let depth = 0;
  for (let at = first; at < text.length; at++) {
    if (text[at] === '<') depth++;
    else if (text[at] === '>') depth--;
    else if (text[at] === '>>') depth -= 2;
    if (depth <= 0) return at + 1;
  }
  return text.length;
}

/** Gives something back, waits, or tells a person. */
const releasing =
  /^(?:cuda|cu|cublas|cufft|curand|cusparse|nvtx)[A-Z]\w*|^(?:free|fclose|close|printf|fprintf|puts|fputs|fflush|exit|abort|terminate|reset|release|get|destroy|check|get_deleter|move)$/;

/** Assigns to something else than the object, or calls something that may. */
function hasEffect({ body }: ast.FunctionDeclaration, record: RecordInfo): boolean {
  const own = new Set(record.fields.flatMap(({ name, type }) => (type.kind === 'reference' ? [] : [name])));
  return anywhere(body, (n) => {
    if (n.kind === 'call') {
      const { callee } = n;
      const name =
        callee.kind === 'name'
          ? callee.name.parts.at(-1)?.name
          : callee.kind === 'member'
            ? callee.name.parts.at(-1)?.name
            : undefined;
      return name === undefined || !releasing.test(name);
    }
    const target = assignedBy(n);
    if (!target) return false;
    if (target.kind === 'member' && target.object.kind === 'this') return false;
    return target.kind !== 'name' || !own.has(target.name.parts.at(-1)?.name ?? '');
  });
}
