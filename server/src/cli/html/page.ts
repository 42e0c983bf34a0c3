/** `simulate --format html`: one kernel's whole simulation as a page that needs nothing else: no scripts, no other files. */
import { type Capability, capability } from '../../hardware/capabilities';
import { curveCharts } from '../../report/curve-chart';
import { dimensions, grouped, percent } from '../../report/figures';
import type { AccessReport, CheckReport, Finding, KernelReport, LaunchReport } from '../../report/report';
import { witnessPicture } from '../../report/witness-picture';
import {
  assumptionsText,
  estimateText,
  launchSummary,
  originText,
  registersText,
  stepNames,
  tierText,
} from '../../report/wording';
import { type Content, element, escaped, type Markup } from './markup';
import { curvePicture, witnessMarkup } from './pictures';
import { style } from './style';

export interface PageSources {
  /** Lines of a file. */
  readonly linesOf: (file: string) => readonly string[];
}

/** Reports of one kernel, one for each capability. */
export function simulationPage(reports: readonly CheckReport[], name: string, sources: PageSources): string {
  const [first] = reports;
  const parts = reports.flatMap((report) =>
    report.files.flatMap(({ kernels, diagnostics, path }) =>
      kernels.map((kernel) => kernelPart(kernel, diagnostics, path, report.computeCapability, sources)),
    ),
  );
  const footer = element('p', { class: 'dim' }, `${first?.tool.name ?? 'warplens'} ${first?.tool.version ?? ''}`);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(`${name} · Warplens`)}</title>
<style>${style}</style>
</head>
<body>
${[...parts, footer].map(({ markup }) => markup).join('\n')}
</body>
</html>
`;
}

function kernelPart(
  kernel: KernelReport,
  findings: readonly Finding[],
  path: string,
  computeCapability: string,
  sources: PageSources,
): Markup {
  const row = capability(computeCapability);
  const types = kernel.templateArguments.length > 0 ? `<${kernel.templateArguments.join(', ')}>` : '';
  const own = findings.filter((finding) => finding.kernel === kernel.name);
  return element(
    'main',
    {},
    element('h1', {}, kernel.name + types),
    element('p', { class: 'dim' }, `${path}:${kernel.line}, compute capability ${computeCapability}`),
    kernel.problem ? element('p', { class: 'poor' }, kernel.problem) : element('p', { class: 'dim' }, tierText(kernel)),
    own.length > 0 ? findingsPart(own, sources) : undefined,
    kernel.launches.map((launch, index) => launchPart(launch, index, kernel.launches.length, row, sources)),
    kernel.skipped.length > 0
      ? [
          element('h2', {}, 'Not understood'),
          element(
            'ul',
            {},
            kernel.skipped.map(({ line, column, reason }) => element('li', {}, `${line}:${column} ${reason}`)),
          ),
        ]
      : undefined,
  );
}

function findingsPart(findings: readonly Finding[], sources: PageSources): Content {
  return [
    element('h2', {}, 'Findings'),
    findings.map((finding) =>
      element(
        'details',
        {},
        element(
          'summary',
          {},
          element('span', { class: finding.severity === 'information' ? 'dim' : 'poor' }, finding.severity),
          ` ${finding.line}:${finding.column} ${finding.message}`,
        ),
        excerptOf(finding, sources),
        finding.fixes.map(({ title }) => element('p', {}, `Mend: ${title}.`)),
      ),
    ),
  ];
}

function launchPart(
  launch: LaunchReport,
  index: number,
  count: number,
  row: Capability | undefined,
  sources: PageSources,
): Content {
  const title = count > 1 ? `Launch ${index + 1} of ${count}: ` : 'Launch: ';
  const charts = curveCharts(launch);
  return [
    element('h2', {}, title + launchSummary(launch).join(' · ')),
    factsOf(launch),
    charts.length > 0
      ? [element('h3', {}, 'Occupancy'), element('div', { class: 'charts' }, charts.map(curvePicture)), stepsOf(launch)]
      : undefined,
    element('h3', {}, 'Memory accesses'),
    launch.accesses.length === 0 ? element('p', {}, 'No memory access was found.') : accessTable(launch),
    launch.accesses.map((access) => accessPart(access, row, sources)),
  ];
}

function factsOf(launch: LaunchReport): Markup {
  const facts: [string, string][] = [
    ['Launch', originText(launch)],
    ['Grid', dimensions(launch.grid)],
    ['Block', dimensions(launch.block)],
  ];
  const assumed = assumptionsText(launch);
  if (assumed !== '') facts.push(['With', assumed]);
  const { occupancy } = launch;
  if (occupancy !== null) {
    const limits = occupancy.limitedBy.length > 0 ? `, limited by ${occupancy.limitedBy.join(' and ')}` : '';
    facts.push(
      [
        'Occupancy',
        `${percent(occupancy.theoretical)}: ${occupancy.blocksPerSm} blocks, ${occupancy.warpsPerSm} warps a multiprocessor${limits}`,
      ],
      ['Registers', registersText(occupancy)],
      [
        'Shared memory',
        `${grouped(occupancy.staticSharedBytes)} bytes static, ${grouped(launch.dynamicSharedBytes)} dynamic`,
      ],
    );
    const { waves } = occupancy;
    if (waves)
      facts.push(['Waves', `${waves.waves.toFixed(2)} on a ${waves.device}, the last ${percent(waves.lastWave)} full`]);
  }
  if (launch.estimate !== null) facts.push(['Time', estimateText(launch.estimate)]);
  if (launch.incomplete !== undefined) facts.push(['Incomplete', launch.incomplete]);
  return element(
    'dl',
    { class: 'facts' },
    facts.map(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]),
  );
}

function stepsOf({ occupancy }: LaunchReport): Content {
  const steps = occupancy?.steps ?? [];
  if (steps.length === 0) return undefined;
  return element(
    'ul',
    {},
    steps.map(({ effect, text }) => element('li', {}, stepNames[effect] + text)),
  );
}

interface Counted {
  readonly value: number;
  readonly ideal: number;
  readonly unit: string;
}

const countedOf = (access: AccessReport): Counted =>
  access.wavefronts > 0
    ? { value: access.wavefronts, ideal: access.idealWavefronts, unit: 'wavefronts' }
    : { value: access.sectors, ideal: access.idealSectors, unit: 'sectors' };

const anchorOf = (access: AccessReport): string => `a${access.line}-${access.column}-${access.operation}`;

const shares = (ideal: number, value: number): Markup => {
  const part = Math.min(1, ideal / value);
  return element('span', { class: part < 0.5 ? 'poor' : undefined }, percent(part));
};

function accessTable(launch: LaunchReport): Markup {
  const columns = ['Place', 'Access', 'Used', 'Moved', 'Ideal', 'Requests', 'Certainty'];
  const isNumber = [false, false, true, true, true, true, false];
  const kind = (index: number) => ({ class: isNumber[index] ? 'number' : undefined });
  const rows = launch.accesses.map((access): Content[] => {
    const { value, ideal, unit } = countedOf(access);
    const isKnown = access.certainty !== 'unknown';
    const hasCount = isKnown && value > 0;
    return [
      element('a', { href: `#${anchorOf(access)}` }, `${access.line}:${access.column}`),
      [element('code', {}, access.expression), element('div', { class: 'dim' }, kindOf(access))],
      hasCount ? shares(ideal, value) : '–',
      hasCount ? `${grouped(value)} ${unit}` : '–',
      hasCount ? grouped(ideal) : '–',
      isKnown ? grouped(access.requests) : '–',
      access.reason === null ? access.certainty : `${access.certainty}: ${access.reason}`,
    ];
  });
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      {},
      element('caption', {}, 'Counted for the whole grid'),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          columns.map((title, index) => element('th', { scope: 'col', ...kind(index) }, title)),
        ),
      ),
      element(
        'tbody',
        {},
        rows.map((cells) =>
          element(
            'tr',
            {},
            cells.map((cell, index) => element('td', kind(index), cell)),
          ),
        ),
      ),
    ),
  );
}

const kindOf = (access: AccessReport): string =>
  `${access.space} ${access.operation}, ${access.bytesPerLane} bytes a lane`;

const captions = {
  banks: 'Banks of the warp shown, each cell a word with its lane. Words of one bank are served one after the other.',
  sectors: 'What the warp shown moves, a line a piece of memory; filled are the bytes that lanes asked for.',
} as const;

/** One access: its place in the source, and the warp that shows it best. */
function accessPart(access: AccessReport, row: Capability | undefined, sources: PageSources): Markup {
  const picture = row && witnessPicture(access, row);
  const { value, ideal } = countedOf(access);
  const isPoor = access.certainty !== 'unknown' && value > ideal * 1.05;
  const { witness } = access;
  return element(
    'details',
    { id: anchorOf(access), open: isPoor ? '' : undefined },
    element(
      'summary',
      {},
      `${access.line}:${access.column} `,
      element('code', {}, access.expression),
      ` – ${kindOf(access)}`,
    ),
    excerptOf(access, sources),
    witness &&
      element(
        'p',
        { class: 'dim' },
        `The warp of block (${witness.block.join(', ')}) from thread (${witness.thread.join(', ')}): ${
          access.space === 'shared'
            ? `${witness.wavefronts} wavefronts, ideal ${witness.idealWavefronts}`
            : `${witness.sectors} sectors, ideal ${witness.idealSectors}`
        }.`,
      ),
    picture && element('figure', {}, witnessMarkup(picture), element('figcaption', {}, captions[picture.kind])),
  );
}

/** Lines around the marked one. */
const AROUND = 2;

function excerptOf(
  at: { file: string; line: number; column: number; endLine: number; endColumn: number },
  { linesOf }: PageSources,
): Content {
  const lines = linesOf(at.file);
  if (lines[at.line - 1] === undefined) return undefined;
  const from = Math.max(1, at.line - AROUND);
  const to = Math.min(lines.length, at.line + AROUND);
  const shown: Content[] = [];
  for (let line = from; line <= to; line++) {
    const text = (lines[line - 1] ?? '').replace(/\r$/, '');
    const number = `${line}`.padStart(5);
    if (line !== at.line) {
      shown.push(`${number}  ${text}\n`);
      continue;
    }
    const start = Math.min(at.column - 1, text.length);
    const end = at.endLine === at.line ? Math.min(Math.max(start, at.endColumn - 1), text.length) : text.length;
    shown.push(
      `${number}  ${text.slice(0, start)}`,
      element('mark', {}, text.slice(start, end)),
      `${text.slice(end)}\n`,
    );
  }
  return element('pre', {}, shown);
}
