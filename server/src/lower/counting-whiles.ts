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

/**
 * The same loop with what its body ends with as its step, or what stands in front of a barrier and the like that do not read the variable; undefined where
 * that is no step of a variable the condition asks.
 */
export function countingForm(node: ast.WhileStatement): ast.ForStatement | undefined {
  let form = known.get(node);
  if (form === undefined) known.set(node, (form = formOf(node) ?? 'none'));
  return form === 'none' ? undefined : form;
}

function formOf(node: ast.WhileStatement): ast.ForStatement | undefined {
  const { body, condition } = node;
  if (body.kind !== 'compound') return undefined;
  const at = body.body.findLastIndex(({ kind }) => kind !== 'expression' && kind !== 'empty') + 1;
  const asked = namesIn(condition);
  const found = body.body.slice(at).findIndex((s) => s.kind === 'expression' && isStepOf(s.expression, asked));
  const last = body.body[at + found];
  if (found < 0 || last?.kind !== 'expression') return undefined;
  const names = namesIn(last.expression);
  const behind = body.body.slice(at + found + 1);
  if (behind.some((s) => s.kind === 'expression' && namesIn(s.expression).some((name) => names.includes(name))))
    return undefined;
  const rest = [...body.body.slice(0, at + found), ...behind];
  // the step is outside the body's scope, and `continue` would not pass it
  if (names.some((name) => declares(rest, name)) || continues(rest)) return undefined;
  return { ...node, kind: 'for', initializer: undefined, increment: last.expression, body: { ...body, body: rest } };
}

/** @param asked names of which the variable is one */
function isStepOf(node: ast.Expression, asked: readonly string[]): boolean {
  const step = compoundStep(node) ?? node;
  const variable = step.kind === 'unary' ? step.operand : step.kind === 'assign' ? step.left : undefined;
  const isStep =
    (step.kind === 'unary' && /\+\+|--/.test(step.operator)) ||
    (step.kind === 'assign' && /^(?:[-+*/]|<<|>>)=$/.test(step.operator));
  return isStep && variable?.kind === 'name' && asked.includes(namesIn(variable)[0]);
}

const declares = (body: readonly ast.Statement[], name: string): boolean =>
  body.some((s) => s.kind === 'declaration' && s.declarations.some((d) => 'name' in d && d.name === name));

/** Whether a `continue` may stand in a statement, that of an inner loop included. */
const continues = (body: object): boolean => anywhere(body, (n) => n.kind === 'continue');
