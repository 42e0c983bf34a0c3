/** The panel's page: a kernel's report as headings, lists and tables. Text is set as text, never as HTML. */

import { type CurveChart, curveCharts } from '../../../server/src/report/curve-chart';
import { dimensions, grouped, percent } from '../../../server/src/report/figures';
import type { AccessReport, KernelReport, LaunchReport } from '../../../server/src/report/report';
import {
  assumptionsText,
  estimateText,
  launchSummary,
  originText,
  registersText,
  stepNames,
  tierText,
} from '../../../server/src/report/wording';
import type { FromPanel, ToPanel } from './messages';

declare function acquireVsCodeApi(): { postMessage(message: FromPanel): void };

const vscode = acquireVsCodeApi();

type Child = Node | string;

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  made.append(...children);
  return made;
}

function placeLink(access: AccessReport, files: ToPanel['result']['files']): HTMLElement {
  const link = element('button', 'link', `${access.line}:${access.column}`);
  link.type = 'button';
  link.title = `Show ${access.expression} in the editor`;
  const uri = files[access.file];
  link.addEventListener('click', () => vscode.postMessage({ kind: 'reveal', uri, range: access }));
  return link;
}

/** A share with its bar; the figure stands in the text, so that the bar is for the eye only. */
function share(ideal: number, value: number): HTMLElement {
  const part = Math.min(1, ideal / value);
  const bar = element('span', 'bar');
  bar.style.setProperty('--share', `${part}`);
  bar.ariaHidden = 'true';
  return element('span', part < 0.5 ? 'share poor' : 'share', percent(part), bar);
}

const columns = ['Place', 'Access', 'Efficiency', 'Moved', 'Ideal', 'Requests', 'Certainty'];
const numeric = new Set(['Efficiency', 'Moved', 'Ideal', 'Requests']);

function accessCells(access: AccessReport, files: ToPanel['result']['files']): Child[] {
  const isKnown = access.certainty !== 'unknown';
  const [value, ideal, unit] =
    access.wavefronts > 0
      ? [access.wavefronts, access.idealWavefronts, 'wavefronts']
      : [access.sectors, access.idealSectors, 'sectors'];
  const hasCount = isKnown && value > 0;
  const kind = `${access.space} ${access.operation}, ${access.bytesPerLane} bytes a lane`;
  return [
    placeLink(access, files),
    element('span', '', element('code', '', access.expression), element('span', 'kind', kind)),
    hasCount ? share(ideal, value) : '–',
    hasCount ? `${grouped(value)} ${unit}` : '–',
    hasCount ? grouped(ideal) : '–',
    isKnown ? grouped(access.requests) : '–',
    access.reason === null ? access.certainty : `${access.certainty}: ${access.reason}`,
  ];
}

function accessTable(launch: LaunchReport, files: ToPanel['result']['files']): HTMLElement {
  const head = element('tr', '');
  for (const column of columns) {
    const cell = element('th', numeric.has(column) ? 'number' : '', column);
    cell.scope = 'col';
    head.append(cell);
  }
  const body = element('tbody', '');
  for (const access of launch.accesses) {
    const cells = accessCells(access, files);
    body.append(
      element(
        'tr',
        '',
        ...cells.map((cell, index) => element('td', numeric.has(columns[index]) ? 'number' : '', cell)),
      ),
    );
  }
  const caption = element('caption', '', 'Accesses, counted for the whole grid');
  return element('div', 'scroll', element('table', '', caption, element('thead', '', head), body));
}

function occupancyList(launch: LaunchReport): HTMLElement {
  const list = element('dl', 'facts');
  const fact = (name: string, text: string): void => {
    list.append(element('dt', '', name), element('dd', '', text));
  };
  fact('Launch', originText(launch));
  fact('Grid', dimensions(launch.grid));
  fact('Block', dimensions(launch.block));
  const assumed = assumptionsText(launch);
  if (assumed !== '') fact('With', assumed);
  const { occupancy } = launch;
  if (occupancy !== null) {
    const limits = occupancy.limitedBy.length > 0 ? `, limited by ${occupancy.limitedBy.join(' and ')}` : '';
    fact(
      'Occupancy',
      `${percent(occupancy.theoretical)}: ${occupancy.blocksPerSm} blocks, ${occupancy.warpsPerSm} warps${limits}`,
    );
    fact('Registers', registersText(occupancy));
    fact('Shared memory', `${grouped(occupancy.staticSharedBytes + launch.dynamicSharedBytes)} bytes a block`);
  }
  if (launch.estimate !== null) fact('Time', estimateText(launch.estimate));
  if (launch.incomplete !== undefined) fact('Incomplete', launch.incomplete);
  return list;
}

const svgNamespace = 'http://www.w3.org/2000/svg';

function shape(tag: string, attributes: Readonly<Record<string, string | number>>, text = ''): SVGElement {
  const made = document.createElementNS(svgNamespace, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, `${value}`);
  made.textContent = text;
  return made;
}

/** Resident warps against one resource, with the launch marked. */
function curve({ plot, marker, width, height, ...chart }: CurveChart): SVGElement {
  const picture = shape('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': chart.description });
  picture.append(
    shape('text', { x: plot.left, y: 14, class: 'title' }, chart.title),
    shape('text', { x: plot.right, y: 14, 'text-anchor': 'end', class: 'value' }, marker.text),
    ...chart.levels.flatMap(({ y, text }) => [
      shape('line', { x1: plot.left, y1: y, x2: plot.right, y2: y, class: 'grid' }),
      shape('text', { x: plot.left - 5, y: y + 3.5, 'text-anchor': 'end' }, text),
    ]),
    ...chart.ticks.map(({ x, text }, index) => {
      const anchor = index === 0 ? 'start' : index === chart.ticks.length - 1 ? 'end' : 'middle';
      return shape('text', { x, y: plot.bottom + 15, 'text-anchor': anchor }, text);
    }),
    shape('polyline', { points: chart.points, class: 'curve' }),
    shape('line', { x1: marker.x, y1: plot.top, x2: marker.x, y2: plot.bottom, class: 'here' }),
    shape('circle', { cx: marker.x, cy: marker.y, r: 4, class: 'here' }),
  );
  return picture;
}

/** Curves of occupancy and the next steps; nothing where the report has none. */
function occupancyPart(launch: LaunchReport): Child[] {
  const charts = curveCharts(launch);
  if (charts.length === 0) return [];
  const steps = launch.occupancy?.steps ?? [];
  const list = element('ul', 'steps', ...steps.map(({ effect, text }) => element('li', '', stepNames[effect] + text)));
  return [element('div', 'charts', ...charts.map(curve)), ...(steps.length > 0 ? [list] : [])];
}

function launchSection(
  launch: LaunchReport,
  count: number,
  index: number,
  files: ToPanel['result']['files'],
): HTMLElement {
  const title = count > 1 ? `Launch ${index + 1} of ${count}: ` : '';
  return element(
    'section',
    '',
    element('h2', '', title + launchSummary(launch).join(' · ')),
    occupancyList(launch),
    launch.accesses.length > 0 ? accessTable(launch, files) : element('p', '', 'No memory access was found.'),
    ...occupancyPart(launch),
  );
}

function kernelReport(kernel: KernelReport, { result }: ToPanel): Child[] {
  const parts: Child[] = [];
  if (kernel.problem !== undefined) parts.push(element('p', 'problem', kernel.problem));
  else parts.push(element('p', 'place', tierText(kernel)));
  for (const [index, launch] of kernel.launches.entries()) {
    parts.push(launchSection(launch, kernel.launches.length, index, result.files));
  }
  if (kernel.skipped.length > 0) {
    const list = element('ul', '');
    for (const { line, column, reason } of kernel.skipped)
      list.append(element('li', '', `${line}:${column} ${reason}`));
    parts.push(element('h2', '', 'Not understood'), list);
  }
  return parts;
}

function show(message: ToPanel): void {
  const { result, name } = message;
  const report = document.getElementById('report');
  const place = `${result.fileName}, compute capability ${result.computeCapability}`;
  const header = element('header', '', element('h1', '', name), element('p', 'place', place));
  const body =
    result.kernel === undefined
      ? [element('p', 'problem', `${name} is not in ${result.fileName} at the moment.`)]
      : kernelReport(result.kernel, message);
  report?.replaceChildren(header, ...body);
}

window.addEventListener('message', (event: MessageEvent<ToPanel>) => {
  if (event.data.kind === 'show') show(event.data);
});
vscode.postMessage({ kind: 'ready' });
