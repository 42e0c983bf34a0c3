/** The kernels of a program, as the run of its host executes them. */
import type { DeviceCode } from '../host/run-kernel';
import type { UnitContext } from '../lower/context';
import { instanceKey, isSameInstance } from '../lower/records';
import type { FoundKernel } from './kernels';
import type { Launch } from './launches';

/** Kernels and the unit that they are lowered in. */
export interface KernelsOfUnit {
  readonly context: UnitContext;
  readonly kernels: readonly FoundKernel[];
}

/**
 * Kernels are lowered as for their own reports: an instance has the types of the launch that the host's code was searched for.
 * @param own the unit under analysis, in which the launches were found
 * @param linked the program that it is part of
 */
export function deviceCode(own: KernelsOfUnit, launches: readonly Launch[], linked?: KernelsOfUnit): DeviceCode {
  return {
    instanceOf: ({ declaration, templateArguments }) => {
      const unit = [own, linked].find((each) => each?.kernels.some((k) => k.declaration === declaration));
      const kernel = unit?.kernels.find((k) => k.declaration === declaration);
      if (!unit || !kernel) return undefined;
      const key = instanceKey(templateArguments);
      const ofKernel = launches.filter((l) => l.kernel === kernel);
      const found = ofKernel.find((l) => l.instance === key) ?? ofKernel.find((l) => isSameInstance(l.instance, key));
      return {
        context: unit.context,
        declaration,
        scope: kernel.scope,
        templateArguments: found?.templateArguments ?? templateArguments,
      };
    },
  };
}
