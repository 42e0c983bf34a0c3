/**
 * `while (i < n) { …; i += 2; }` is the loop `for (; i < n; i += 2)` to the compiler, which knows no such forms: it writes it out and unrolls it alike
 * (PTX of nvcc 13.0).
 */
import { anywhere } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { compoundStep } from '../parse/plain-step';
import { namesIn } from './runtime-unroll';

/** Questions about a loop are kept by its node. */
const known = new WeakMap<ast.WhileStatement, ast.ForStatement | 'none'>();

/** The same loop with what its body ends with as its step; undefined where that is no step of a variable the condition asks. */
export function countingForm(node: ast.WhileStatement): ast.ForStatement | undefined {
  let form = known.get(node);
  if (form === undefined) known.set(node, (form = formOf(node) ?? 'none'));
  return form === 'none' ? undefined : form;
}

function formOf(node: ast.WhileStatement): ast.ForStatement | undefined {
  const { body, condition } = node;
  const last = body.kind === 'compound' ? body.body.at(-1) : undefined;
  if (body.kind !== 'compound' || last?.kind !== 'expression' || !isStep(last.expression)) return undefined;
  const names = namesIn(last.expression);
  if (names[0] === undefined || !namesIn(condition).includes(names[0])) return undefined;
  const rest = body.body.slice(0, -1);
  // the step is outside the body's scope, and `continue` would not pass it
  if (names.some((name) => declares(rest, name)) || continues(rest)) return undefined;
  return { ...node, kind: 'for', initializer: undefined, increment: last.expression, body: { ...body, body: rest } };
}

function isStep(node: ast.Expression): boolean {
  if (node.kind === 'unary') return /\+\+|--/.test(node.operator) && node.operand.kind === 'name';
  const step = compoundStep(node) ?? node;
  return step.kind === 'assign' && /^[+-]=$/.test(step.operator) && step.left.kind === 'name';
}

const declares = (body: readonly ast.Statement[], name: string): boolean =>
  body.some((s) => s.kind === 'declaration' && s.declarations.some((d) => 'name' in d && d.name === name));

/** Whether a `continue` may stand in a statement, that of an inner loop included. */
const continues = (body: object): boolean => anywhere(body, (n) => n.kind === 'continue');
