/** Hover: on an access what its warps do to memory, on a kernel's name or a launch what the multiprocessor holds, on launch bounds what they allow. */
import type { Hover, Position } from 'vscode-languageserver';
import { capability } from '../hardware/capabilities';
import type { AccessReport, FileReport, KernelReport, LaunchReport, Range } from '../report/report';
import { accessText } from './hover-access';
import { boundsText } from './hover-bounds';
import { launchText } from './hover-launch';
import { kernelsOf } from './kernels';
import { covers, isNarrower, toProtocolRange } from './positions';

export interface HoverSource {
  readonly report: FileReport;
  readonly computeCapability: string;
}

interface Found {
  readonly range: Range;
  readonly text: string;
}

interface LaunchedAccess {
  readonly access: AccessReport;
  readonly launch: LaunchReport;
  readonly kernel: KernelReport;
}

/** The narrowest accesses at a place: the same one in every launch, and a load and a store of one expression. */
function accessesAt(report: FileReport, file: string, position: Position): LaunchedAccess[] {
  let found: LaunchedAccess[] = [];
  for (const kernel of report.kernels) {
    for (const launch of kernel.launches) {
      for (const access of launch.accesses) {
        if (access.file !== file || !covers(access, position)) continue;
        const narrowest = found[0]?.access;
        if (narrowest !== undefined && isNarrower(narrowest, access)) continue;
        if (narrowest !== undefined && isNarrower(access, narrowest)) found = [];
        found.push({ access, launch, kernel });
      }
    }
  }
  return found;
}

/** At most this many launches of one access are told apart in a hover. */
const maxLaunches = 3;

function accessHover({ report, computeCapability }: HoverSource, file: string, position: Position): Found | undefined {
  const row = capability(computeCapability);
  const found = accessesAt(report, file, position);
  if (row === undefined || found.length === 0) return undefined;
  const texts = new Set(found.map(({ access, launch, kernel }) => accessText(access, launch, kernel, row)));
  const shown = [...texts].slice(0, maxLaunches);
  if (texts.size > shown.length) shown.push(`*and ${texts.size - shown.length} more launches*`);
  return { range: found[0].access, text: shown.join('\n\n---\n\n') };
}

function launchHover({ report, computeCapability }: HoverSource, file: string, position: Position): Found | undefined {
  const row = capability(computeCapability);
  if (row === undefined) return undefined;
  for (const kernel of kernelsOf(report)) {
    const isName = kernel.nameRange.file === file && covers(kernel.nameRange, position);
    const launches = isName
      ? kernel.launches
      : kernel.launches.filter(({ location }) => location?.file === file && covers(location, position));
    const range = isName ? kernel.nameRange : launches[0]?.location;
    if (range === undefined) continue;
    const texts = new Set(launches.map((launch) => launchText(kernel, launch, row)));
    const shown = [...texts].slice(0, maxLaunches);
    if (texts.size > shown.length) shown.push(`*and ${texts.size - shown.length} more launches*`);
    if (kernel.problem !== undefined) shown.unshift(`**${kernel.name}**: ${kernel.problem}`);
    if (shown.length > 0) return { range, text: shown.join('\n\n---\n\n') };
  }
  return undefined;
}

function boundsHover({ report, computeCapability }: HoverSource, file: string, position: Position): Found | undefined {
  const row = capability(computeCapability);
  if (row === undefined) return undefined;
  for (const kernel of kernelsOf(report)) {
    const launches = kernel.launches.filter(({ launchBounds }) => {
      const place = launchBounds?.location;
      return place?.file === file && covers(place, position);
    });
    const range = launches[0]?.launchBounds?.location;
    if (range === undefined) continue;
    // instances of a template may have different bounds
    const byBounds = new Map<string, LaunchReport[]>();
    for (const launch of launches) {
      const key = `${launch.launchBounds?.maxThreads} ${launch.launchBounds?.minBlocks}`;
      byBounds.set(key, [...(byBounds.get(key) ?? []), launch]);
    }
    const texts = [...byBounds.values()].flatMap((same) => {
      const bounds = same[0].launchBounds;
      return bounds === undefined ? [] : boundsText(kernel, bounds, same, row);
    });
    return { range, text: texts.slice(0, maxLaunches).join('\n\n---\n\n') };
  }
  return undefined;
}

/** The hover at a place of a file, from the report of that file or of one that includes it. */
export function hoverAt(source: HoverSource, file: string, position: Position): Hover | null {
  const found =
    accessHover(source, file, position) ?? launchHover(source, file, position) ?? boundsHover(source, file, position);
  if (found === undefined) return null;
  return { contents: { kind: 'markdown', value: found.text }, range: toProtocolRange(found.range) };
}
