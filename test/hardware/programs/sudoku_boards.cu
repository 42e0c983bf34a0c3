// Sudoku for a lot of boards at once. Weekend project: how far do plain bit masks get me?
//   stage 1: one block per board removes the "only one digit fits" cells (81 of 96 threads work)
//   stage 2: one thread per board searches the rest, its 27 unit masks live in shared memory
//   stage 3: boards go to structure-of-arrays form and are validated
// Search is cut off after NODE_CAP tried digits, so "gave up" is a legal answer too.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
#include <cuda_runtime.h>

#define N_BOARDS   512
#define NODE_CAP   1500
#define SEARCH_TPB 64
#define ALL9       0x1FFu
#define ROW_OF(c)  ((c) / 9)
#define COL_OF(c)  ((c) % 9)
#define BOX_OF(c)  (((c) / 27) * 3 + ((c) % 9) / 3)
#define BIT(d)     (1u << ((d) - 1))
#define TRY_CUDA(what)                                                             \
    { cudaError_t err_ = (what);                                                   \
      if (err_) { printf("line %d: %s\n", __LINE__, cudaGetErrorString(err_)); exit(2); } }

typedef unsigned char u8;

struct Board  { u8 cell[81]; u8 status; };         // 82 bytes, no alignment at all
struct Report { int nodes; short filled; short solved; };

__constant__ u8 c_row[81], c_col[81], c_box[81];

__global__ void singles(Board *boards, int *rounds_used)
{
    __shared__ u8 v[9][9];
    __shared__ unsigned used[3][9];
    __shared__ int progress;
    const int t = threadIdx.x;
    Board *b = &boards[blockIdx.x];
    if (t < 81) v[t / 9][t % 9] = b->cell[t];
    int round = 0;
    for (;;) {
        if (t < 27) used[t / 9][t % 9] = 0;
        if (t == 95) progress = 0;
        __syncthreads();
        if (t < 81 && v[t / 9][t % 9]) {
            unsigned m = BIT(v[t / 9][t % 9]);
            atomicOr(&used[0][c_row[t]], m);
            atomicOr(&used[1][c_col[t]], m);
            atomicOr(&used[2][c_box[t]], m);
        }
        __syncthreads();
        if (t < 81 && v[t / 9][t % 9] == 0) {
            unsigned open = ALL9 & ~(used[0][c_row[t]] | used[1][c_col[t]] | used[2][c_box[t]]);
            if (__popc(open) == 1) {
                v[t / 9][t % 9] = (u8)__ffs(open);
                progress = 1;
            }
        }
        __syncthreads();
        int go_on = progress;
        __syncthreads();
        if (!go_on) break;
        round++;
    }
    if (t < 81) b->cell[t] = v[t / 9][t % 9];
    if (t == 0) rounds_used[blockIdx.x] = round;
}

// depth first search; the masks are [27][threads] so that a thread stays in its own column
__global__ void search(Board *boards, Report *rep, int n)
{
    __shared__ unsigned short mask[27][SEARCH_TPB];
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x;
    if (me >= n) return;
    u8 hole[81];
    u8 digit[81];
    int holes = 0, nodes = 0;
    for (int k = 0; k < 27; k++) mask[k][t] = 0;
    for (int c = 0; c < 81; c++) {
        int d = boards[me].cell[c];
        if (d == 0) { hole[holes++] = (u8)c; continue; }
        mask[ROW_OF(c)][t] |= BIT(d);
        mask[9 + COL_OF(c)][t] |= BIT(d);
        mask[18 + BOX_OF(c)][t] |= BIT(d);
    }
    int k = 0;
    if (holes) digit[0] = 0;
    while (k >= 0 && k < holes && nodes < NODE_CAP) {
        int c = hole[k], d = digit[k];
        if (d) {                                     // take the old digit back
            mask[ROW_OF(c)][t] &= ~BIT(d);
            mask[9 + COL_OF(c)][t] &= ~BIT(d);
            mask[18 + BOX_OF(c)][t] &= ~BIT(d);
        }
        unsigned taken = mask[ROW_OF(c)][t] | mask[9 + COL_OF(c)][t] | mask[18 + BOX_OF(c)][t];
        unsigned open = ALL9 & ~taken & ~((1u << d) - 1u);   // only digits above d
        if (!open) { k--; continue; }
        d = __ffs(open);
        nodes++;
        digit[k] = (u8)d;
        mask[ROW_OF(c)][t] |= BIT(d);
        mask[9 + COL_OF(c)][t] |= BIT(d);
        mask[18 + BOX_OF(c)][t] |= BIT(d);
        k++;
        if (k < holes) digit[k] = 0;
    }
    int good = (k == holes);
    if (good) for (int i = 0; i < holes; i++) boards[me].cell[hole[i]] = digit[i];
    boards[me].status = (u8)good;
    rep[me].nodes = nodes;
    rep[me].filled = (short)(81 - holes);
    rep[me].solved = (short)good;
}

__global__ void to_planes(const Board *boards, u8 *planes, int n)   // planes[cell][board]
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y;
    if (b < n) planes[c * n + b] = boards[b].cell[c];
}

__global__ void validate(const u8 *planes, int n, int *valid, int *n_valid)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    int ok = 0;
    if (b < n) {
        ok = 1;
        for (int u = 0; u < 9; u++) {
            unsigned r = 0, c = 0, x = 0;
            for (int i = 0; i < 9; i++) {
                int box = (u / 3) * 27 + (u % 3) * 3 + (i / 3) * 9 + i % 3;
                r |= 1u << planes[(u * 9 + i) * n + b];
                c |= 1u << planes[(i * 9 + u) * n + b];
                x |= 1u << planes[box * n + b];
            }
            if (r != 0x3FEu || c != 0x3FEu || x != 0x3FEu) ok = 0;
        }
        valid[b] = ok;
    }
    int total = __syncthreads_count(ok);
    if (threadIdx.x == 0) atomicAdd(n_valid, total);
}

/* ------------------------------ host side ------------------------------ */
static void make_board(Board *b, int blanks)
{
    int rows[9], cols[9], dig[9];
    for (int i = 0; i < 9; i++) rows[i] = cols[i] = i, dig[i] = i + 1;
    for (int i = 8; i > 0; i--) { int j = rand() % (i + 1), s = dig[i]; dig[i] = dig[j]; dig[j] = s; }
    for (int band = 0; band < 9; band += 3) {
        int j = rand() % 3, s = rows[band]; rows[band] = rows[band + j]; rows[band + j] = s;
        j = rand() % 3; s = cols[band + 2]; cols[band + 2] = cols[band + j]; cols[band + j] = s;
    }
    for (int c = 0; c < 81; c++) {
        int r = rows[ROW_OF(c)], q = cols[COL_OF(c)];
        b->cell[c] = (u8)dig[(r * 3 + r / 3 + q) % 9];
    }
    for (int k = 0; k < blanks; k++) b->cell[rand() % 81] = 0;
    b->status = 0;
}

static unsigned open_digits(const Board &b, int c)
{
    unsigned m = 0;
    for (int k = 0; k < 81; k++)
        if (b.cell[k] && (ROW_OF(k) == ROW_OF(c) || COL_OF(k) == COL_OF(c) || BOX_OF(k) == BOX_OF(c)))
            m |= BIT(b.cell[k]);
    return ALL9 & ~m;
}

static int cpu_singles(Board &b)
{
    for (int round = 0;; round++) {
        Board next = b;
        bool any = false;
        for (int c = 0; c < 81; c++) {
            if (b.cell[c]) continue;
            unsigned o = open_digits(b, c);
            if (o && !(o & (o - 1))) { int d = 1; while (!(o & BIT(d))) d++; next.cell[c] = (u8)d; any = true; }
        }
        if (!any) return round;
        b = next;
    }
}

static bool cpu_search(Board &b, int from, int &nodes)     // plain recursion this time
{
    while (from < 81 && b.cell[from]) from++;
    if (from == 81) return true;
    unsigned o = open_digits(b, from);
    for (int d = 1; d <= 9; d++) {
        if (!(o & BIT(d))) continue;
        if (nodes >= NODE_CAP) break;
        nodes++;
        b.cell[from] = (u8)d;
        if (cpu_search(b, from + 1, nodes)) return true;
        b.cell[from] = 0;
    }
    return false;
}

int main()
{
    srand(9981);
    std::vector<Board> boards(N_BOARDS), out(N_BOARDS);
    for (int i = 0; i < N_BOARDS; i++) make_board(&boards[i], 45 + i % 60);
    u8 r[81], c[81], x[81];
    for (int k = 0; k < 81; k++) { r[k] = ROW_OF(k); c[k] = COL_OF(k); x[k] = BOX_OF(k); }
    TRY_CUDA(cudaMemcpyToSymbol(c_row, r, 81));
    TRY_CUDA(cudaMemcpyToSymbol(c_col, c, 81));
    TRY_CUDA(cudaMemcpyToSymbol(c_box, x, 81));

    Board *d_boards; Report *d_rep; int *d_rounds, *d_valid, *d_count; u8 *d_planes;
    TRY_CUDA(cudaMalloc(&d_boards, N_BOARDS * sizeof(Board)));
    TRY_CUDA(cudaMalloc(&d_rep, N_BOARDS * sizeof(Report)));
    TRY_CUDA(cudaMalloc(&d_rounds, N_BOARDS * sizeof(int)));
    TRY_CUDA(cudaMalloc(&d_valid, N_BOARDS * sizeof(int)));
    TRY_CUDA(cudaMalloc(&d_count, sizeof(int)));
    TRY_CUDA(cudaMalloc(&d_planes, N_BOARDS * 81));
    TRY_CUDA(cudaMemcpy(d_boards, &boards[0], N_BOARDS * sizeof(Board), cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemset(d_count, 0, sizeof(int)));

    singles<<<N_BOARDS, 96>>>(d_boards, d_rounds);
    search<<<N_BOARDS / SEARCH_TPB, SEARCH_TPB>>>(d_boards, d_rep, N_BOARDS);
    to_planes<<<dim3(N_BOARDS / 128, 81), 128>>>(d_boards, d_planes, N_BOARDS);
    validate<<<N_BOARDS / 128, 128>>>(d_planes, N_BOARDS, d_valid, d_count);
    TRY_CUDA(cudaGetLastError());
    TRY_CUDA(cudaDeviceSynchronize());

    std::vector<Report> rep(N_BOARDS);
    std::vector<int> rounds(N_BOARDS), valid(N_BOARDS);
    int n_valid = 0;
    TRY_CUDA(cudaMemcpy(&out[0], d_boards, N_BOARDS * sizeof(Board), cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(&rep[0], d_rep, N_BOARDS * sizeof(Report), cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(&rounds[0], d_rounds, N_BOARDS * sizeof(int), cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(&valid[0], d_valid, N_BOARDS * sizeof(int), cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(&n_valid, d_count, sizeof(int), cudaMemcpyDeviceToHost));

    int errors = 0, solved = 0;
    long total_nodes = 0;
    for (int i = 0; i < N_BOARDS; i++) {
        Board b = boards[i];
        int rd = cpu_singles(b), nodes = 0;
        bool ok = cpu_search(b, 0, nodes);
        errors += rd != rounds[i];
        errors += (int)ok != rep[i].solved || nodes != rep[i].nodes || valid[i] != (int)ok;
        errors += memcmp(b.cell, out[i].cell, 81) != 0;
        solved += ok;
        total_nodes += nodes;
    }
    errors += n_valid != solved;
    printf("%d of %d boards solved, %ld nodes, %d errors\n", solved, N_BOARDS, total_nodes, errors);
    cudaFree(d_boards); cudaFree(d_rep); cudaFree(d_rounds); cudaFree(d_valid); cudaFree(d_count); cudaFree(d_planes);
    printf(errors ? "FAIL\n" : "PASS\n");
    return errors ? 1 : 0;
}
