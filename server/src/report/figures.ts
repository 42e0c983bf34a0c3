/**
 * The few figures that hover, lens, panel and command line all show, read off a report in one place so that they agree.
 * Nothing is simulated here.
 */
import { grouped as groupedInteger } from '../hardware/grouped';
import type { AccessReport, LaunchReport } from './report';

export interface MemoryFigures {
  /** Worst conflict of a shared access: wavefronts for each ideal one; 1 without conflicts, undefined without shared accesses. */
  readonly worstConflict: number | undefined;
  /** Ideal sectors of each sector moved, 0 … 1; undefined when nothing known goes through global memory. */
  readonly globalEfficiency: number | undefined;
  /** Accesses whose addresses are not known. */
  readonly unknown: number;
}

/** Wavefronts needed for each ideal one, of the warp that shows it best; 1 is free of conflicts. */
export function conflictDegree(access: AccessReport): number {
  const shown = access.witness ?? access;
  return shown.idealWavefronts > 0 ? shown.wavefronts / shown.idealWavefronts : 1;
}

/** Share of the sectors moved that was asked for, 0 … 1; undefined when no sector is known. */
export function sectorEfficiency(access: AccessReport): number | undefined {
  return access.sectors > 0 ? Math.min(1, access.idealSectors / access.sectors) : undefined;
}

/** What a launch does to memory, in two figures. */
export function memoryFigures(launch: LaunchReport): MemoryFigures {
  let worstConflict: number | undefined;
  let sectors = 0;
  let idealSectors = 0;
  let unknown = 0;
  for (const access of launch.accesses) {
    if (access.certainty === 'unknown') unknown++;
    else if (access.space === 'shared') worstConflict = Math.max(worstConflict ?? 1, conflictDegree(access));
    else if (access.space === 'global') {
      sectors += access.sectors;
      idealSectors += access.idealSectors;
    }
  }
  return { worstConflict, globalEfficiency: sectors > 0 ? Math.min(1, idealSectors / sectors) : undefined, unknown };
}

/** `50 %`; a tenth is shown below ten so that 3.1 % does not read 3 %. */
export function percent(share: number): string {
  const value = share * 100;
  return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} %`;
}

/** `32-way conflict`, `1.5-way conflict`, `no bank conflicts`. */
export function conflictText(degree: number): string {
  if (degree <= 1) return 'no bank conflicts';
  return `${shortNumber(degree)}-way conflict`;
}

/** `32 × 8`, trailing ones left out. */
export function dimensions(size: readonly [number, number, number]): string {
  const [x, y, z] = size;
  if (z !== 1) return `${x} × ${y} × ${z}`;
  return y !== 1 ? `${x} × ${y}` : `${x}`;
}

/** At most one decimal. */
export function shortNumber(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toFixed(1);
}

/** `1,048,576`, of the nearest integer */
export const grouped = (value: number): string => groupedInteger(Math.round(value));
