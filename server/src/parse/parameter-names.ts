/** Template arguments that only name a parameter. */
import type { TemplateArgument } from './ast';

/** `U`, `N`, `Ts...`: the parameter of that name, and nothing made of it. */
export function isParameter({ type, expression }: TemplateArgument, name: string | undefined): boolean {
  const plain = type?.kind === 'packExpansion' ? type.of : type;
  const named = plain?.kind === 'named' ? plain.name : expression?.kind === 'name' ? expression.name : undefined;
  if (name === undefined || (plain && plain.kind !== 'named') || named?.parts.length !== 1) return false;
  return named.parts[0].name === name && named.parts[0].templateArguments === undefined;
}
