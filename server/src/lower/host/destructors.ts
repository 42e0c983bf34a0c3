/**
 * Destructors of the host's local objects, where they do more than give memory back: a guard that counts, one that calls a function, one that notes an
 * end. They run where a scope ends, and on the way out of it by `return`, `break` and `continue`, the last object first. What they give back stays, since
 * moves inside of containers are not followed. Those of temporaries, of elements of containers and of what smart pointers hold are not run.
 */
import { anywhere, assignedBy } from '../../parse/anywhere';
import type * as ast from '../../parse/ast';
import { subobject } from '../bases';
import { callFunction } from '../calls';
import type { Context } from '../context';
import { recordOf } from '../records';
import type { RecordInfo, Type } from '../types';
import type { Value } from '../values';

/** A local object that is destroyed where its scope ends. */
export interface Local {
  readonly value: Value;
  readonly node: ast.Node;
}

/** Notes a local object, if destroying it does something. */
export function noteLocal(ctx: Context, value: Value, node: ast.Node): void {
  const record = ctx.unit.isHost ? recordOf(value.type) : undefined;
  if (record && value.kind === 'place' && doesSomething(record)) ctx.locals.push({ value, node });
}

/** Destroys what was declared since there were so many objects; they stay noted for other ways out. */
export function destroySince(ctx: Context, count: number, but?: Value): void {
  if (ctx.locals.length <= count || !ctx.builder.reachable) return;
  // what a destructor declares is its own business
  const leaving = ctx.locals.slice(count).reverse();
  for (const { value, node } of leaving) if (!but || !isSamePlace(value, but)) destroy(ctx, value, node, 0);
}

/** The same where a scope ends: they are gone. */
export function leaveLocals(ctx: Context, count: number): void {
  destroySince(ctx, count);
  ctx.locals.length = Math.min(ctx.locals.length, count);
}

function isSamePlace(a: Value, b: Value): boolean {
  if (a.kind !== 'place' || b.kind !== 'place') return false;
  if (a.place.kind === 'storage') return b.place.kind === 'storage' && a.place.storage === b.place.storage;
  return b.place.kind === 'memory' && a.place.address === b.place.address && a.place.offset === b.place.offset;
}

const DEEPEST = 8;

function destroy(ctx: Context, value: Value, node: ast.Node, depth: number): void {
  const record = recordOf(value.type);
  if (!record || depth > DEEPEST) return;
  const own = destructorOf(record);
  const outer = ctx.keepsMemory;
  ctx.keepsMemory = true;
  if (own && record.scope && hasEffect(own, record))
    callFunction(ctx, { declaration: own, scope: record.scope, templateArguments: [] }, [], value, node);
  for (const field of record.fields.toReversed()) {
    const inner = recordOf(field.type);
    const part = inner && doesSomething(inner) ? subobject(value, field) : undefined;
    if (part) destroy(ctx, part, node, depth + 1);
  }
  ctx.keepsMemory = outer;
}

function destructorOf(record: RecordInfo): ast.FunctionDeclaration | undefined {
  const name = record.declaration?.name?.parts.at(-1)?.name;
  return name === undefined ? undefined : record.methods.get(`~${name}`)?.find((m) => m.body);
}

const answers = new WeakMap<RecordInfo, boolean>();

/** Whether destroying an object does anything that can be seen behind it. */
function doesSomething(record: RecordInfo, depth = 0): boolean {
  let does = answers.get(record);
  if (does === undefined) {
    const own = destructorOf(record);
    const isOf = (type: Type) => type.kind === 'record' && depth < DEEPEST && doesSomething(type.record, depth + 1);
    does = (own !== undefined && hasEffect(own, record)) || record.fields.some(({ type }) => isOf(type));
    answers.set(record, does);
  }
  return does;
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
