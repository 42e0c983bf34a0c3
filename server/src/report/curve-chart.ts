/** The geometry of an occupancy curve as a small chart: plain numbers and texts, which panel and page only draw. */
import type { OccupancyCurve } from '../hardware/occupancy-curves';
import { grouped } from './figures';
import type { LaunchReport } from './report';

export interface CurveChart {
  readonly title: string;
  /** Size of the whole picture; everything below is in its coordinates, the origin at the upper left. */
  readonly width: number;
  readonly height: number;
  /** The rectangle of the curve. */
  readonly plot: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number };
  /** The curve as points of an SVG polyline: a stair, because occupancy changes in steps. */
  readonly points: string;
  /** Where the launch stands. */
  readonly marker: { readonly x: number; readonly y: number; readonly text: string };
  readonly ticks: readonly { readonly x: number; readonly text: string }[];
  readonly levels: readonly { readonly y: number; readonly text: string }[];
  /** The whole picture in words, for those who do not see it. */
  readonly description: string;
}

const WIDTH = 340;
const HEIGHT = 170;
const PLOT = { left: 34, top: 26, right: WIDTH - 12, bottom: HEIGHT - 22 };

const names = { threads: 'threads a block', registers: 'registers a thread', shared: 'bytes of shared memory a block' };
const titles = { threads: 'Block size', registers: 'Registers', shared: 'Shared memory' };

/** The charts of a launch whose report has curves; empty otherwise. */
export function curveCharts({ occupancy, block, dynamicSharedBytes }: LaunchReport): CurveChart[] {
  if (!occupancy?.curves) return [];
  const present: Readonly<Record<OccupancyCurve['resource'], number>> = {
    threads: block[0] * block[1] * block[2],
    registers: occupancy.registersPerThread,
    shared: occupancy.staticSharedBytes + dynamicSharedBytes,
  };
  return occupancy.curves.map((curve) => chartOf(curve, present[curve.resource], occupancy.warpsPerSm));
}

function chartOf(curve: OccupancyCurve, present: number, warps: number): CurveChart {
  const { values, warpsPerSm, mostWarps, resource } = curve;
  const last = values[values.length - 1] ?? 1;
  const x = (value: number) => rounded(PLOT.left + ((PLOT.right - PLOT.left) * Math.min(value, last)) / last);
  const y = (count: number) => rounded(PLOT.bottom - ((PLOT.bottom - PLOT.top) * count) / Math.max(1, mostWarps));
  const points: string[] = [];
  warpsPerSm.forEach((count, index) => {
    // an amount between two values needs what the next one needs
    const from = index === 0 ? values[0] : values[index - 1];
    if (index === 0 || count !== warpsPerSm[index - 1]) points.push(`${x(from)},${y(count)}`);
    if (index === warpsPerSm.length - 1 || warpsPerSm[index + 1] !== count)
      points.push(`${x(values[index])},${y(count)}`);
  });
  const shown = grouped(present);
  return {
    title: titles[resource],
    width: WIDTH,
    height: HEIGHT,
    plot: PLOT,
    points: points.join(' '),
    marker: { x: x(present), y: y(warps), text: `${shown}: ${warps} of ${mostWarps} warps` },
    ticks: [0, last / 2, last].map((value) => ({ x: x(value), text: grouped(value) })),
    levels: [0, mostWarps / 2, mostWarps].map((count) => ({ y: y(count), text: `${count}` })),
    description: `Resident warps against ${names[resource]}: ${warps} of ${mostWarps} at ${shown}.`,
  };
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
