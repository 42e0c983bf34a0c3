/** The kernels of a unit, with the scopes they are declared in. */
import type { Scope } from '../lower/scope';
import type { Declaration, FunctionDeclaration, TranslationUnit } from '../parse/ast';
import type { TokenStream } from '../preprocess/token';

export interface FoundKernel {
  readonly declaration: FunctionDeclaration;
  readonly name: string;
  readonly scope: Scope;
}

/** Kernels by their place in the files: a file that is included twice without a guard still has each of its kernels once. */
export function oncePerPlace(kernels: readonly FoundKernel[], tokens: TokenStream): FoundKernel[] {
  const byPlace = new Map<string, FoundKernel>();
  for (const kernel of kernels) {
    const { nameToken } = kernel.declaration;
    byPlace.set(
      `${tokens.files[tokens.file[nameToken]]?.path}:${tokens.start[nameToken]}:${tokens.text[nameToken]}`,
      kernel,
    );
  }
  return [...byPlace.values()];
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
