/** Which of two constraints demands more (C++20, [temp.constr.order]). */

/** A constraint in parts. Atoms of one key are the same expression of the same concept about the same arguments. */
export type Formula =
  | { readonly kind: 'atom'; readonly key: string }
  | { readonly kind: 'and' | 'or'; readonly left: Formula; readonly right: Formula };

type Clause = ReadonlySet<string>;

/** Clauses of one form; what has more is not compared. */
const MOST_CLAUSES = 256;

/** The clauses of the disjunctive form (`outer` is 'or') or of the conjunctive one. */
function clauses(formula: Formula, outer: 'and' | 'or'): readonly Clause[] {
  if (formula.kind === 'atom') return [new Set([formula.key])];
  const left = clauses(formula.left, outer);
  const right = clauses(formula.right, outer);
  if (formula.kind === outer) return [...left, ...right];
  if (left.length * right.length > MOST_CLAUSES) return [];
  return left.flatMap((a) => right.map((b) => new Set([...a, ...b])));
}

/** Whether the one holds in no case in which the other does not, as far as their form says. */
function subsumes(special: Formula, general: Formula): boolean {
  const cases = clauses(special, 'or');
  const demands = clauses(general, 'and');
  if (cases.length === 0 || demands.length === 0) return false;
  return cases.every((holding) => demands.every((demand) => [...demand].some((key) => holding.has(key))));
}

/** undefined: no constraint at all */
export function isMoreConstrained(a: Formula | undefined, b: Formula | undefined): boolean {
  if (!a) return false;
  return b === undefined || (subsumes(a, b) && !subsumes(b, a));
}

/** All of several constraints. */
export const allOf = (formulas: readonly Formula[]): Formula | undefined =>
  formulas.length === 0 ? undefined : formulas.reduce((left, right) => ({ kind: 'and', left, right }));
