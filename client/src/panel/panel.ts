/** The panel's page: a kernel's report as headings, lists and tables. Text is set as text, never as HTML. */
import { dimensions, grouped, percent } from '../../../server/src/report/figures';
import type { AccessReport, KernelReport, LaunchReport } from '../../../server/src/report/report';
import { assumptionsText, estimateText, launchSummary, originText } from '../../../server/src/report/wording';
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
    const origin = occupancy.registersOrigin === 'estimate' ? ' (estimated)' : '';
    fact('Registers', `${occupancy.registersPerThread} a thread${origin}`);
    fact('Shared memory', `${grouped(occupancy.staticSharedBytes + launch.dynamicSharedBytes)} bytes a block`);
  }
  if (launch.estimate !== null) fact('Time', estimateText(launch.estimate));
  if (launch.incomplete !== undefined) fact('Incomplete', launch.incomplete);
  return list;
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
  );
}

function kernelReport(kernel: KernelReport, { result }: ToPanel): Child[] {
  const parts: Child[] = [];
  if (kernel.problem !== undefined) parts.push(element('p', 'problem', kernel.problem));
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
