/** The kernels of a unit, as the run of its host's program executes them. */
import type { DeviceCode } from '../host/run-kernel';
import type { UnitContext } from '../lower/context';
import { instanceKey, isSameInstance } from '../lower/records';
import type { FoundKernel } from './kernels';
import type { Launch } from './launches';

/** Kernels are lowered as for their own reports: an instance has the types of the launch that the host's code was searched for. */
export function deviceCode(
  context: UnitContext,
  kernels: readonly FoundKernel[],
  launches: readonly Launch[],
): DeviceCode {
  return {
    context,
    instanceOf: ({ declaration, templateArguments }) => {
      const kernel = kernels.find((k) => k.declaration === declaration);
      if (!kernel) return undefined;
      const key = instanceKey(templateArguments);
      const own = launches.filter((l) => l.kernel === kernel);
      const found = own.find((l) => l.instance === key) ?? own.find((l) => isSameInstance(l.instance, key));
      return { declaration, scope: kernel.scope, templateArguments: found?.templateArguments ?? templateArguments };
    },
  };
}
