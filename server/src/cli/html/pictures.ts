/** Occupancy curves and witnesses as SVG. */
import { grouped } from '../../hardware/grouped';
import type { CurveChart } from '../../report/curve-chart';
import type { BankColumn, SectorRow, WitnessPicture } from '../../report/witness-picture';
import { element, type Markup } from './markup';

export function curvePicture(chart: CurveChart): Markup {
  const { plot, marker, width, height } = chart;
  const line = (x1: number, y1: number, x2: number, y2: number, kind: string) =>
    element('line', { x1, y1, x2, y2, class: kind });
  const text = (x: number, y: number, anchor: string, content: string, kind = 'label') =>
    element('text', { x, y, 'text-anchor': anchor, class: kind }, content);
  return element(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': chart.description },
    text(plot.left, 14, 'start', chart.title, 'title'),
    chart.levels.map(({ y, text: level }) => [
      line(plot.left, y, plot.right, y, 'grid'),
      text(plot.left - 5, y + 3.5, 'end', level),
    ]),
    chart.ticks.map(({ x, text: tick }, index) =>
      text(x, plot.bottom + 15, index === 0 ? 'start' : index === chart.ticks.length - 1 ? 'end' : 'middle', tick),
    ),
    element('polyline', { points: chart.points, class: 'curve' }),
    line(marker.x, plot.top, marker.x, plot.bottom, 'here'),
    element('circle', { cx: marker.x, cy: marker.y, r: 4, class: 'here' }),
    text(plot.right, 14, 'end', marker.text, 'value'),
  );
}

const CELL = { width: 26, height: 16 };
/** Words of one bank that are drawn. */
const MOST_WORDS = 32;
/** Sectors that are drawn. */
const MOST_ROWS = 32;

export function witnessMarkup(picture: WitnessPicture): Markup {
  return picture.kind === 'banks' ? bankPicture(picture.columns) : sectorPicture(picture.rows);
}

/** Banks side by side, the words that each has to serve one after the other on top of each other. */
function bankPicture(columns: readonly BankColumn[]): Markup {
  const most = Math.max(1, ...columns.map(({ words }) => words.length));
  const rows = Math.min(most, MOST_WORDS);
  const [width, height] = [columns.length * CELL.width + 1, rows * CELL.height + 20];
  return element(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': `Words that each bank serves one after the other: at most ${most}.`,
    },
    columns.map(({ bank, words }, column) => [
      words
        .slice(0, MOST_WORDS)
        .map((lanes, row) => bankCell(lanes, column, height - 19 - (row + 1) * CELL.height, row)),
      element(
        'text',
        { x: column * CELL.width + CELL.width / 2, y: height - 6, 'text-anchor': 'middle', class: 'label' },
        bank,
      ),
    ]),
  );
}

function bankCell(lanes: readonly number[], column: number, y: number, row: number): Markup {
  const x = column * CELL.width;
  return element(
    'g',
    {},
    element('title', {}, `${lanes.length === 1 ? 'lane' : 'lanes'} ${lanes.join(', ')}`),
    element('rect', {
      x: x + 0.5,
      y: y + 0.5,
      width: CELL.width - 1,
      height: CELL.height - 1,
      class: row === 0 ? 'cell' : 'cell waits',
    }),
    element(
      'text',
      { x: x + CELL.width / 2, y: y + 12, 'text-anchor': 'middle', class: 'lane' },
      lanes.length === 1 ? lanes[0] : `${lanes[0]}+${lanes.length - 1}`,
    ),
  );
}

const BYTE = 7;
const ROW = 17;

/** One line a transaction, the bytes that lanes asked for filled. */
function sectorPicture(rows: readonly SectorRow[]): Markup {
  const shown = rows.slice(0, MOST_ROWS);
  const widest = Math.max(...shown.map(({ bytes }) => bytes));
  const scale = widest > 32 ? 2 : BYTE;
  const left = 90;
  const [width, height] = [left + widest * scale + 220, shown.length * ROW + (rows.length > shown.length ? ROW : 0)];
  return element(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': `${rows.length} transactions, the bytes used in each.`,
    },
    shown.map(({ address, bytes, lanes, used }, index) => {
      const y = index * ROW;
      return [
        element('text', { x: left - 8, y: y + 12, 'text-anchor': 'end', class: 'label' }, `+${grouped(address)}`),
        element('rect', { x: left, y: y + 2, width: bytes * scale, height: ROW - 5, class: 'sector' }),
        used.map(({ from, to }) =>
          element('rect', {
            x: left + from * scale,
            y: y + 2,
            width: (to - from) * scale,
            height: ROW - 5,
            class: 'used',
          }),
        ),
        element('text', { x: left + widest * scale + 8, y: y + 12, class: 'label' }, laneText(lanes)),
      ];
    }),
    rows.length > shown.length
      ? element('text', { x: left, y: height - 5, class: 'label' }, `and ${rows.length - shown.length} more`)
      : undefined,
  );
}

function laneText(lanes: readonly number[]): string {
  const isRange = lanes.length > 2 && lanes[lanes.length - 1] - lanes[0] === lanes.length - 1;
  if (lanes.length === 1) return `lane ${lanes[0]}`;
  if (isRange) return `lanes ${lanes[0]}–${lanes[lanes.length - 1]}`;
  return `lanes ${lanes.slice(0, 6).join(', ')}${lanes.length > 6 ? ' …' : ''}`;
}
