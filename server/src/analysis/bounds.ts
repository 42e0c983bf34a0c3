/** `__launch_bounds__` of a kernel instance: evaluated in the kernel's own scope, template arguments bound. */
import { constantOf } from '../lower/constants';
import { createContext, type UnitContext } from '../lower/context';
import { inScope } from '../lower/resolve-type';
import { Scope } from '../lower/scope';
import { bindTemplateParameters } from '../lower/templates';
import type { TemplateValue } from '../lower/types';
import type { LaunchBounds } from '../report/occupancy';
import type { FoundKernel } from './kernels';

export function launchBoundsOf(
  unit: UnitContext,
  kernel: FoundKernel,
  templateArguments: readonly TemplateValue[],
): LaunchBounds | undefined {
  const { launchBounds } = kernel.declaration.specifiers;
  if (!launchBounds?.length) return undefined;
  const ctx = createContext(unit, kernel.name, new Set());
  const scope = new Scope(kernel.scope, kernel.name);
  const parameters = kernel.declaration.templateParameters;
  if (parameters) bindTemplateParameters(ctx, scope, parameters, templateArguments);
  const [maxThreads, minBlocks] = launchBounds.map((bound) => inScope(ctx, scope, () => constantOf(ctx, bound)));
  return maxThreads !== undefined && maxThreads > 0 ? { maxThreads, minBlocks } : undefined;
}
