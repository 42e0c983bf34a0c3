/** Which of several functions a call means: what fits best among those that are not ruled out. */
import type { Answer } from '../parse/answer';
import { anywhere } from '../parse/anywhere';
import type { Expression, FunctionDeclaration } from '../parse/ast';
import { isMoreConstrained } from '../parse/subsumption';
import { areFulfilled, demandsOf } from './constraints';
import { spellings } from './host-tokens';
import { overloadCost } from './overload-cost';
import { childScope, type Scope } from './scope';
import type { HostState } from './state';
import { bindTemplate } from './template-binding';
import type { BoundArgument, FunctionSymbol, Value } from './value';

/** Whether two bodies are written alike. */
function doAlike({ tokens }: HostState, a: FunctionSymbol, b: FunctionSymbol): boolean {
  const [one, other] = [a.declaration.body, b.declaration.body];
  if (!tokens || !one || !other) return false;
  return (
    [...spellings(tokens, one.first, one.last)].join(' ') === [...spellings(tokens, other.first, other.last)].join(' ')
  );
}

interface Rated {
  readonly symbol: FunctionSymbol;
  readonly cost: number;
  readonly isDoubtful: boolean;
  readonly scope: Scope;
}

/** Undefined where nobody knows. */
export function bestOf(
  state: HostState,
  candidates: readonly FunctionSymbol[],
  values: readonly Value[],
  { templateArguments }: { readonly templateArguments?: readonly BoundArgument[] },
): FunctionSymbol | undefined {
  const allowed = candidates.flatMap((symbol): Rated[] => {
    const scope = childScope(symbol.scope, { record: symbol.scope.record });
    const answer = isAllowed(state, symbol.declaration, scope, values, templateArguments);
    const cost = overloadCost(state, symbol, values);
    return answer === false || cost === Number.POSITIVE_INFINITY
      ? []
      : [{ symbol, scope, cost, isDoubtful: answer === undefined }];
  });
  if (allowed.length <= 1) return allowed[0]?.symbol;
  const sure = allowed.filter(({ isDoubtful }) => !isDoubtful);
  const best = sure.reduce<Rated | undefined>((a, b) => (a && !isBetter(state, b, a) ? a : b), undefined);
  if (!best || allowed.some(({ isDoubtful, cost }) => isDoubtful && cost <= best.cost)) return undefined;
  const twin = sure.find((each) => each.cost === best.cost && differInConst(each, best));
  return twin && !doAlike(state, twin.symbol, best.symbol) ? undefined : best.symbol;
}

/** `f()` and `f() const` of one class: what an object is constant for is not followed here. */
function differInConst({ symbol: { declaration: a, scope } }: Rated, { symbol: b }: Rated): boolean {
  const isPair = scope === b.scope && a.isConst !== b.declaration.isConst;
  return isPair && a.parameters.length === b.declaration.parameters.length;
}

function isBetter(state: HostState, a: Rated, b: Rated): boolean {
  if (a.cost !== b.cost) return a.cost < b.cost;
  const [own, other] = [a.symbol.declaration.constraints, b.symbol.declaration.constraints];
  return own !== undefined && isMoreConstrained(demandsOf(state, own, a.scope), demandsOf(state, other, b.scope));
}

function isAllowed(
  state: HostState,
  declaration: FunctionDeclaration,
  scope: Scope,
  values: readonly Value[],
  given: readonly BoundArgument[] | undefined,
): Answer {
  const { constraints = [], templateParameters, result } = declaration;
  const conditions = templateParameters ? enablingConditions(declaration) : [];
  if (conditions === undefined) return undefined;
  const isOpen = templateParameters !== undefined && result.kind === 'decltype';
  if (constraints.length + conditions.length === 0) return isOpen ? undefined : true;
  bindTemplate(state, declaration, scope, values, given);
  const answer = areFulfilled(state, [...constraints, ...conditions], scope);
  return answer === false ? false : isOpen ? undefined : answer;
}

/** The conditions of `enable_if_t<…>` in a result, in parameters or among template parameters; undefined where one is written in another way. */
function enablingConditions(declaration: FunctionDeclaration): readonly Expression[] | undefined {
  const { result, parameters, templateParameters = [] } = declaration;
  const conditions: (Expression | undefined)[] = [];
  for (const node of [result, ...parameters.map(({ type }) => type), ...templateParameters])
    anywhere(node, (n) => {
      if (!('name' in n) || typeof n.name !== 'object') return false;
      const part = n.name.parts.find(({ name }) => name === 'enable_if' || name === 'enable_if_t');
      if (part) conditions.push(part.templateArguments?.[0]?.expression);
      return false;
    });
  const known = conditions.flatMap((condition) => condition ?? []);
  return known.length === conditions.length ? known : undefined;
}
