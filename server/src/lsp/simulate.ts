/** The panel's data: one kernel's whole report. */
import * as path from 'node:path';
import { capability } from '../hardware/capabilities';
import { occupancyCurves } from '../hardware/occupancy-curves';
import type { KernelReport } from '../report/report';
import type { Analysed } from './documents';
import { kernelAt, kernelsOf } from './kernels';
import type { SimulateParams, SimulateResult } from './protocol';

/** @param analysed the report of the document that holds the kernel, or of one that includes it */
export function simulateResult(
  { report, computeCapability }: Pick<Analysed, 'report' | 'computeCapability'>,
  { uri, kernel: name, line }: SimulateParams,
  file: string,
  uriOf: (file: string) => string,
): SimulateResult {
  const kernels = kernelsOf(report);
  const kernel =
    name === undefined ? kernelAt(kernels, file, (line ?? 0) + 1) : kernels.find((each) => each.name === name);
  const files = new Set(kernel?.launches.flatMap(({ accesses }) => accesses.map((access) => access.file)));
  return {
    uri,
    fileName: path.basename(file),
    computeCapability,
    kernels: kernels.map((each) => each.name),
    kernel: kernel && withCurves(kernel, computeCapability),
    files: Object.fromEntries([...files].map((each) => [each, uriOf(each)])),
  };
}

/** Curves are made for the one kernel that is shown, not with every analysis. */
function withCurves(kernel: KernelReport, computeCapability: string): KernelReport {
  const row = capability(computeCapability);
  if (row === undefined) return kernel;
  const launches = kernel.launches.map((launch) => {
    const { occupancy, block, dynamicSharedBytes } = launch;
    if (occupancy === null) return launch;
    const curves = occupancyCurves(row, {
      threadsPerBlock: block[0] * block[1] * block[2],
      registersPerThread: occupancy.registersPerThread,
      sharedBytesPerBlock: occupancy.staticSharedBytes + dynamicSharedBytes,
    });
    return { ...launch, occupancy: { ...occupancy, curves } };
  });
  return { ...kernel, launches };
}
