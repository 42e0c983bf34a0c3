/** Statements: blocks, branches, switches, jumps; loops are in loops.ts. */

import type * as ast from '../parse/ast';
import { declareAnonymousUnion } from './anonymous-unions';
import { materialise } from './bound-values';
import { asmStatement } from './builtins/inline-ptx';
import { constantOf } from './constants';
import { type Context, forgetSince, type JumpTarget, LIBRARY_TOKENS, placeOf, skip } from './context';
import { toPredicate } from './conversions';
import { expression } from './expressions';
import { firstOfLine } from './first-of-line';
import { forgetAssigned } from './flow';
import { destroySince, endObject, isDestroyed, leaveLocals, withTemporaries } from './host/destructors';
import { endsInError } from './host/error-ways';
import { tryStatement } from './host/exceptions';
import { endProgram } from './host/memory';
import { declareStatic } from './host/statics';
import { KnownValues } from './known-values';
import { doStatement, forStatement, whileStatement } from './loops';
import { scalarBinary } from './operators';
import { peeked, rvalue } from './places';
import { rangeForStatement } from './range-for';
import { returnValue } from './returns';
import { declareAll, declareInPlaceTypes, Scope } from './scope';
import { types } from './types';
import type { Value } from './values';
import { declareVariable } from './variables';

const MAX_DEPTH = 300;
let depth = 0;

/** Lowers a statement; behind a return or break nothing is emitted. */
export function statement(ctx: Context, node: ast.Statement): void {
  if (depth > MAX_DEPTH) {
    skip(ctx, node, 'statements nested too deeply to follow');
    return;
  }
  depth++;
  const { statement: outer } = ctx.builder;
  if (node.first < LIBRARY_TOKENS) ctx.builder.statement = firstOfLine(ctx.unit.tokens, node.first);
  try {
    withTemporaries(ctx, () => lowerStatement(ctx, node));
  } finally {
    depth--;
    ctx.builder.statement = outer;
  }
}

function lowerStatement(ctx: Context, node: ast.Statement): void {
  if (!ctx.builder.reachable && node.kind !== 'label' && node.kind !== 'case') return;
  if (endsInError(ctx, node)) {
    endProgram(ctx, 'end', ctx.builder.constant('i32', 1));
    return;
  }
  switch (node.kind) {
    case 'compound':
      withScope(ctx, 'block', () => {
        for (const s of node.body) statement(ctx, s);
      });
      break;
    case 'declaration':
      localDeclarations(ctx, node.declarations);
      break;
    case 'expression':
      discard(ctx, node.expression);
      break;
    case 'if':
      ifStatement(ctx, node);
      break;
    case 'for':
      forStatement(ctx, node);
      break;
    case 'rangeFor':
      rangeForStatement(ctx, node);
      break;
    case 'while':
      whileStatement(ctx, node);
      break;
    case 'do':
      doStatement(ctx, node);
      break;
    case 'switch':
      switchStatement(ctx, node);
      break;
    case 'break':
    case 'continue':
      jumpStatement(ctx, node);
      break;
    case 'return':
      returnValue(ctx, node);
      break;
    case 'asm':
      asmStatement(ctx, node);
      break;
    case 'try':
      tryStatement(ctx, node);
      break;
    case 'goto':
      ctx.builder.jump(labelBlock(ctx, node.label));
      break;
    case 'label':
      label(ctx, node.label);
      break;
    case 'unknownStatement':
      skip(ctx, node, node.reason);
      if (ctx.unit.isHost) endProgram(ctx, 'lost');
      break;
    default:
      break;
  }
}

/** Functions inlined for its arguments have statements of their own, behind which it is still this one whose value nobody reads. */
function discard(ctx: Context, node: ast.Expression): void {
  const outer = ctx.discarded;
  ctx.discarded = node;
  endUnused(ctx, expression(ctx, node), node);
  ctx.discarded = outer;
}

/** A value that nobody takes ends with its statement. */
function endUnused(ctx: Context, value: Value, node: ast.Node): void {
  if (value.kind !== 'aggregate' && !(value.kind === 'place' && value.handed === 'temporary')) return;
  if (isDestroyed(ctx, value.type))
    endObject(ctx, value.kind === 'place' ? value : materialise(ctx, value, node), node);
}

/** `({ …; e; })` */
export function blockExpression(ctx: Context, node: ast.BlockExpression): Value {
  const { body } = node.body;
  const last = body.at(-1);
  if (last?.kind !== 'expression') {
    statement(ctx, node.body);
    return { kind: 'void', type: types.void };
  }
  let value: Value = { kind: 'void', type: types.void };
  const isDiscarded = ctx.discarded === node;
  withScope(ctx, 'block', () => {
    for (const s of body.slice(0, -1)) statement(ctx, s);
    if (isDiscarded) ctx.discarded = last.expression;
    value = rvalue(ctx, expression(ctx, last.expression), last.expression);
  });
  return value;
}

function labelBlock(ctx: Context, name: string): number {
  const { labels } = ctx.frame;
  let block = labels.get(name);
  if (block === undefined) labels.set(name, (block = ctx.builder.newBlock()));
  return block;
}

/** Control may come here from anywhere in the function: nothing computed before is taken for known. */
function label(ctx: Context, name: string): void {
  const block = labelBlock(ctx, name);
  ctx.builder.jump(block);
  ctx.builder.use(block);
  ctx.builder.forgetPure();
  ctx.known.clear();
}

export function withScope(ctx: Context, label: string, run: () => void): void {
  const saved = ctx.scope;
  const first = ctx.builder.registers.length;
  const { length: locals } = ctx.locals;
  ctx.scope = new Scope(saved, label);
  run();
  leaveLocals(ctx, locals);
  ctx.scope = saved;
  forgetSince(ctx, first);
}

function localDeclarations(ctx: Context, declarations: readonly ast.Declaration[]): void {
  for (const declaration of declarations) {
    if (declaration.kind === 'variable') {
      declareInPlaceTypes(ctx.scope, declaration);
      const isLocalConstant =
        declaration.specifiers.isStatic && !declaration.specifiers.isShared && declaration.type.isConst;
      if (ctx.unit.isHost && declaration.specifiers.isStatic) declareStatic(ctx, declaration);
      else if (isLocalConstant) declareAll(ctx.scope, [declaration]);
      else declareVariable(ctx, declaration);
    } else if (declaration.kind === 'record' && declaration.key === 'union' && !declaration.name)
      declareAnonymousUnion(ctx, declaration);
    else if (declaration.kind === 'unknownDeclaration') skip(ctx, declaration, declaration.reason);
    else declareAll(ctx.scope, [declaration]);
  }
}

/** The truth of a condition, which may declare a variable. */
export const conditionOf = (ctx: Context, node: ast.Expression | ast.VariableDeclaration): number =>
  withTemporaries(ctx, () => toPredicate(ctx, conditionValue(ctx, node), node));

function conditionValue(ctx: Context, node: ast.Expression | ast.VariableDeclaration): Value {
  if (node.kind !== 'variable') return peeked(ctx, expression(ctx, node), node);
  declareVariable(ctx, node);
  const entity = node.name ? ctx.scope.own(node.name) : undefined;
  const value: Value =
    entity?.kind === 'value' ? entity.value : { kind: 'unknown', type: types.bool, reason: 'condition' };
  return peeked(ctx, value, node);
}

function ifStatement(ctx: Context, node: ast.IfStatement): void {
  withScope(ctx, 'if', () => {
    if (node.initializer) statement(ctx, node.initializer);
    const condition = conditionOf(ctx, node.condition);
    const constant = ctx.builder.constantValue(condition);
    if (constant !== undefined) {
      const taken = constant ? node.then : node.else;
      if (taken) statement(ctx, taken);
      return;
    }
    branches(ctx, node, condition);
  });
}

function branches(ctx: Context, node: ast.IfStatement, condition: number): void {
  const b = ctx.builder;
  const thenBlock = b.newBlock();
  const join = b.newBlock();
  const elseBlock = node.else ? b.newBlock() : join;
  const step = ctx.writtenOut?.last === node ? ctx.writtenOut.step : undefined;
  b.branch(condition, thenBlock, elseBlock, {
    place: placeOf(ctx, { first: node.condition.first, last: node.condition.last }),
    kind: 'if',
    ...(step && { step: placeOf(ctx, step) }),
  });
  const before = ctx.known;
  const ends: KnownValues[] = node.else ? [] : [before];
  const side = (block: number, body: ast.Statement) => {
    ctx.known = before.fork();
    b.use(block);
    b.enterRegion();
    withScope(ctx, 'branch', () => statement(ctx, body));
    if (b.reachable) ends.push(ctx.known);
    b.jump(join);
    b.leaveRegion();
  };
  side(thenBlock, node.then);
  if (node.else) side(elseBlock, node.else);
  b.use(join);
  if (ends.length === 0) b.exit(); // both sides left: nothing comes here
  ctx.known = KnownValues.merged(ends);
}

function jumpStatement(ctx: Context, node: ast.JumpStatement): void {
  const jumps = ctx.frame.jumps;
  const target = node.kind === 'break' ? jumps[jumps.length - 1] : lastLoop(jumps);
  if (!target) {
    skip(ctx, node, `${node.kind} outside a loop`);
    return;
  }
  const block = node.kind === 'break' ? target.breakBlock : target.continueBlock;
  destroySince(ctx, target.locals);
  if (ctx.builder.reachable) (node.kind === 'break' ? target.onBreak : target.onContinue).push(ctx.known.fork());
  if (block !== undefined) ctx.builder.jump(block);
}

function lastLoop(jumps: readonly JumpTarget[]): JumpTarget | undefined {
  for (let i = jumps.length - 1; i >= 0; i--) if (jumps[i].continueBlock !== undefined) return jumps[i];
  return undefined;
}

// ---- switch ----

interface SwitchSection {
  readonly labels: ast.CaseStatement[];
  readonly body: ast.Statement[];
}

function switchStatement(ctx: Context, node: ast.SwitchStatement): void {
  withScope(ctx, 'switch', () => {
    if (node.initializer) statement(ctx, node.initializer);
    const value = conditionValue(ctx, node.condition);
    if (value.kind !== 'scalar') {
      skip(ctx, node, value.kind === 'unknown' ? value.reason : 'switch over a value that could not be followed');
      if (ctx.unit.isHost) endProgram(ctx, 'lost');
      return;
    }
    const sections = sectionsOf(node.body);
    const chosen = chosenSection(ctx, value, sections);
    if (chosen === undefined) lowerSections(ctx, node, value, sections);
    else lowerFrom(ctx, sections, chosen);
  });
}

function sectionsOf(body: ast.Statement): SwitchSection[] {
  const sections: SwitchSection[] = [];
  for (const s of body.kind === 'compound' ? body.body : [body]) {
    const last = sections[sections.length - 1];
    if (s.kind === 'case') {
      if (last && last.body.length === 0) last.labels.push(s);
      else sections.push({ labels: [s], body: [] });
    } else if (last) last.body.push(s);
  }
  return sections;
}

/** The section that a constant goes to; the number of sections where it goes to none, undefined where that is not known. */
function chosenSection(
  ctx: Context,
  value: Value & { kind: 'scalar' },
  sections: readonly SwitchSection[],
): number | undefined {
  const wanted = ctx.builder.constantValue(value.register);
  if (wanted === undefined) return undefined;
  let fallback = sections.length;
  for (const [i, section] of sections.entries()) {
    for (const label of section.labels) {
      if (!label.value) fallback = i;
      else {
        const number = constantOf(ctx, label.value);
        if (number === undefined) return undefined;
        if (number === wanted) return i;
      }
    }
  }
  return fallback;
}

/** The sections from one on, as far as they fall into each other. */
function lowerFrom(ctx: Context, sections: readonly SwitchSection[], first: number): void {
  const b = ctx.builder;
  const join = b.newBlock();
  const target: JumpTarget = {
    breakBlock: join,
    continueBlock: undefined,
    onBreak: [],
    onContinue: [],
    locals: ctx.locals.length,
  };
  ctx.frame.jumps.push(target);
  b.enterRegion();
  for (const section of sections.slice(first)) {
    if (!b.reachable) break;
    withScope(ctx, 'case', () => {
      for (const s of section.body) statement(ctx, s);
    });
  }
  b.leaveRegion();
  if (b.reachable) {
    target.onBreak.push(ctx.known.fork());
    b.jump(join);
  }
  ctx.frame.jumps.pop();
  // where every way returned nothing follows
  if (target.onBreak.length === 0) return;
  b.use(join);
  ctx.known = KnownValues.merged(target.onBreak);
}

/** A chain of comparisons, then the sections, each falling into the next. */
function lowerSections(
  ctx: Context,
  node: ast.SwitchStatement,
  value: Value & { kind: 'scalar' },
  sections: readonly SwitchSection[],
): void {
  const b = ctx.builder;
  const join = b.newBlock();
  const blocks = sections.map(() => b.newBlock());
  let fallback = join;
  sections.forEach((section, i) => {
    for (const label of section.labels) {
      if (!label.value) fallback = blocks[i];
      else compareCase(ctx, node, value, label, blocks[i]);
    }
  });
  b.jump(fallback);
  const target: JumpTarget = {
    breakBlock: join,
    continueBlock: undefined,
    onBreak: fallback === join ? [ctx.known.fork()] : [],
    onContinue: [],
    locals: ctx.locals.length,
  };
  ctx.frame.jumps.push(target);
  const before = ctx.known.fork();
  sections.forEach((section, i) => {
    b.use(blocks[i]);
    ctx.known = before.fork();
    // a section may be entered from the one above it
    if (i > 0)
      forgetAssigned(
        ctx,
        sections.slice(0, i).flatMap((s) => s.body),
      );
    b.enterRegion();
    withScope(ctx, 'case', () => {
      for (const s of section.body) statement(ctx, s);
    });
    b.leaveRegion();
    if (b.reachable && i + 1 === sections.length) target.onBreak.push(ctx.known.fork());
    b.jump(blocks[i + 1] ?? join);
  });
  ctx.frame.jumps.pop();
  b.use(join);
  ctx.known = KnownValues.merged(target.onBreak);
}

function compareCase(
  ctx: Context,
  node: ast.SwitchStatement,
  value: Value & { kind: 'scalar' },
  label: ast.CaseStatement,
  block: number,
): void {
  if (!label.value) return;
  const b = ctx.builder;
  const wanted = rvalue(ctx, expression(ctx, label.value), label.value);
  if (wanted.kind !== 'scalar') return;
  const test = scalarBinary(ctx, '==', value, wanted);
  const next = b.newBlock();
  if (test.kind === 'scalar')
    b.branch(test.register, block, next, {
      place: placeOf(ctx, { first: node.condition.first, last: node.condition.last }),
      kind: 'switch',
    });
  b.use(next);
}
