/** The sources of the warm-up, as the bundler puts them into the worker: the shortest first, so that no slice has to compile much. */
import attention from './attention.cu';
import cells from './cells.cu';
import gather from './gather.cu';
import histogram from './histogram.cu';
import layernorm from './layernorm.cu';
import packed from './packed.cu';
import registerTiles from './register-tiles.cu';
import scale from './scale.cu';
import scan from './scan.cu';
import softmax from './softmax.cu';
import sparse from './sparse.cu';
import stencil from './stencil.cu';
import transpose from './transpose.cu';
import type { WarmUpSource } from './warm-up';

const texts = {
  scale,
  gather,
  cells,
  transpose,
  packed,
  stencil,
  softmax,
  layernorm,
  sparse,
  histogram,
  scan,
  registerTiles,
  attention,
};

export const warmUpSources: readonly WarmUpSource[] = Object.entries(texts).map(([name, text]) => ({
  name: `${name}.cu`,
  text,
}));
