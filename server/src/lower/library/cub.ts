/** CUB's collectives in our own words: their storage has CUB 3.0's layout, because occupancy and bank conflicts depend on it, and their accesses are those of nvcc 13.0. */
import { common } from './cub/common';
import { exchange } from './cub/exchange';
import { loads } from './cub/loads';
import { neighbours } from './cub/neighbours';
import { reduce } from './cub/reduce';
import { scan } from './cub/scan';
import { sorts } from './cub/sorts';

export const cub = `
namespace cub {
${common}
${reduce}
${scan}
${exchange}
${loads}
${neighbours}
${sorts}
}
`;
