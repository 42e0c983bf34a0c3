/** The text of a hover on an access. */
import type { Capability } from '../hardware/capabilities';
import { conflictDegree, conflictText, dimensions, grouped, percent, sectorEfficiency } from '../report/figures';
import type { AccessReport, AccessWitness, KernelReport, LaunchReport } from '../report/report';
import { assumptionsText, chargedText, originText, tierText } from '../report/wording';
import { lanePicture } from './lane-picture';

const coordinates = ([x, y, z]: readonly [number, number, number]): string => `(${x}, ${y}, ${z})`;

const warpText = ({ block, thread }: AccessWitness): string =>
  `the warp of block ${coordinates(block)} from thread ${coordinates(thread)}`;

/** What it comes to, in bold. */
function headline(access: AccessReport): string {
  if (access.certainty === 'unknown') return 'Not known';
  if (access.space === 'shared') {
    const degree = conflictDegree(access);
    const text = degree > 1 ? conflictText(degree).replace('conflict', 'bank conflict') : conflictText(1);
    return text.charAt(0).toUpperCase() + text.slice(1);
  }
  const efficiency = sectorEfficiency(access);
  if (efficiency !== undefined)
    return efficiency >= 1 ? 'Coalesced' : `${percent(efficiency)} of the bytes moved are used`;
  if (access.space === 'constant')
    return access.wavefronts > access.requests ? 'Several addresses a warp' : 'One address a warp';
  return 'Nothing moved';
}

/** `32,768 requests, 1,048,576 wavefronts, ideal 32,768 (3.1 %)` */
function counters(access: AccessReport): string {
  const parts = [`${grouped(access.requests)} requests`];
  const moved = (name: string, value: number, ideal: number): void => {
    const share = ideal > 0 ? `, ideal ${grouped(ideal)} (${percent(Math.min(1, ideal / value))})` : '';
    if (value > 0) parts.push(`${grouped(value)} ${name}${share}`);
  };
  moved('wavefronts', access.wavefronts, access.idealWavefronts);
  moved('sectors', access.sectors, access.idealSectors);
  if (access.transactions > 0 && access.transactions !== access.sectors) {
    parts.push(`${grouped(access.transactions)} transactions`);
  }
  return `Whole grid: ${parts.join(', ')}.`;
}

function certaintyText(access: AccessReport): string {
  const reason = access.reason === null ? '' : `: ${access.reason}`;
  if (access.certainty === 'exact') return 'Exact: it follows from the text.';
  return access.certainty === 'assumed' ? `Assumed${reason}.` : `Unknown${reason}.`;
}

/** One access under one launch, as Markdown. */
export function accessText(
  access: AccessReport,
  launch: LaunchReport,
  kernel: KernelReport,
  capability: Capability,
): string {
  const where = access.object === undefined ? '' : ` of \`${access.object.name}\``;
  const parts = [
    `**${headline(access)}** — ${access.space} ${access.operation}${where}, ${access.bytesPerLane} bytes a lane, capability ${capability.cc}`,
  ];
  const picture = lanePicture(access, capability);
  if (picture !== undefined) parts.push(`\`\`\`text\n${picture}\n\`\`\``);
  const charged = chargedText(access);
  if (access.certainty !== 'unknown') parts.push(charged === '' ? counters(access) : `${counters(access)} ${charged}`);
  parts.push(certaintyText(access));
  const assumed = assumptionsText(launch);
  const shown = picture === undefined || access.witness === undefined ? '' : ` Shown: ${warpText(access.witness)}.`;
  parts.push(
    `\`${kernel.name}\`, grid ${dimensions(launch.grid)}, block ${dimensions(launch.block)}, ${originText(launch)}${assumed === '' ? '' : `; ${assumed}`}.${shown}`,
    tierText(kernel),
  );
  return parts.join('\n\n');
}
