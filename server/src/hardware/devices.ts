/**
 * GPUs people know, for comparisons and time estimates. Figures are the vendor's published ones for the reference
 * board: boost clock (shader clock before Kepler), peak of fused multiply-add in FP32, memory bandwidth as shipped.
 */

export interface Device {
  readonly name: string;
  /** Compute capability, '9.0'. */
  readonly cc: string;
  readonly sms: number;
  readonly clockGHz: number;
  /** Memory bandwidth in GB/s (10^9 bytes). */
  readonly bandwidth: number;
  /** Peak FP32 rate in GFLOP/s, a fused multiply-add counted as two. */
  readonly peakFp32: number;
  /** Bytes of L2; 0 where there is none for global memory (before 2.0). */
  readonly l2Bytes: number;
  /** As it is sold; a driver answers up to a tenth less or more (memory for error correction, gigabytes of either kind). */
  readonly memoryBytes: number;
}

type Row = readonly [
  name: string,
  cc: string,
  sms: number,
  fp32LanesPerSm: number,
  clockGHz: number,
  bandwidth: number,
  l2MiB: number,
  memoryGiB: number,
];

// The first of each capability is the one that stands for it in comparisons.
// biome-ignore format: one row a device
const rows: readonly Row[] = [
  ['GeForce 8800 GTX', '1.0', 16, 8, 1.35, 86.4, 0, 0.75],
  ['GeForce 9800 GTX', '1.1', 16, 8, 1.688, 70.4, 0, 0.5],
  ['GeForce 8800 GT', '1.1', 14, 8, 1.5, 57.6, 0, 0.5],
  ['GeForce GT 240', '1.2', 12, 8, 1.34, 54.4, 0, 1],
  ['GeForce GTX 280', '1.3', 30, 8, 1.296, 141.7, 0, 1],
  ['GeForce GTX 285', '1.3', 30, 8, 1.476, 159, 0, 1],
  ['Tesla C1060', '1.3', 30, 8, 1.296, 102.4, 0, 4],
  ['Tesla C2050', '2.0', 14, 32, 1.15, 144, 0.75, 3],
  ['Tesla M2090', '2.0', 16, 32, 1.301, 177.6, 0.75, 6],
  ['GeForce GTX 480', '2.0', 15, 32, 1.401, 177.4, 0.75, 1.5],
  ['GeForce GTX 580', '2.0', 16, 32, 1.544, 192.4, 0.75, 1.5],
  ['GeForce GTX 560 Ti', '2.1', 8, 48, 1.645, 128.3, 0.5, 1],
  ['GeForce GTX 460', '2.1', 7, 48, 1.35, 115.2, 0.5, 1],
  ['GeForce GTX 680', '3.0', 8, 192, 1.058, 192.3, 0.5, 2],
  ['GeForce GTX 770', '3.0', 8, 192, 1.085, 224.3, 0.5, 2],
  ['Tesla K10', '3.0', 8, 192, 0.745, 160, 0.5, 4],
  ['Tegra K1', '3.2', 1, 192, 0.852, 14.9, 0.125, 2],
  ['Tesla K40', '3.5', 15, 192, 0.875, 288, 1.5, 12],
  ['Tesla K20X', '3.5', 14, 192, 0.732, 250, 1.5, 6],
  ['GeForce GTX Titan', '3.5', 14, 192, 0.876, 288.4, 1.5, 6],
  ['GeForce GTX 780 Ti', '3.5', 15, 192, 0.928, 336, 1.5, 3],
  ['Tesla K80', '3.7', 13, 192, 0.875, 240, 1.5, 12],
  ['GeForce GTX 750 Ti', '5.0', 5, 128, 1.085, 86.4, 2, 2],
  ['GeForce GTX 980', '5.2', 16, 128, 1.216, 224, 2, 4],
  ['GeForce GTX 970', '5.2', 13, 128, 1.178, 224, 1.75, 4],
  ['GeForce GTX 980 Ti', '5.2', 22, 128, 1.075, 336.5, 3, 6],
  ['GeForce GTX Titan X', '5.2', 24, 128, 1.075, 336.5, 3, 12],
  ['Tesla M40', '5.2', 24, 128, 1.112, 288, 3, 12],
  ['Jetson TX1', '5.3', 2, 128, 0.998, 25.6, 0.25, 4],
  ['Tesla P100', '6.0', 56, 64, 1.48, 732, 4, 16],
  ['GeForce GTX 1080 Ti', '6.1', 28, 128, 1.582, 484.4, 2.75, 11],
  ['GeForce GTX 1080', '6.1', 20, 128, 1.733, 320, 2, 8],
  ['GeForce GTX 1070', '6.1', 15, 128, 1.683, 256.3, 2, 8],
  ['GeForce GTX 1060', '6.1', 10, 128, 1.708, 192.2, 1.5, 6],
  ['Titan Xp', '6.1', 30, 128, 1.582, 547.6, 3, 12],
  ['Tesla P40', '6.1', 30, 128, 1.531, 346, 3, 24],
  ['Tesla P4', '6.1', 20, 128, 1.114, 192, 2, 8],
  ['Jetson TX2', '6.2', 2, 128, 1.3, 59.7, 0.5, 8],
  ['Tesla V100', '7.0', 80, 64, 1.53, 900, 6, 16],
  ['Titan V', '7.0', 80, 64, 1.455, 652.8, 4.5, 12],
  ['Jetson AGX Xavier', '7.2', 8, 64, 1.377, 136.5, 0.5, 16],
  ['GeForce RTX 2080 Ti', '7.5', 68, 64, 1.545, 616, 5.5, 11],
  ['GeForce RTX 2080', '7.5', 46, 64, 1.71, 448, 4, 8],
  ['GeForce RTX 2080 Super', '7.5', 48, 64, 1.815, 495.9, 4, 8],
  ['GeForce RTX 2070 Super', '7.5', 40, 64, 1.77, 448, 4, 8],
  ['GeForce RTX 2070', '7.5', 36, 64, 1.62, 448, 4, 8],
  ['GeForce RTX 2060 Super', '7.5', 34, 64, 1.65, 448, 4, 8],
  ['GeForce RTX 2060', '7.5', 30, 64, 1.68, 336, 3, 6],
  ['GeForce GTX 1660 Ti', '7.5', 24, 64, 1.77, 288, 1.5, 6],
  ['Titan RTX', '7.5', 72, 64, 1.77, 672, 6, 24],
  ['Tesla T4', '7.5', 40, 64, 1.59, 320, 4, 16],
  ['A100 40GB', '8.0', 108, 64, 1.41, 1555, 40, 40],
  ['A100 80GB', '8.0', 108, 64, 1.41, 2039, 40, 80],
  ['A30', '8.0', 56, 64, 1.44, 933, 24, 24],
  ['GeForce RTX 3090', '8.6', 82, 128, 1.695, 936.2, 6, 24],
  ['GeForce RTX 3090 Ti', '8.6', 84, 128, 1.86, 1008, 6, 24],
  ['GeForce RTX 3080 Ti', '8.6', 80, 128, 1.665, 912.4, 6, 12],
  ['GeForce RTX 3080', '8.6', 68, 128, 1.71, 760.3, 5, 10],
  ['GeForce RTX 3070 Ti', '8.6', 48, 128, 1.77, 608.3, 4, 8],
  ['GeForce RTX 3070', '8.6', 46, 128, 1.725, 448, 4, 8],
  ['GeForce RTX 3060 Ti', '8.6', 38, 128, 1.665, 448, 4, 8],
  ['GeForce RTX 3060', '8.6', 28, 128, 1.777, 360, 3, 12],
  ['GeForce RTX 3050', '8.6', 20, 128, 1.777, 224, 2, 8],
  ['RTX A6000', '8.6', 84, 128, 1.8, 768, 6, 48],
  ['A40', '8.6', 84, 128, 1.74, 696, 6, 48],
  ['A10', '8.6', 72, 128, 1.695, 600, 6, 24],
  ['Jetson AGX Orin', '8.7', 16, 128, 1.3, 204.8, 4, 32],
  ['Jetson Orin Nano', '8.7', 8, 128, 0.625, 68, 2, 8],
  ['GeForce RTX 4090', '8.9', 128, 128, 2.52, 1008, 72, 24],
  ['GeForce RTX 4080 Super', '8.9', 80, 128, 2.55, 736.3, 64, 16],
  ['GeForce RTX 4080', '8.9', 76, 128, 2.505, 716.8, 64, 16],
  ['GeForce RTX 4070 Ti Super', '8.9', 66, 128, 2.61, 672.3, 48, 16],
  ['GeForce RTX 4070 Ti', '8.9', 60, 128, 2.61, 504.2, 48, 12],
  ['GeForce RTX 4070 Super', '8.9', 56, 128, 2.475, 504.2, 48, 12],
  ['GeForce RTX 4070', '8.9', 46, 128, 2.475, 504.2, 36, 12],
  ['GeForce RTX 4060 Ti', '8.9', 34, 128, 2.535, 288, 32, 8],
  ['GeForce RTX 4060', '8.9', 24, 128, 2.46, 272, 24, 8],
  ['RTX 6000 Ada', '8.9', 142, 128, 2.505, 960, 96, 48],
  ['L40S', '8.9', 142, 128, 2.52, 864, 96, 48],
  ['L40', '8.9', 142, 128, 2.49, 864, 96, 48],
  ['L4', '8.9', 58, 128, 2.04, 300, 48, 24],
  ['H100 SXM', '9.0', 132, 128, 1.98, 3350, 50, 80],
  ['H100 PCIe', '9.0', 114, 128, 1.755, 2039, 50, 80],
  ['H200', '9.0', 132, 128, 1.98, 4800, 60, 141],
  ['GH200', '9.0', 132, 128, 1.98, 4000, 60, 96],
  ['B200', '10.0', 148, 128, 1.965, 8000, 126, 180],
  ['B300', '10.3', 148, 128, 1.92, 8000, 126, 288],
  ['Jetson AGX Thor', '11.0', 20, 128, 1.575, 273, 32, 128],
  ['GeForce RTX 5090', '12.0', 170, 128, 2.407, 1792, 96, 32],
  ['GeForce RTX 5080', '12.0', 84, 128, 2.617, 960, 64, 16],
  ['GeForce RTX 5070 Ti', '12.0', 70, 128, 2.452, 896, 48, 16],
  ['GeForce RTX 5070', '12.0', 48, 128, 2.512, 672, 48, 12],
  ['GeForce RTX 5060 Ti', '12.0', 36, 128, 2.572, 448, 32, 16],
  ['RTX PRO 6000 Blackwell', '12.0', 188, 128, 2.617, 1792, 128, 96],
  ['GB10', '12.1', 48, 128, 2.418, 273, 24, 128],
];

/** Every device known, by ascending capability. */
export const devices: readonly Device[] = rows.map(([name, cc, sms, lanes, clockGHz, bandwidth, l2MiB, memoryGiB]) => ({
  name,
  cc,
  sms,
  clockGHz,
  bandwidth,
  peakFp32: Math.round(sms * lanes * 2 * clockGHz * 10) / 10,
  l2Bytes: l2MiB * 1024 * 1024,
  memoryBytes: memoryGiB * 1024 ** 3,
}));

/** Other names by which a device goes, in the spelling `key` gives. */
const aliases: Readonly<Record<string, string>> = {
  a100: 'a10080gb',
  h100: 'h100sxm',
  dgxspark: 'gb10',
  orin: 'jetsonagxorin',
  xavier: 'jetsonagxxavier',
  thor: 'jetsonagxthor',
};

const vendorWords = /^(?:nvidia|geforce|tesla|quadro|gpu|graphics|superchip)$/;
const formWords = /^(?:sxm\d?|pcie|hbm\w*|nvl)$/;
const memoryWords = /^\d+gb$/;

function wordsOf(name: string): string[] {
  const words = name.toLowerCase().split(/[^a-z0-9]+/);
  return words.filter((word) => word !== '' && !vendorWords.test(word));
}

/** Words as one, without the product line in front of a number: 'rtx 4090' and '4090' are the same. */
function key(words: readonly string[]): string {
  return words
    .join('')
    .replace(/^(?:geforce|tesla|quadro)/, '')
    .replace(/^(?:rtx|gtx|gt)(?=\d)/, '');
}

const byKey = new Map(devices.map((each) => [key(wordsOf(each.name)), each]));

function find(words: readonly string[]): Device | undefined {
  const name = key(words);
  return byKey.get(name) ?? byKey.get(aliases[name] ?? '');
}

/**
 * The device of a name, forgiving about case, spaces, vendor, product line, and the form factor and memory size that a
 * driver reports: 'rtx4090', 'NVIDIA H200', 'Tesla V100-SXM2-32GB'. Undefined when nothing matches; laptop variants
 * are other chips and do not match.
 */
export function device(name: string): Device | undefined {
  const words = wordsOf(name);
  const isForm = (word: string) => formWords.test(word);
  const isMemory = (word: string) => memoryWords.test(word);
  const exact = find(words);
  if (exact !== undefined) return exact;
  const withoutForm = find(words.filter((word) => !isForm(word)));
  if (withoutForm !== undefined) return withoutForm;
  const withoutMemory = find(words.filter((word) => !isMemory(word) && !/^hbm/.test(word)));
  return withoutMemory ?? find(words.filter((word) => !isMemory(word) && !isForm(word)));
}

/** The device that stands for a capability in comparisons; undefined when none is known (8.8). */
export function typicalDevice(cc: string): Device | undefined {
  return devices.find((each) => each.cc === cc);
}
