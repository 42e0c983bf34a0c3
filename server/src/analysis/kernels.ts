/** The kernels of a unit, with the scopes they are declared in. */
import type { Scope } from '../lower/scope';
import type { Declaration, FunctionDeclaration, TranslationUnit } from '../parse/ast';

export interface FoundKernel {
  readonly declaration: FunctionDeclaration;
  readonly name: string;
  readonly scope: Scope;
}

/** All definitions of __global__ functions, namespaces and records included, in source order. */
export function findKernels(unit: TranslationUnit, global: Scope): FoundKernel[] {
  const found: FoundKernel[] = [];
  const visit = (declarations: readonly Declaration[], scope: Scope, depth: number): void => {
    if (depth > 50) return;
    for (const declaration of declarations) {
      if (declaration.kind === 'function' && declaration.specifiers.isGlobal && declaration.body) {
        found.push({ declaration, name: declaration.name.parts.at(-1)?.name ?? 'kernel', scope });
      } else if (declaration.kind === 'namespace') {
        const entity = scope.own(declaration.name);
        const inner =
          entity?.kind === 'namespace'
            ? entity.scope
            : (scope.using.find((s) => s.label === declaration.name) ?? scope);
        visit(declaration.members, inner, depth + 1);
      }
    }
  };
  visit(unit.declarations, global, 0);
  return found;
}
