/** `__launch_bounds__` of a kernel instance: evaluated in the kernel's own scope, template arguments bound. */
import { constantOf } from '../lower/constants';
import { createContext, type UnitContext } from '../lower/context';
import { argumentKey } from '../lower/records';
import { inScope } from '../lower/resolve-type';
import { Scope } from '../lower/scope';
import { bindTemplateParameters } from '../lower/templates';
import type { TemplateValue } from '../lower/types';
import type { Expression } from '../parse/ast';
import type { LaunchBounds } from '../report/occupancy';
import type { FoundKernel } from './kernels';

/** By unit and kernel: the bounds of its instances. Launches of one instance ask for them each, and they may be functions of many lines. */
const knownBounds = new WeakMap<UnitContext, Map<FoundKernel, Map<string, LaunchBounds | undefined>>>();

export function launchBoundsOf(
  unit: UnitContext,
  kernel: FoundKernel,
  templateArguments: readonly TemplateValue[],
): LaunchBounds | undefined {
  const { launchBounds } = kernel.declaration.specifiers;
  if (!launchBounds?.length) return undefined;
  const ofInstances = boundsOfInstances(unit, kernel);
  const instance = templateArguments.map(argumentKey).join(',');
  if (ofInstances.has(instance)) return ofInstances.get(instance);
  const [maxThreads, minBlocks] = evaluated(unit, kernel, templateArguments, launchBounds);
  const bounds = maxThreads !== undefined && maxThreads > 0 ? { maxThreads, minBlocks } : undefined;
  ofInstances.set(instance, bounds);
  return bounds;
}

function boundsOfInstances(unit: UnitContext, kernel: FoundKernel): Map<string, LaunchBounds | undefined> {
  let ofUnit = knownBounds.get(unit);
  if (!ofUnit) knownBounds.set(unit, (ofUnit = new Map()));
  let ofKernel = ofUnit.get(kernel);
  if (!ofKernel) ofUnit.set(kernel, (ofKernel = new Map()));
  return ofKernel;
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
