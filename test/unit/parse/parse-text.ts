import assert from 'node:assert/strict';
import type { FunctionDeclaration, TranslationUnit } from '../../../server/src/parse/ast';
import { parse } from '../../../server/src/parse/parse';
import { preprocess } from '../../../server/src/preprocess/preprocess';
import type { TokenStream } from '../../../server/src/preprocess/token';
import { declarationText, expressionText, statementText, unitText } from './tree-text';

export interface Parsed {
  readonly unit: TranslationUnit;
  readonly tokens: TokenStream;
}

/** Preprocesses (without headers) and parses a source text. */
export function parseText(text: string): Parsed {
  const { tokens, pragmas } = preprocess({ path: 'a.cu', text, defines: new Map(), include: () => undefined });
  return { unit: parse(tokens, pragmas), tokens };
}

/** The declarations of a source text that has nothing unknown in it. */
export function check(source: string, expected: string): void {
  const { unit } = parseText(source);
  assert.equal(unitText(unit), expected);
  assert.deepEqual(
    unit.notes.map((note) => note.message),
    [],
  );
}

/** The functions of a unit, those in namespaces and records included. */
export function functionsOf(unit: TranslationUnit): FunctionDeclaration[] {
  const found: FunctionDeclaration[] = [];
  const visit = (declarations: TranslationUnit['declarations']) => {
    for (const declaration of declarations) {
      if (declaration.kind === 'function') found.push(declaration);
      else if (declaration.kind === 'namespace') visit(declaration.members);
      else if (declaration.kind === 'record' && declaration.members) visit(declaration.members);
    }
  };
  visit(unit.declarations);
  return found;
}

/** Statements as they stand in a function's body; `before`: declarations in front of the function. */
export function checkBody(statements: string, expected: string, before = ''): void {
  const { unit } = parseText(`${before}\nvoid f() { ${statements} }`);
  const body = functionsOf(unit).at(-1)?.body;
  assert.ok(body);
  assert.equal(body.body.map(statementText).join('; '), expected);
  assert.deepEqual(
    unit.notes.map((note) => note.message),
    [],
  );
}

/** An expression where `a` to `f`, `n` and `x` are values, `p` is a pointer and `T` is a type. */
export function checkExpression(source: string, expected: string): void {
  const { unit } = parseText(`struct T {}; int a, b, c, d, e, f, n, x; int* p; void g() { (void)0; ${source}; }`);
  const statement = functionsOf(unit).at(-1)?.body?.body[1];
  const text =
    statement?.kind === 'expression'
      ? expressionText(statement.expression)
      : statement?.kind === 'declaration'
        ? statement.declarations.map(declarationText).join(' ')
        : statement && statementText(statement);
  assert.equal(text, expected);
  assert.deepEqual(
    unit.notes.map((note) => note.message),
    [],
  );
}
