/**
 * What the lanes of a warp move for a wmma fragment. It is not documented. The multiplication of the machine takes 16 × 8 × 16 (mma.m16n8k16,
 * PTX ISA 9.0, 9.7.14.5.8, whose lanes are documented): of every 8 × 8 tile lane l holds row l / 4 and the pair l % 4. Fragments of
 * 8 × 32 × 16 are those of 32 × 8 × 16 turned over, so that their pairs lie in the columns. Evidence: counters of 16 × 16 × 16 on an
 * H200 (wmma_gemm.cu:19-23, 48-53); width and number of the machine instructions of all loads and stores of halves and floats of the three
 * shapes, by rows and by columns, in global and in shared memory (nvcc 13.0, sm_90: 62 kernels). Before 7.5 lanes hold other elements.
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
   * lanes where that is needed, floats are not: 'singles': lane l moves element l / 4 of row 2 (l % 4), then that of the next row.
   */
  readonly by: 'pairs' | 'singles';
  /** Operands in shared memory are read by ldmatrix. */
  readonly isMatrixLoad: boolean;
}

const shapes: ReadonlySet<string> = new Set(['16 16 16', '8 32 16', '32 8 16']);

/** Undefined for fragments whose lanes are not known. */
export function movesOf({ use, m, n, k, isByRows, bytes }: Fragment): FragmentMoves | undefined {
  const isAccumulator = use === 'accumulator';
  if (!shapes.has(`${m} ${n} ${k}`) || !(bytes === 2 || (bytes === 4 && isAccumulator))) return undefined;
  const [height, width] = use === 'a' ? [m, k] : use === 'b' ? [k, n] : [m, n];
  const [rows, columns] = isByRows ? [height, width] : [width, height];
  const isAlong = isByRows !== (m === 8);
  return { rows, columns, by: bytes === 2 || isAlong ? 'pairs' : 'singles', isMatrixLoad: !isAccumulator };
}

/** One ldmatrix: lane l gives the address of row l % period, from element 8 ⌊l / period⌋ + column on. */
export interface MatrixLoad {
  readonly matrices: 2 | 4;
  readonly period: number;
  readonly column: number;
}

/** The fewest ldmatrix that read the tiles, four at a time; which tiles go together makes no difference to counters. */
export function matrixLoads({ rows, columns }: FragmentMoves): readonly MatrixLoad[] {
  const tiles = (rows / 8) * (columns / 8);
  const matrices = tiles === 2 ? 2 : 4;
  const step = 8 * (matrices / Math.min(matrices, rows / 8));
  return Array.from({ length: tiles / matrices }, (_, load) => ({ matrices, period: rows, column: load * step }));
}

/** One load or store of all lanes: lane l is at row rowOfLane + row, element columnOfLane + column, and moves `count` elements. */
export interface LaneMove {
  /** Row and element follow from l / 4 and 2 (l % 4), in this order or the other. */
  readonly isAcross: boolean;
  readonly row: number;
  readonly column: number;
  readonly count: 1 | 2;
}

/** The plain accesses that a fragment is moved by, in the order of its tiles. */
export function laneMoves({ rows, columns, by }: FragmentMoves): readonly LaneMove[] {
  const moves: LaneMove[] = [];
  for (let row = 0; row < rows; row += 8) {
    for (let column = 0; column < columns; column += 8) {
      if (by === 'pairs') moves.push({ isAcross: false, row, column, count: 2 });
      else for (const next of [0, 1]) moves.push({ isAcross: true, row: row + next, column, count: 1 });
    }
  }
  return moves;
}
