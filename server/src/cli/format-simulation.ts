/** `simulate` as text: launches, occupancy, and every access with its counters. */
import { dimensions, grouped, percent } from '../report/figures';
import type { AccessReport, KernelReport, LaunchReport } from '../report/report';
import { assumptionsText, estimateText, originText, tierText } from '../report/wording';
import type { Painter } from './excerpt';

const ratio = (ideal: number, value: number): string => (value > 0 ? percent(Math.min(1, ideal / value)) : '');

/** Rows with columns as wide as their widest cell; numbers stand right. */
function table(head: readonly string[], rows: readonly (readonly string[])[], isNumber: readonly boolean[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (isNumber[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line);
}

function accessRow(access: AccessReport): string[] {
  const isShared = access.wavefronts > 0;
  const [value, ideal] = isShared ? [access.wavefronts, access.idealWavefronts] : [access.sectors, access.idealSectors];
  const isKnown = access.certainty !== 'unknown';
  return [
    `${access.line}:${access.column}`,
    access.expression.replace(/\s+/g, ' ').slice(0, 60),
    `${access.space} ${access.operation}`,
    `${access.bytesPerLane}`,
    isKnown ? grouped(access.requests) : '',
    isKnown ? `${grouped(value)} ${isShared ? 'wavefronts' : 'sectors'}` : '',
    isKnown ? grouped(ideal) : '',
    isKnown ? ratio(ideal, value) : '',
    access.reason === null ? access.certainty : `${access.certainty}: ${access.reason}`,
  ];
}

const stepNames = { gain: 'more warps:', free: 'room:', loss: 'fewer warps:' } as const;

const registerOrigins = {
  estimate: ', estimated',
  compiler: ' by the compiler',
  option: '',
  'launch-bounds': ', bound by __launch_bounds__',
} as const;

function launchLines(launch: LaunchReport, paint: Painter): string[] {
  const lines = [
    paint.strong(`grid ${dimensions(launch.grid)}, block ${dimensions(launch.block)}, ${originText(launch)}`),
  ];
  const assumed = assumptionsText(launch);
  if (assumed !== '') lines.push(`with ${assumed}`);
  const { occupancy } = launch;
  if (occupancy !== null) {
    const origin = registerOrigins[occupancy.registersOrigin];
    const limits = occupancy.limitedBy.length > 0 ? `, limited by ${occupancy.limitedBy.join(' and ')}` : '';
    lines.push(
      `${percent(occupancy.theoretical)} occupancy: ${occupancy.blocksPerSm} blocks and ${occupancy.warpsPerSm} warps a multiprocessor${limits}`,
      `${occupancy.registersPerThread} registers a thread${origin}, ${occupancy.staticSharedBytes} + ${launch.dynamicSharedBytes} bytes of shared memory`,
    );
  }
  for (const { effect, text } of occupancy?.steps ?? []) lines.push(`${stepNames[effect]} ${text}`);
  if (occupancy?.waves) {
    const { waves, device, lastWave } = occupancy.waves;
    lines.push(`${waves.toFixed(2)} waves on a ${device}, the last ${percent(lastWave)} full`);
  }
  if (launch.estimate !== null) lines.push(estimateText(launch.estimate));
  if (launch.incomplete !== undefined) lines.push(`incomplete: ${launch.incomplete}`);
  const head = ['place', 'access', 'kind', 'bytes', 'requests', 'count', 'ideal', 'used', 'certainty'];
  const isNumber = [false, false, false, true, true, true, true, true, false];
  if (launch.accesses.length > 0) lines.push('', ...table(head, launch.accesses.map(accessRow), isNumber));
  return lines;
}

/** One kernel, all instantiations of it, under one capability. */
export function formatSimulation(kernels: readonly KernelReport[], computeCapability: string, paint: Painter): string {
  const lines: string[] = [];
  for (const kernel of kernels) {
    const types = kernel.templateArguments.length > 0 ? `<${kernel.templateArguments.join(', ')}>` : '';
    lines.push(`${paint.strong(kernel.name + types)} (line ${kernel.line}), compute capability ${computeCapability}`);
    lines.push(kernel.problem ?? tierText(kernel));
    for (const launch of kernel.launches) lines.push('', ...launchLines(launch, paint));
    for (const { line, column, reason } of kernel.skipped) lines.push(`${line}:${column}: not understood: ${reason}`);
    lines.push('');
  }
  return `${lines.join('\n')}`;
}
