// Lattice Boltzmann D2Q9: streaming with the structure of arrays, and the collision on an array of structures.
#include "common.h"

#define Q 9
#define WIDTH 256
#define HEIGHT 128
#define CELLS (WIDTH * HEIGHT)
#define F(q, cell) ((q) * CELLS + (cell))

__constant__ int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float weight[Q] = {4.f/9, 1.f/9, 1.f/9, 1.f/9, 1.f/9, 1.f/36, 1.f/36, 1.f/36, 1.f/36};

__global__ void streamPull(const float *__restrict__ f, float *__restrict__ g)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int cell = y * WIDTH + x;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        int sx = (x - cx[q] + WIDTH) % WIDTH;
        int sy = (y - cy[q] + HEIGHT) % HEIGHT;
        g[F(q, cell)] = f[F(q, sy * WIDTH + sx)];
    }
}

struct Cell { float f[Q]; };

__global__ void collideCells(Cell *cells, float omega)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= CELLS) return;
    float rho = 0, ux = 0, uy = 0;
    for (int q = 0; q < Q; q++) {
        float v = cells[i].f[q];
        rho += v;
        ux += v * cx[q];
        uy += v * cy[q];
    }
    ux /= rho;
    uy /= rho;
    for (int q = 0; q < Q; q++) {
        float cu = 3.0f * (cx[q] * ux + cy[q] * uy);
        float eq = weight[q] * rho * (1.0f + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
        cells[i].f[q] += omega * (eq - cells[i].f[q]);
    }
}

int main()
{
    const int hx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, hy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    std::vector<float> f(Q * CELLS), want(Q * CELLS);
    Random r(1);
    for (float &v : f) v = 0.1f + 0.01f * r.uniform();
    for (int q = 0; q < Q; q++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                want[F(q, y * WIDTH + x)] = f[F(q, (y - hy[q] + HEIGHT) % HEIGHT * WIDTH + (x - hx[q] + WIDTH) % WIDTH)];
    float *df = toDevice(f), *dg = deviceZeros<float>(Q * CELLS);
    bool ok = true;
    streamPull<<<dim3(WIDTH / 64, HEIGHT / 2), dim3(64, 2)>>>(df, dg);
    ok &= report("streamPull", toHost(dg, Q * CELLS) == want);

    const float omega = 1.2f;
    std::vector<Cell> cells(CELLS);
    for (int i = 0; i < CELLS; i++) for (int q = 0; q < Q; q++) cells[i].f[q] = f[F(q, i)];
    Cell *dc = toDevice(cells);
    collideCells<<<CELLS / 128, 128>>>(dc, omega);
    std::vector<Cell> after = toHost(dc, CELLS);
    const float w[3] = {4.f/9, 1.f/9, 1.f/36};
    bool good = true;
    for (int i = 0; i < CELLS; i++) {
        float rho = 0, ux = 0, uy = 0;
        for (int q = 0; q < Q; q++) { rho += cells[i].f[q]; ux += cells[i].f[q] * hx[q]; uy += cells[i].f[q] * hy[q]; }
        ux /= rho; uy /= rho;
        for (int q = 0; q < Q; q++) {
            float cu = 3 * (hx[q] * ux + hy[q] * uy);
            float eq = w[q == 0 ? 0 : q < 5 ? 1 : 2] * rho * (1 + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
            good = good && std::fabs(after[i].f[q] - (cells[i].f[q] + omega * (eq - cells[i].f[q]))) < 1e-5f;
        }
    }
    ok &= report("collideCells", good);
    return ok ? 0 : 1;
}
