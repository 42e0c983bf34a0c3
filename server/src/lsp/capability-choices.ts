/** What the status bar's picker offers. */
import { capabilities } from '../hardware/capabilities';
import { devices } from '../hardware/devices';
import type { CapabilityChoice } from './protocol';

/** All capabilities, the newest first, with the GPUs people know. */
export function capabilityChoices(): CapabilityChoice[] {
  return capabilities
    .map(({ cc, architecture }) => ({
      computeCapability: cc,
      architecture,
      devices: devices.filter((device) => device.cc === cc).map(({ name }) => name),
    }))
    .reverse();
}
