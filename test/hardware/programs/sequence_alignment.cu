// Needleman-Wunsch by tiles along anti-diagonals, and the longest common subsequence a pair a block.
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>

#define BLOCK_SIZE 16

__device__ __host__ int maximum(int a, int b, int c)
{
    int k = a <= b ? b : a;
    return k <= c ? c : k;
}

// One diagonal of tiles, upper-left half.
__global__ void needle_tile(const int *reference, int *matrix, int cols, int penalty, int i)
{
    int tx = threadIdx.x;
    int b_index_x = blockIdx.x;
    int b_index_y = i - 1 - blockIdx.x;
    int index   = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x + tx + (cols + 1);
    int index_n = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x + tx + 1;
    int index_w = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x + cols;
    int index_nw = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x;

    __shared__ int temp[BLOCK_SIZE + 1][BLOCK_SIZE + 1];
    __shared__ int ref[BLOCK_SIZE][BLOCK_SIZE];

    if (tx == 0)
        temp[tx][0] = matrix[index_nw];
    for (int ty = 0; ty < BLOCK_SIZE; ty++)
        ref[ty][tx] = reference[index + cols * ty];
    __syncthreads();
    temp[tx + 1][0] = matrix[index_w + cols * tx];
    __syncthreads();
    temp[0][tx + 1] = matrix[index_n];
    __syncthreads();

    for (int m = 0; m < BLOCK_SIZE; m++) {
        if (tx <= m) {
            int x = tx + 1;
            int y = m - tx + 1;
            temp[y][x] = maximum(temp[y - 1][x - 1] + ref[y - 1][x - 1], temp[y][x - 1] - penalty, temp[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int m = BLOCK_SIZE - 2; m >= 0; m--) {
        if (tx <= m) {
            int x = tx + BLOCK_SIZE - m;
            int y = BLOCK_SIZE - tx;
            temp[y][x] = maximum(temp[y - 1][x - 1] + ref[y - 1][x - 1], temp[y][x - 1] - penalty, temp[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int ty = 0; ty < BLOCK_SIZE; ty++)
        matrix[index + ty * cols] = temp[ty + 1][tx + 1];
}

#define LEN 64
__global__ void lcs(const char *a, const char *b, int *length)
{
    __shared__ char sa[LEN], sb[LEN];
    __shared__ short diag[3][LEN + 1];
    const int t = threadIdx.x;
    sa[t] = a[blockIdx.x * LEN + t];
    sb[t] = b[blockIdx.x * LEN + t];
    for (int k = 0; k < 3; ++k) diag[k][t + 1] = 0;
    if (t < 3) diag[t][0] = 0;
    __syncthreads();
    for (int d = 0; d < 2 * LEN - 1; ++d) {
        const int j = d - t;
        if (j >= 0 && j < LEN) {
            short v = sa[t] == sb[j] ? diag[(d + 1) % 3][t] + 1 : max(diag[(d + 2) % 3][t], diag[(d + 2) % 3][t + 1]);
            diag[d % 3][t + 1] = v;
        }
        __syncthreads();
    }
    if (t == LEN - 1) length[blockIdx.x] = diag[(2 * LEN - 2) % 3][LEN];
}

int main()
{
    const int tiles = 12, cols = tiles * BLOCK_SIZE + 1, penalty = 10;
    std::vector<int> ref(cols * cols), m(cols * cols, 0), full;
    unsigned s = 1;
    auto rnd = [&](int n) { s = s * 1664525u + 1013904223u; return (int)((s >> 10) % n); };
    for (int &v : ref) v = rnd(21) - 10;
    for (int i = 1; i < cols; i++) m[i * cols] = m[i] = -i * penalty;
    full = m;
    for (int y = 1; y < cols; y++)
        for (int x = 1; x < cols; x++)
            full[y * cols + x] = maximum(full[(y - 1) * cols + x - 1] + ref[y * cols + x], full[y * cols + x - 1] - penalty, full[(y - 1) * cols + x] - penalty);
    // Everything above the diagonal of tiles number 8 is given; the kernel computes that diagonal.
    const int diagonal = 8;
    std::vector<int> want = m;
    for (int y = 1; y < cols; y++)
        for (int x = 1; x < cols; x++) {
            int d = (y - 1) / BLOCK_SIZE + (x - 1) / BLOCK_SIZE + 1;
            if (d < diagonal) m[y * cols + x] = want[y * cols + x] = full[y * cols + x];
            if (d == diagonal) want[y * cols + x] = full[y * cols + x];
        }
    int *dref, *dm;
    size_t bytes = ref.size() * sizeof(int);
    if (cudaMalloc(&dref, bytes) || cudaMalloc(&dm, bytes)) return 2;
    cudaMemcpy(dref, ref.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(dm, m.data(), bytes, cudaMemcpyHostToDevice);
    needle_tile<<<8, BLOCK_SIZE>>>(dref, dm, cols, penalty, diagonal);
    if (cudaMemcpy(m.data(), dm, bytes, cudaMemcpyDeviceToHost)) return 2;
    bool ok = m == want;
    printf("needle_tile %s\n", ok ? "PASS" : "FAIL");

    const int pairs = 50;
    std::vector<char> a(pairs * LEN), b(pairs * LEN);
    for (char &c : a) c = "ACGT"[rnd(4)];
    for (char &c : b) c = "ACGT"[rnd(4)];
    char *da, *db;
    int *dl;
    cudaMalloc(&da, a.size()); cudaMalloc(&db, b.size()); cudaMalloc(&dl, pairs * sizeof(int));
    cudaMemcpy(da, a.data(), a.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size(), cudaMemcpyHostToDevice);
    lcs<<<50, LEN>>>(da, db, dl);
    std::vector<int> len(pairs);
    if (cudaMemcpy(len.data(), dl, pairs * sizeof(int), cudaMemcpyDeviceToHost)) return 2;
    bool ok2 = true;
    for (int p = 0; p < pairs; p++) {
        int t[LEN + 1][LEN + 1] = {};
        for (int i = 1; i <= LEN; i++)
            for (int j = 1; j <= LEN; j++)
                t[i][j] = a[p * LEN + i - 1] == b[p * LEN + j - 1] ? t[i - 1][j - 1] + 1 : std::max(t[i - 1][j], t[i][j - 1]);
        ok2 = ok2 && len[p] == t[LEN][LEN];
    }
    printf("lcs %s\n", ok2 ? "PASS" : "FAIL");
    return ok && ok2 ? 0 : 1;
}
