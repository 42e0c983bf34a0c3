// Records in memory, read and written as a whole and in part; a switch; a class that knows its launch.

struct Cell {
    float density;
    float3 velocity;
    int flags;
};

__global__ void advance(Cell *cells, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Cell c = cells[i];
    switch (c.flags & 3) {
    case 0: c.density += dt * c.velocity.x; break;
    case 1: c.density -= dt * c.velocity.y; break;
    default: c.velocity.z *= 0.5f; break;
    }
    if (c.density < 0.0f)
        c.density = 0.0f;
    cells[i] = c;
}

class Grid {
public:
    explicit Grid(int size) : n(size) { cudaMalloc((void **)&cells, n * sizeof(Cell)); }
    ~Grid() { cudaFree(cells); }
    void step(float dt) { advance<<<blocks(256), 256>>>(cells, dt, n); }

private:
    int blocks(int threads) const { return (n + threads - 1) / threads; }
    int n;
    Cell *cells = nullptr;
};

int main()
{
    Grid grid(2048);
    for (int i = 0; i < 3; ++i)
        grid.step(0.01f);
    return 0;
}
