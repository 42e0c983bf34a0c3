/** Over each kernel: occupancy with the steps that are near, the worst conflict, how much of the moved bytes is used, and the way to the panel. */
import type { CodeLens } from 'vscode-languageserver';
import type { FileReport, KernelReport } from '../report/report';
import { launchSummary, nearSteps } from '../report/wording';
import { kernelsOf } from './kernels';
import { toProtocolRange } from './positions';
import { simulateCommand } from './protocol';

export function lensTitle(kernel: KernelReport): string {
  const [launch] = kernel.launches;
  if (launch === undefined) return 'Simulate';
  const parts = launchSummary(launch);
  // the occupancy comes first
  parts.splice(1, 0, ...nearSteps(launch));
  if (kernel.launches.length > 1) parts.push(`1 of ${kernel.launches.length} launches`);
  else if (launch.origin === 'assumed') parts.push('launch assumed');
  return [...parts, 'Simulate'].join(' · ');
}

/** The lenses of a document; kernels of its headers have theirs there. */
export function codeLenses(report: FileReport, uri: string): CodeLens[] {
  return kernelsOf(report)
    .filter(({ nameRange }) => nameRange.file === report.path)
    .map((kernel) => ({
      range: toProtocolRange(kernel.nameRange),
      command: { title: lensTitle(kernel), command: simulateCommand, arguments: [uri, kernel.name] },
    }));
}
