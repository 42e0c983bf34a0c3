/**
 * What runs without being called: destructors, constructors that copy and move, assignments of classes. The text does not follow when they run, so what they
 * write is not known: variables by their names, and for classes whose destructors reach out of the object (a guard that runs a lambda, a timer that adds to
 * what it refers to) whatever their objects are given.
 */
import { anywhere, assignedBy } from '../parse/anywhere';
import type { Expression, FunctionDeclaration, LambdaExpression, RecordDeclaration, Statement } from '../parse/ast';
import { isCopyOf } from '../parse/constructors';
import { lookup } from './lookup';
import { forget, referencesOf, write } from './memory';
import { type HostIndex, type IndexedFunction, lastName, localVariable, type Scope } from './scope';
import type { HostState } from './state';
import { type Cell, type LambdaValue, type StructValue, unknown } from './value';

export interface Unseen {
  /** Variables that no longer count as known. */
  readonly names: ReadonlySet<string>;
  /** Classes whose destructors change what their objects were given. */
  readonly reaching: ReadonlySet<string>;
  /** Classes whose copies count in something that they share. */
  readonly sharing: ReadonlySet<string>;
}

const known = new WeakMap<HostIndex, Unseen>();

/** Methods that leave their object as it is; all others of members may change them. */
const reading =
  /^(?:size|length|empty|begin|end|data|get|c_str|front|back|at|find|count|str|what|has_value|value|joinable|load)$/;

/** Gives something back, waits, or tells a person. */
const releasing =
  /^(?:(?:cuda|cu|cublas|cufft|curand|cusparse|nvtx)[A-Z]\w*|free|fclose|close|printf|fprintf|puts|fputs|fflush|exit|abort|terminate|reset|release|destroy|check|get_deleter|move|join|detach|assert)$/;

export function unseenOf(index: HostIndex): Unseen {
  let unseen = known.get(index);
  if (!unseen) known.set(index, (unseen = findUnseen(index)));
  return unseen;
}

function findUnseen(index: HostIndex): Unseen {
  const names = new Set<string>();
  const reaching = new Set<string>();
  const sharing = new Set<string>();
  const byName = new Map(index.functions.map(({ declaration }) => [lastName(declaration.name), declaration]));
  const records = new Map<string, RecordDeclaration>();
  for (const { record } of index.functions) if (record?.name) records.set(lastName(record.name), record);
  const nested = [...new Set(index.functions.flatMap(({ record }) => record ?? []))].flatMap(nestedMethods);
  for (const { declaration, record } of [...index.functions, ...nested]) {
    const owner = record?.name ? lastName(record.name) : (declaration.name.parts.at(-2)?.name ?? '');
    const name = lastName(declaration.name);
    const isEnd = name === `~${owner}`;
    const isCopy = name === 'operator=' || (name === owner && isCopyOf(owner, declaration));
    const isHelper = record !== undefined && isDeleterOrAllocator(record, declaration);
    // constructors: those of elements are not followed
    if (owner === '' || !(isEnd || isCopy || isHelper || name === owner)) continue;
    const writes = new Writes(record ?? records.get(owner), byName);
    writes.add(declaration, 0);
    for (const each of writes.outside) names.add(each);
    if ((isEnd || isHelper) && writes.reachesOut) reaching.add(owner);
    if ((isEnd || isCopy) && writes.counts) sharing.add(owner);
  }
  return { names, reaching, sharing };
}

/** What owning pointers and containers call where nobody sees it: a deleter (`operator()` of one pointer), an allocator's functions. */
function isDeleterOrAllocator({ members = [] }: RecordDeclaration, { name, parameters }: FunctionDeclaration): boolean {
  const own = lastName(name);
  if (own === 'allocate' || own === 'deallocate') return members.some((m) => 'name' in m && m.name === 'value_type');
  return own === 'operator()' && parameters.length === 1 && parameters[0].type.kind === 'pointer';
}

type Method = Pick<IndexedFunction, 'declaration' | 'record'>;

/** Methods of the classes inside of a class. */
function nestedMethods(outer: RecordDeclaration): Method[] {
  const records = (outer.members ?? []).flatMap((m) => (m.kind === 'record' ? [m] : []));
  return records.flatMap((record) => [
    ...(record.members ?? []).flatMap((m): Method[] =>
      m.kind === 'function' && m.body ? [{ declaration: m, record }] : [],
    ),
    ...nestedMethods(record),
  ]);
}

/** What a function of a class writes beside the object. */
class Writes {
  readonly outside = new Set<string>();
  reachesOut = false;
  counts = false;
  private readonly own: ReadonlyMap<string, boolean>;
  private readonly visited = new Set<FunctionDeclaration>();

  constructor(
    record: RecordDeclaration | undefined,
    private readonly byName: ReadonlyMap<string, FunctionDeclaration>,
  ) {
    const members = record?.members ?? [];
    const fields = members.flatMap((m): (readonly [string, boolean])[] =>
      m.kind === 'variable' && m.name && !m.specifiers.isStatic ? [[m.name, m.type.kind === 'reference']] : [],
    );
    this.own = new Map(fields);
  }

  add(declaration: FunctionDeclaration, depth: number): void {
    if (this.visited.has(declaration) || depth > 4) return;
    this.visited.add(declaration);
    const locals = new Set(declaration.parameters.flatMap(({ name }) => (name ? [name] : [])));
    anywhere(declaration.body, (n) => {
      if (n.kind === 'declaration')
        for (const d of n.declarations) if (d.kind === 'variable' && d.name) locals.add(d.name);
      return false;
    });
    anywhere(declaration.body, (n) => {
      this.note(n, locals, depth);
      return false;
    });
  }

  private note(node: Expression | Statement, locals: ReadonlySet<string>, depth: number): void {
    const target = assignedBy(node);
    if (target) this.written(target, locals, false);
    const root = target && target.kind !== 'name' && target.kind !== 'member' ? rootOf(target) : undefined;
    if (root && this.own.has(root) && node.kind === 'unary') this.counts = true;
    if (node.kind !== 'call') return;
    const { callee } = node;
    if (callee.kind === 'member') {
      const name = lastName(callee.name);
      if (reading.test(name) || releasing.test(name)) return;
      this.written(callee.object, locals, true);
      // the object of another class: `pool->give(id)`
      if (callee.arrow && callee.object.kind === 'name' && this.own.has(lastName(callee.object.name)))
        this.reachesOut = true;
    } else if (callee.kind === 'name') {
      const name = lastName(callee.name);
      if (this.own.has(name)) this.reachesOut = true;
      const body = this.byName.get(name);
      if (body && !releasing.test(name)) this.add(body, depth + 1);
    }
  }

  /** @param isObject the target is an object that a method is called of */
  private written(target: Expression, locals: ReadonlySet<string>, isObject: boolean): void {
    const root = rootOf(target);
    if (!root || locals.has(root)) return;
    const isReference = this.own.get(root);
    if (isReference === undefined) this.outside.add(root);
    else if (isReference || (!isObject && target.kind === 'unary')) this.reachesOut = true;
  }
}

/** The variable that a place is a part of. */
export function rootOf(expression: Expression): string | undefined {
  let at = expression;
  for (;;) {
    if (at.kind === 'name') return lastName(at.name);
    if (at.kind === 'member') {
      if (at.object.kind === 'this') return lastName(at.name);
      at = at.object;
    } else if (at.kind === 'index') at = at.base;
    else if (at.kind === 'unary') at = at.operand;
    else if (at.kind === 'call') at = at.callee;
    else return undefined;
  }
}

/** From here on nothing is known of a variable, whatever is stored in it. */
export function lose(state: HostState, cell: Cell, reason: string): void {
  cell.lost = reason;
  forget(state, cell, reason);
  if (cell.value.kind === 'container') lose(state, cell.value.size, reason);
  if (cell.value.kind === 'struct') for (const field of cell.value.fields.values()) lose(state, field, reason);
}

/** What an object of such a class was given may be changed where it ends: variables, and what lambdas assign. */
export function loseGiven(
  state: HostState,
  type: string,
  given: readonly { value: Cell['value']; cell?: Cell }[],
): void {
  if (!unseenOf(state.index).reaching.has(type)) return;
  for (const { value, cell } of given) {
    const reason = `changed where a ${type} ends`;
    if (cell) lose(state, cell, reason);
    if (value.kind === 'pointer' && !value.to.isDevice)
      for (const held of value.to.cells.values()) lose(state, held, reason);
    if (value.kind === 'lambda') loseAssigned(state, value.expression, value.scope, value.captures);
  }
}

/** What an object's pointers lead to that counts its copies. */
export function loseShared(state: HostState, type: string, object: StructValue): void {
  if (!unseenOf(state.index).sharing.has(type)) return;
  for (const { value } of object.fields.values())
    if (value.kind === 'pointer' && !value.to.isDevice)
      for (const cell of value.to.cells.values()) lose(state, cell, `counted where a ${type} is copied or ends`);
}

/** What a lambda assigns of the variables around it. */
export function loseAssigned(
  state: HostState,
  expression: LambdaExpression,
  scope: Scope,
  captures: ReadonlyMap<string, Cell>,
): void {
  for (const name of assignedIn(expression)) {
    const found = captures.get(name) ?? localVariable(scope, name) ?? lookup(state, name, scope);
    const cell = found && ('kind' in found ? (found.kind === 'cell' ? found.cell : undefined) : found);
    if (cell) lose(state, cell, `changed by a lambda that is kept`);
  }
}

/** What a deleter that a pointer keeps assigns: a lambda's variables, those of the program in a function. */
export function loseDeleter(state: HostState, value: Cell['value']): void {
  if (value.kind === 'lambda') loseAssigned(state, value.expression, value.scope, value.captures);
  if (value.kind !== 'function') return;
  for (const { declaration, scope } of value.overloads)
    for (const name of assignedIn(declaration)) {
      const found = lookup(state, name, scope);
      if (found?.kind === 'cell') lose(state, found.cell, 'changed by a deleter');
    }
}

/** The same for one call that is not followed. */
export function forgetAssigned(state: HostState, { expression, scope, captures }: LambdaValue): void {
  for (const name of assignedIn(expression)) {
    const cell = captures.get(name) ?? localVariable(scope, name);
    if (cell) forget(state, cell, 'changed by a lambda');
  }
}

const assigned = new WeakMap<object, ReadonlySet<string>>();

function assignedIn(expression: LambdaExpression | FunctionDeclaration): ReadonlySet<string> {
  let names = assigned.get(expression);
  if (!names) {
    const found = new Set<string>();
    anywhere(expression.body, (n) => {
      const target = assignedBy(n) ?? (n.kind === 'call' && n.callee.kind === 'member' ? n.callee.object : undefined);
      const root = target && rootOf(target);
      if (root) found.add(root);
      return false;
    });
    assigned.set(expression, (names = found));
  }
  return names;
}

/** What was moved from holds something else now. */
export function leaveEmpty(state: HostState, cell: Cell): void {
  const { value } = cell;
  const reason = `${cell.name ?? 'it'} was moved from`;
  const isPointer = value.kind === 'container' && value.type.kind === 'container' && value.type.name === 'unique_ptr';
  if (isPointer) write(state, cell, unknown(reason, { type: cell.type }));
  else if (value.kind === 'struct') {
    const references = referencesOf(value);
    for (const [name, field] of value.fields) if (!references.has(name)) leaveField(state, field, reason);
  } else if (value.kind !== 'number') leaveField(state, cell, reason);
}

function leaveField(state: HostState, cell: Cell, reason: string): void {
  if (cell.value.kind === 'pointer') write(state, cell, unknown(reason, { type: cell.type }));
  else forget(state, cell, reason);
}
