/** Waves of a grid: how often all multiprocessors are filled with its blocks. */
import { device, typicalDevice } from '../hardware/devices';
import type { WavesReport } from './report';

/**
 * On the chosen device if it has the capability, else on the one that stands for the capability; undefined when none is
 * known or no block fits.
 */
export function launchWaves(
  cc: string,
  chosen: string | undefined,
  blocks: number,
  blocksPerSm: number,
): WavesReport | undefined {
  const named = chosen === undefined ? undefined : device(chosen);
  const on = named?.cc === cc ? named : typicalDevice(cc);
  if (!on || blocksPerSm < 1 || !(blocks > 0)) return undefined;
  const blocksPerWave = on.sms * blocksPerSm;
  const waves = blocks / blocksPerWave;
  const lastWave = (blocks % blocksPerWave) / blocksPerWave;
  return { device: on.name, multiprocessors: on.sms, blocksPerWave, waves, lastWave: lastWave === 0 ? 1 : lastWave };
}
