/**
 * What the lanes of a warp move for a wmma fragment. It is not documented. The multiplication of the machine takes 16 × 8 × 16 (mma.m16n8k16,
 * PTX ISA 9.0, 9.7.14.5.8, whose lanes are documented): of every 8 × 8 tile lane l holds row l / 4 and the pair l % 4. Fragments of
 * 8 × 32 × 16 are those of 32 × 8 × 16 turned over, so that their pairs lie in the columns. Evidence: counters of 16 × 16 × 16 on an
 * H200 (wmma_gemm.cu:19-23, 48-53); width and number of the machine instructions of all loads and stores of halves and floats of the three
 * shapes, by rows and by columns, in global and in shared memory (nvcc 13.0, sm_90: 62 kernels). Before 7.5 lanes hold other elements.
 * Of tf32 (16 × 16 × 8, by mma.m16n8k8) lane l holds element l % 4 of 8 × 4 elements, however they lie (12 kernels). Of operands of bytes it holds
 * the four from 4 (l % 4) on of row l / 4 of 8 × 16 (mma.m16n8k16); where they do not lie side by side it moves them one by one (28 kernels, and counters
 * of 16 × 16 × 16 in global memory on an H200).
 */

export interface Fragment {
  readonly use: 'a' | 'b' | 'accumulator';
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** How the matrix lies in memory. */
  readonly isByRows: boolean;
  /** Of an element. */
  readonly bytes: number;
}

export interface FragmentMoves {
  /** Of the matrix as it lies in memory: a row is what is contiguous. Both are multiples of 8. */
  readonly rows: number;
  readonly columns: number;
  /**
   * 'pairs': of every 8 × 8 tile lane l moves elements 2 (l % 4) and the next of row l / 4 at once. Words of two halves are turned over between
   * lanes where that is needed, floats are not: 'singles': lane l moves element l / 4 of row 2 (l % 4), then that of the next row. 'words': of
   * every 8 × 4 elements lane l moves element l % 4 of row l / 4, 'words across' element l / 4 of row l % 4 of every 4 × 8. 'quads': of every 8 × 16
   * four elements of row l / 4 at once, 'quads across' element l / 4 of four rows of every 16 × 8, one after the other.
   */
  readonly by: 'pairs' | 'singles' | 'words' | 'words across' | 'quads' | 'quads across';
  /** Operands in shared memory are read by ldmatrix. */
  readonly isMatrixLoad: boolean;
}

const shapes: ReadonlySet<string> = new Set(['16 16 16', '8 32 16', '32 8 16']);
const shapeOfWords = '16 16 8';

/** Undefined for fragments whose lanes are not known. */
export function movesOf({ use, m, n, k, isByRows, bytes }: Fragment): FragmentMoves | undefined {
  const shape = `${m} ${n} ${k}`;
  const isAccumulator = use === 'accumulator';
  const isWords = shape === shapeOfWords && bytes === 4;
  const isBytes = bytes === 1 && !isAccumulator;
  const isKnown = isWords || (shapes.has(shape) && (bytes === 2 || isBytes || (bytes === 4 && isAccumulator)));
  if (!isKnown) return undefined;
  const [height, width] = use === 'a' ? [m, k] : use === 'b' ? [k, n] : [m, n];
  const [rows, columns] = isByRows ? [height, width] : [width, height];
  if (isWords && !isAccumulator)
    return { rows, columns, by: columns === k ? 'words' : 'words across', isMatrixLoad: false };
  if (isBytes) {
    const isSideBySide = isByRows === (use === 'a');
    return { rows, columns, by: isSideBySide ? 'quads' : 'quads across', isMatrixLoad: isSideBySide };
  }
  const isAlong = isByRows !== (m === 8);
  return { rows, columns, by: bytes === 2 || isAlong ? 'pairs' : 'singles', isMatrixLoad: !isAccumulator };
}

/** One ldmatrix: lane l gives the address of row `row` + l % period, from element 8 ⌊l / period⌋ + column on. */
export interface MatrixLoad {
  readonly matrices: 1 | 2 | 4;
  readonly period: number;
  readonly row: number;
  readonly column: number;
}

/** The fewest ldmatrix that read the tiles, four at a time (rows of bytes two); which tiles go together makes no difference to counters. */
export function matrixLoads({ rows, columns, by }: FragmentMoves): readonly MatrixLoad[] {
  if (by === 'quads') {
    // a row of 16 bytes is one of a matrix
    const matrices = rows === 8 ? 1 : 2;
    const period = 8 * matrices;
    return Array.from({ length: rows / period }, (_, load) => ({ matrices, period, row: period * load, column: 0 }));
  }
  const tiles = (rows / 8) * (columns / 8);
  const matrices = tiles === 2 ? 2 : 4;
  const step = 8 * (matrices / Math.min(matrices, rows / 8));
  return Array.from({ length: tiles / matrices }, (_, load) => ({
    matrices,
    period: rows,
    row: 0,
    column: load * step,
  }));
}

/** One load or store of all lanes. */
export interface LaneMove {
  /** Lane l is at row l / 4 and element `step` · (l % 4); across it is the other way round. */
  readonly isAcross: boolean;
  readonly step: 1 | 2 | 4;
  /** Added to these. */
  readonly row: number;
  readonly column: number;
  /** Elements that a lane moves. */
  readonly count: 1 | 2 | 4;
}

type Tile = Pick<LaneMove, 'isAcross' | 'step' | 'count'> & {
  readonly height: number;
  readonly width: number;
  /** Further rows for which it is repeated. */
  readonly repeats: readonly number[];
};

const tiles: Readonly<Record<FragmentMoves['by'], Tile>> = {
  pairs: { isAcross: false, step: 2, count: 2, height: 8, width: 8, repeats: [0] },
  singles: { isAcross: true, step: 2, count: 1, height: 8, width: 8, repeats: [0, 1] },
  words: { isAcross: false, step: 1, count: 1, height: 8, width: 4, repeats: [0] },
  'words across': { isAcross: true, step: 1, count: 1, height: 4, width: 8, repeats: [0] },
  quads: { isAcross: false, step: 4, count: 4, height: 8, width: 16, repeats: [0] },
  'quads across': { isAcross: true, step: 4, count: 1, height: 16, width: 8, repeats: [0, 1, 2, 3] },
};

/** The plain accesses that a fragment is moved by, in the order of its tiles. */
export function laneMoves({ rows, columns, by }: FragmentMoves): readonly LaneMove[] {
  const { height, width, repeats, ...tile } = tiles[by];
  const moves: LaneMove[] = [];
  for (let top = 0; top < rows; top += height)
    for (let column = 0; column < columns; column += width)
      for (const next of repeats) moves.push({ ...tile, row: top + next, column });
  return moves;
}
