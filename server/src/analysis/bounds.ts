/** `__launch_bounds__` of a kernel instance: evaluated in the kernel's own scope, template arguments bound. */
import { constantOf } from '../lower/constants';
import { createContext, type UnitContext } from '../lower/context';
import { inScope } from '../lower/resolve-type';
import { Scope } from '../lower/scope';
import { bindTemplateParameters } from '../lower/templates';
import type { TemplateValue } from '../lower/types';
import type { Expression } from '../parse/ast';
import type { LaunchBounds } from '../report/occupancy';
import type { FoundKernel } from './kernels';

export function launchBoundsOf(
  unit: UnitContext,
  kernel: FoundKernel,
  templateArguments: readonly TemplateValue[],
): LaunchBounds | undefined {
  const { launchBounds } = kernel.declaration.specifiers;
  if (!launchBounds?.length) return undefined;
  const [maxThreads, minBlocks] = evaluated(unit, kernel, templateArguments, launchBounds);
  return maxThreads !== undefined && maxThreads > 0 ? { maxThreads, minBlocks } : undefined;
}

/** `__maxnreg__(n)` of a kernel instance. */
export function maxRegistersOf(
  unit: UnitContext,
  kernel: FoundKernel,
  templateArguments: readonly TemplateValue[],
): number | undefined {
  const { maxRegisters } = kernel.declaration.specifiers;
  return maxRegisters && evaluated(unit, kernel, templateArguments, [maxRegisters])[0];
}

function evaluated(
  unit: UnitContext,
  kernel: FoundKernel,
  templateArguments: readonly TemplateValue[],
  expressions: readonly Expression[],
): (number | undefined)[] {
  const ctx = createContext(unit, kernel.name, new Set());
  const scope = new Scope(kernel.scope, kernel.name);
  const parameters = kernel.declaration.templateParameters;
  if (parameters) bindTemplateParameters(ctx, scope, parameters, templateArguments);
  return expressions.map((each) => inScope(ctx, scope, () => constantOf(ctx, each)));
}
