/** Reports as JSON: one object a kernel instance, as the command line's contract has it. */
import type { FileReport, KernelReport, LaunchReport } from '../report/report';

/** One capability's report alone, several as a list. */
export function formatJson(reports: readonly { readonly files: readonly FileReport[] }[]): string {
  const shown = reports.map((report) => ({
    ...report,
    files: report.files.map((file) => ({ ...file, kernels: file.kernels.flatMap(instancesOf) })),
  }));
  return `${JSON.stringify(shown.length === 1 ? shown[0] : shown, null, 2)}\n`;
}

/** A template kernel that is launched with several arguments, one report for each of its instances. */
function instancesOf(kernel: KernelReport): KernelReport[] {
  const instances = new Map<string, LaunchReport[]>();
  for (const launch of kernel.launches) {
    const key = launch.templateArguments.join(', ');
    instances.set(key, [...(instances.get(key) ?? []), launch]);
  }
  if (instances.size < 2) return [kernel];
  return [...instances.values()].map((launches) => ({
    ...kernel,
    templateArguments: launches[0].templateArguments,
    launches,
  }));
}
