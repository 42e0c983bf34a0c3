/**
 * What one pass of a loop costs NVVM in instructions where the number of passes is known only at run time: arithmetic, loads and
 * stores, and the addresses that change from pass to pass. What the loop does not change is free, and so is what was computed
 * before in the pass. Only bodies of assignments, declarations and conditions over scalars and arrays in memory are told.
 * Evidence: whether such loops are written four times, two times or not at all, with and without `#pragma unroll`, which
 * changes nothing (PTX of 3,200 loops of 91 kinds, nvcc 13.0; 66 of them come out otherwise).
 */
import { anywhere } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import type { Context } from './context';
import { constantIn } from './language-constants';
import { lookupName } from './lookup';
import { isWrittenOutWithin, LIBRARY, plainTrips } from './loop-size';
import { isInMemory } from './plain-cost';
import { assignedNames } from './trip-count';
import { declaredWidth, vectorWidth } from './vector-width';

/** Functions that are a few instructions. */
const CALLS: Readonly<Record<string, number>> = {
  fmaxf: 1,
  fminf: 1,
  fabsf: 1,
  floorf: 1,
  ceilf: 1,
  truncf: 1,
  rintf: 1,
  roundf: 3,
  sqrtf: 1,
  rsqrtf: 1,
  exp2f: 1,
  __expf: 2,
  __logf: 2,
  __sinf: 1,
  __cosf: 1,
  __fdividef: 1,
  fmaf: 1,
  __popc: 1,
  __clz: 1,
  max: 2,
  min: 2,
  abs: 3,
  sqrt: 4,
  powf: 60,
  fmodf: 95,
  isnan: 2,
  exp: 60,
  pow: 95,
  __half2float: 0,
  make_float2: 0,
  make_float3: 0,
  make_float4: 0,
  __float2half: 0,
};

/** How much more a function of the library is here than in loops of known length, where parts of it become constants. */
const LIBRARY_MORE = 2;

const DIVISION = 4;
const SELECTION = 1;
/** A condition around what reads or writes memory. */
const BRANCH = 2;
/** Passes of a loop in the body that are looked at. */
const MOST_PASSES = 64;
const DEEPEST_CALL = 4;
const MOST_STATEMENTS = 5_000;

/** Not of the kind that is told. */
const OPEN = Number.NaN;

interface Pass {
  readonly ctx: Context;
  /** Names that are assigned in a pass. */
  readonly assigned: ReadonlySet<string>;
  /** Names that have another value in each pass: those, the counter and what the pass declares. */
  readonly changing: Set<string>;
  /** Of those, pointers. */
  readonly pointers: Set<string>;
  /** What was computed in the pass, by its text. */
  readonly known: Set<string>;
  /** Counters of loops in the body, which is written out for each of their values before. */
  readonly counters: Map<string, number>;
  /** Of vectors that the pass declares, how many numbers they are. */
  readonly widths: Map<string, number>;
  /** Functions of the user's around. */
  readonly depth: number;
  /** Statements that are still looked at: loops in loops and calls of calls end here. */
  readonly work: { left: number };
  /** The counter of a loop of known length, which is not kept wide. */
  readonly narrowCounter: string | undefined;
}

/** Instructions of a pass, without those that count the passes; undefined where the body is not of the kind that is told. */
export const passCost = (ctx: Context, loop: ast.ForStatement, counter: string): number | undefined =>
  costOf(ctx, loop, counter, undefined);

/**
 * The same with what counts them, of a loop of known length as NVVM first looks at it: the counter is not wide yet, shared memory is addressed with 32 bits, and
 * what indices add that does not change is one sum. Also undefined where the kernel's own arrays are read, which the copies keep in registers
 * (PTX of 47 kinds of bodies with 9 to 133 passes each, nvcc 13.0: 40 come out to the instruction, three with one less, four with one or two more).
 */
export function firstPassCost(ctx: Context, loop: ast.ForStatement, counter: string): number | undefined {
  const cost = costOf(ctx, loop, counter, counter);
  return cost === undefined ? undefined : cost + 1;
}

function costOf(
  ctx: Context,
  { body }: ast.ForStatement,
  counter: string,
  narrowCounter: string | undefined,
): number | undefined {
  const assigned = assignedNames(body);
  const changing = new Set([...assigned, counter]);
  const own = {
    pointers: new Set<string>(),
    known: new Set<string>(),
    counters: new Map<string, number>(),
    widths: new Map<string, number>(),
  };
  const cost = ofStatement(
    { ctx, assigned, changing, ...own, depth: 0, work: { left: MOST_STATEMENTS }, narrowCounter },
    body,
  );
  return Number.isNaN(cost) ? undefined : cost;
}

const sum = (costs: readonly number[]): number => costs.reduce((a, b) => a + b, 0);

function ofStatement(pass: Pass, node: ast.Statement): number {
  if (--pass.work.left < 0) return OPEN;
  switch (node.kind) {
    case 'compound':
      return sum(node.body.map((s) => ofStatement(pass, s)));
    case 'expression':
      return ofExpression(pass, node.expression);
    case 'if': {
      if (node.condition.kind === 'variable') return OPEN;
      const decided = constantIn(pass, node.condition);
      if (decided !== undefined) {
        const taken = decided !== 0 ? node.then : node.else;
        return taken ? ofStatement(pass, taken) : 0;
      }
      const otherwise = node.else ? ofStatement(pass, node.else) : 0;
      const condition = ofExpression(pass, node.condition);
      const then = ofStatement(pass, node.then);
      return (touchesMemory(node) ? BRANCH : SELECTION) + condition + then + otherwise;
    }
    case 'for':
      return ofLoop(pass, node);
    case 'return':
      return pass.depth > 0 && node.value ? ofExpression(pass, node.value) : OPEN;
    case 'declaration':
      return sum(node.declarations.map((d) => ofDeclaration(pass, d)));
    default:
      return OPEN;
  }
}

/** A loop of known length, written out before the loop around it is looked at: what it does not change stays in it until then. */
function ofLoop(pass: Pass, node: ast.ForStatement): number {
  const own = node.initializer?.kind === 'declaration' ? node.initializer.declarations[0] : undefined;
  const name = own?.kind === 'variable' ? own.name : undefined;
  const trips = name !== undefined && isWrittenOutWithin(pass.ctx, node) ? plainTrips(pass.ctx, node) : undefined;
  const start =
    own?.kind === 'variable' && own.initializer?.form === 'assign' ? knownValue(pass, own.initializer.value) : 0;
  if (name === undefined || trips === undefined || start === undefined || trips > MOST_PASSES) return OPEN;
  let cost = 0;
  for (let value = start; value < trips && !Number.isNaN(cost); value++) {
    pass.counters.set(name, value);
    cost += ofStatement(pass, node.body);
  }
  pass.counters.delete(name);
  return cost;
}

const memoryCache = new WeakMap<ast.Node, boolean>();

function touchesMemory(node: ast.Statement): boolean {
  let touches = memoryCache.get(node);
  if (touches === undefined) memoryCache.set(node, (touches = anywhere(node, (n) => n.kind === 'index')));
  return touches;
}

function ofDeclaration(pass: Pass, node: ast.Declaration): number {
  if (node.kind !== 'variable' || node.name === undefined) return OPEN;
  if (node.type.kind === 'array' || node.type.kind === 'reference') return OPEN;
  // another variable of the same name
  if (pass.changing.has(node.name)) pass.known.clear();
  pass.changing.add(node.name);
  if (node.type.kind === 'pointer') pass.pointers.add(node.name);
  pass.widths.set(node.name, declaredWidth(node.type));
  if (!node.initializer) return 0;
  return node.initializer.form === 'assign' ? ofExpression(pass, node.initializer.value) : OPEN;
}

/** What is the same in every pass, or was computed before, costs nothing. */
function ofExpression(pass: Pass, node: ast.Expression): number {
  if (node.kind === 'assign') return ofAssignment(pass, node);
  if (node.kind === 'integer' || node.kind === 'float') return 0;
  if (node.kind === 'name') return ofName(pass, node);
  if (node.kind === 'unary' && /\+\+|--/.test(node.operator)) return 1 + ofExpression(pass, node.operand);
  if (knownValue(pass, node) !== undefined || isSame(pass, node)) return 0;
  const text = textOf(pass, node);
  if (pass.known.has(text)) return 0;
  const cost = ofOperation(pass, node);
  if (isFixedInPass(pass, node)) pass.known.add(text);
  return cost;
}

function ofOperation(pass: Pass, node: ast.Expression): number {
  switch (node.kind) {
    case 'unary':
      if (node.operator === '*') return 1 + ofExpression(pass, node.operand);
      return /^[+\-~!]$/.test(node.operator)
        ? (node.operator === '+' ? 0 : 1) + ofExpression(pass, node.operand)
        : OPEN;
    case 'binary':
      return ofBinary(pass, node);
    case 'conditional': {
      const arms = ofExpression(pass, node.then) + ofExpression(pass, node.else);
      return SELECTION + ofExpression(pass, node.condition) + arms;
    }
    case 'call':
      return ofCall(pass, node);
    case 'cast':
      return node.arguments.length === 1 && node.type.kind === 'builtin'
        ? 1 + ofExpression(pass, node.arguments[0])
        : OPEN;
    case 'index':
      return 1 + ofPlace(pass, node);
    case 'member':
      return ofMember(pass, node);
    default:
      return OPEN;
  }
}

function ofBinary(pass: Pass, node: ast.Expression & { kind: 'binary' }): number {
  const { operator } = node;
  const a = knownValue(pass, node.left);
  const b = knownValue(pass, node.right);
  const isNeutral = operator === '*' ? a === 1 || b === 1 : operator === '+' ? a === 0 || b === 0 : b === 0;
  const operation = operator === '/' || operator === '%' ? DIVISION : isNeutral ? 0 : 1;
  return operation * widthOf(pass, node) + ofExpression(pass, node.left) + ofExpression(pass, node.right);
}

const widthOf = ({ ctx, widths }: Pass, node: ast.Expression): number => vectorWidth(ctx, widths, node);

/** What the counters of loops in the body make of an expression. */
function knownValue(pass: Pass, node: ast.Expression): number | undefined {
  switch (node.kind) {
    case 'integer':
      return Number(node.value);
    case 'name':
      return pass.counters.get(node.name.parts.at(-1)?.name ?? '');
    case 'binary': {
      const a = knownValue(pass, node.left);
      const b = knownValue(pass, node.right);
      if (node.operator === '*' && (a === 0 || b === 0)) return 0;
      if (a === undefined || b === undefined) return undefined;
      if (node.operator === '+') return a + b;
      if (node.operator === '-') return a - b;
      return node.operator === '*' ? a * b : undefined;
    }
    default:
      return undefined;
  }
}

function ofAssignment(pass: Pass, node: ast.Expression & { kind: 'assign' }): number {
  const { left, operator } = node;
  const isMemory = left.kind === 'index' ? !isRegister(pass, left) : left.kind === 'unary' && left.operator === '*';
  const operation =
    operator === '=' ? 0 : (operator === '/=' || operator === '%=' ? DIVISION : 1) * widthOf(pass, left);
  const value = ofExpression(pass, node.right);
  if (!isMemory) return operation + value + ofExpression(pass, left);
  const isLoaded = operator !== '=' && !pass.known.has(textOf(pass, left));
  const place =
    left.kind === 'index' ? ofPlace(pass, left) : left.kind === 'unary' ? ofExpression(pass, left.operand) : OPEN;
  // what was loaded before may be changed
  for (const text of pass.known) if (text.includes('[')) pass.known.delete(text);
  if (isFixedInPass(pass, left)) pass.known.add(textOf(pass, left));
  return 1 + (isLoaded ? 1 : 0) + operation + place + value;
}

/** A function of the user's that has one definition, inlined. */
function ofInlined(pass: Pass, name: string): number {
  const entity = pass.depth < DEEPEST_CALL ? lookupName(pass.ctx, pass.ctx.scope, name) : undefined;
  const defined = entity?.kind === 'functions' ? entity.declarations.filter(({ body }) => body) : [];
  const [{ body, parameters }] = defined.length === 1 ? defined : [{ body: undefined, parameters: [] }];
  if (!body) return OPEN;
  const names = parameters.map((parameter) => parameter.name ?? '');
  const pointers = parameters.flatMap(({ type, name: own }) => (type.kind === 'pointer' ? [own ?? ''] : []));
  const changing = new Set([...assignedNames(body), ...names]);
  const inner = { ...pass, assigned: changing, changing, pointers: new Set(pointers), known: new Set<string>() };
  return ofStatement({ ...inner, counters: new Map(), widths: new Map(), depth: pass.depth + 1 }, body);
}

function ofCall(pass: Pass, node: ast.CallExpression): number {
  const name = node.callee.kind === 'name' ? (node.callee.name.parts.at(-1)?.name ?? '') : '';
  const few = CALLS[name] as number | undefined;
  const library = LIBRARY[name] as number | undefined;
  const cost = name === '__ldg' ? 0 : (few ?? (library === undefined ? ofInlined(pass, name) : library + LIBRARY_MORE));
  return (
    cost * widthOf(pass, node) +
    sum(node.arguments.map((a) => (name === '__ldg' ? ofLoaded(pass, a) : ofExpression(pass, a))))
  );
}

/** `__ldg(&p[i])`, `__ldg(p + i)` */
function ofLoaded(pass: Pass, node: ast.Expression): number {
  if (node.kind === 'unary' && node.operator === '&') return ofExpression(pass, node.operand);
  return 2 + ofExpression(pass, node);
}

/** `a[i].x`, `v.x` */
function ofMember(pass: Pass, node: ast.Expression & { kind: 'member' }): number {
  const { object } = node;
  if (object.kind === 'index') return 1 + ofPlace(pass, object);
  return object.kind === 'name' && !node.arrow ? 0 : OPEN;
}

/** The address of an element: the sum, an index made 64 bits wide, and the pointer. */
function ofPlace(pass: Pass, node: ast.IndexExpression): number {
  const indices: ast.Expression[] = [];
  let base: ast.Expression = node;
  for (; base.kind === 'index'; base = base.base) indices.push(...base.indices);
  if (base.kind !== 'name') return OPEN;
  const isOwn = pass.pointers.has(base.name.parts.at(-1)?.name ?? '');
  // no load
  if (isRegister(pass, node))
    return pass.narrowCounter !== undefined ? OPEN : sum(indices.map((index) => ofExpression(pass, index))) - 1;
  if (!isOwn && !isInMemory(pass.ctx, base)) return OPEN;
  if (!isOwn && indices.every((index) => isSame(pass, index))) return 0;
  const isShared = !isOwn && pass.narrowCounter !== undefined && isSharedArray(pass.ctx, base);
  const of = pass.narrowCounter === undefined ? ofIndex : isShared ? ofSum : ofNarrowIndex;
  return (isOwn ? 2 : 1) + sum(indices.map((index) => of(pass, index)));
}

/** Of an index that is made 64 bits wide in the loop, the counter as well. */
function ofNarrowIndex(pass: Pass, index: ast.Expression): number {
  const text = `wide ${textOf(pass, index)}`;
  const cost = ofSum(pass, index);
  if (isSame(pass, index) || knownValue(pass, index) !== undefined || pass.known.has(text)) return cost;
  if (isFixedInPass(pass, index)) pass.known.add(text);
  return 1 + cost;
}

/** What is the same in every pass is one addend. */
function ofSum(pass: Pass, index: ast.Expression): number {
  const text = textOf(pass, index);
  if (index.kind !== 'binary' || isSame(pass, index) || pass.known.has(text)) return ofExpression(pass, index);
  const addends = addendsOf(index);
  if (addends.length === 1) return ofExpression(pass, index);
  const changing = addends.filter((each) => !isSame(pass, each));
  if (isFixedInPass(pass, index)) pass.known.add(text);
  const additions = changing.length - 1 + (changing.length < addends.length ? 1 : 0);
  return sum(changing.map((each) => ofExpression(pass, each))) + additions;
}

const addendsOf = (node: ast.Expression): readonly ast.Expression[] =>
  node.kind === 'binary' && (node.operator === '+' || node.operator === '-')
    ? [...addendsOf(node.left), ...addendsOf(node.right)]
    : [node];

function isSharedArray(ctx: Context, { name }: ast.NameExpression): boolean {
  const entity = lookupName(ctx, ctx.scope, name.parts.at(-1)?.name ?? '');
  if (entity?.kind !== 'value' || entity.value.kind !== 'place' || entity.value.place.kind !== 'memory') return false;
  const { object } = entity.value.place;
  return object !== undefined && ctx.builder.objects[object].space === 'shared';
}

/** A counter is kept wide, and so is what does not change; what a mask leaves needs no sign. */
function ofIndex(pass: Pass, index: ast.Expression): number {
  const isWide = index.kind === 'name' || (index.kind === 'binary' && index.operator === '&') || isSame(pass, index);
  const text = `wide ${textOf(pass, index)}`;
  const cost = ofExpression(pass, index);
  if (isWide || knownValue(pass, index) !== undefined || pass.known.has(text)) return cost;
  if (isFixedInPass(pass, index)) pass.known.add(text);
  return 1 + cost;
}

/** An element of an array of the kernel's own, which is in registers once the loops over it are written out. */
function isRegister({ ctx, pointers }: Pass, node: ast.IndexExpression): boolean {
  let base: ast.Expression = node;
  while (base.kind === 'index') base = base.base;
  const name = base.kind === 'name' ? (base.name.parts.at(-1)?.name ?? '') : '';
  const entity = pointers.has(name) ? undefined : lookupName(ctx, ctx.scope, name);
  if (entity?.kind !== 'value' || entity.value.kind !== 'place') return false;
  const { type, place } = entity.value;
  return type.kind === 'array' && place.kind === 'storage';
}

function ofName({ ctx, changing }: Pass, node: ast.NameExpression): number {
  const name = node.name.parts.at(-1)?.name;
  if (name === undefined || node.name.parts.length > 1) return OPEN;
  if (changing.has(name)) return 0;
  const entity = lookupName(ctx, ctx.scope, name);
  if (entity?.kind === 'template') return entity.value.kind === 'number' ? 0 : OPEN;
  if (entity?.kind === 'global') return isConstantNumber(entity.declaration) ? 0 : OPEN;
  if (entity?.kind !== 'value') return OPEN;
  const { value } = entity;
  return value.kind === 'scalar' || (value.kind === 'place' && value.place.kind === 'storage') ? 0 : OPEN;
}

/** `const float CUTOFF = 6.25f;` in front of the kernels is that number. (Of integers, which are bounds and strides, nothing was measured.) */
const isConstantNumber = ({ specifiers, type, initializer }: ast.VariableDeclaration): boolean =>
  (specifiers.isConstexpr || type.isConst === true) &&
  !specifiers.isDevice &&
  !specifiers.isConstant &&
  type.kind === 'builtin' &&
  /^(?:float|double)$/.test(type.name) &&
  initializer !== undefined;

/** Whether an expression has the same value in every pass: it names nothing that changes, and loads nothing. */
function isSame(pass: Pass, node: ast.Expression): boolean {
  // in a loop of the body that is written out it is not moved in front of the loop around yet
  if (pass.counters.size > 0 && node.kind === 'binary') return false;
  switch (node.kind) {
    case 'integer':
    case 'float':
      return true;
    case 'name':
      return !pass.changing.has(node.name.parts.at(-1)?.name ?? '') && !Number.isNaN(ofName(pass, node));
    case 'unary':
      return node.operator !== '*' && isSame(pass, node.operand);
    case 'binary':
      return isSame(pass, node.left) && isSame(pass, node.right);
    case 'cast':
      return node.arguments.every((a) => isSame(pass, a));
    case 'member':
      return !node.arrow && (isBuiltin(node.object) || isSame(pass, node.object));
    default:
      return false;
  }
}

const isBuiltin = (node: ast.Expression): boolean =>
  node.kind === 'name' && /^(threadIdx|blockIdx|blockDim|gridDim)$/.test(node.name.parts.at(-1)?.name ?? '');

/** Whether the text of a sum or an element means one value all through a pass: nothing that it names is assigned. */
function isFixedInPass(pass: Pass, node: ast.Expression): boolean {
  switch (node.kind) {
    case 'name': {
      const name = node.name.parts.at(-1)?.name ?? '';
      return !pass.assigned.has(name) && !pass.counters.has(name);
    }
    case 'binary':
      return isFixedInPass(pass, node.left) && isFixedInPass(pass, node.right);
    case 'cast':
      return node.arguments.every((a) => isFixedInPass(pass, a));
    case 'index':
      return node.base.kind === 'name' && node.indices.every((index) => isFixedInPass(pass, index));
    default:
      return isSame(pass, node);
  }
}

const textCache = new WeakMap<ast.Node, string>();

/** Loops are asked about once for each copy of the loops around them. */
function textOf({ ctx }: Pass, node: ast.Expression): string {
  let text = textCache.get(node);
  if (text === undefined) textCache.set(node, (text = ctx.unit.tokens.text.slice(node.first, node.last + 1).join(' ')));
  return text;
}
