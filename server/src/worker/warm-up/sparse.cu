// Addresses and lengths of loops that rest on loaded data, which the host makes: its program is run for them.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t status = (call);                                            \
        if (status != cudaSuccess) {                                            \
            fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, (int)status);    \
            exit(EXIT_FAILURE);                                                 \
        }                                                                       \
    } while (0)

struct Csr {
    int rows;
    const int *offsets;
    const int *columns;
    const float *values;
};

__global__ void multiply(Csr matrix, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= matrix.rows)
        return;
    float sum = 0.0f;
    for (int k = matrix.offsets[row]; k < matrix.offsets[row + 1]; k++)
        sum += matrix.values[k] * x[matrix.columns[k]];
    y[row] = sum;
}

int main()
{
    const int rows = 512;
    std::vector<int> offsets(rows + 1, 0), columns;
    std::vector<float> values;
    srand(7);
    for (int r = 0; r < rows; ++r) {
        int length = 1 + rand() % 8;
        for (int k = 0; k < length; ++k) {
            columns.push_back((r * 31 + k * 17) % rows);
            values.push_back(1.0f / (1 + k));
        }
        offsets[r + 1] = static_cast<int>(columns.size());
    }
    int *dOffsets, *dColumns;
    float *dValues, *dX, *dY;
    CHECK(cudaMalloc(&dOffsets, offsets.size() * sizeof(int)));
    CHECK(cudaMalloc(&dColumns, columns.size() * sizeof(int)));
    CHECK(cudaMalloc(&dValues, values.size() * sizeof(float)));
    CHECK(cudaMalloc(&dX, rows * sizeof(float)));
    CHECK(cudaMalloc(&dY, rows * sizeof(float)));
    CHECK(cudaMemcpy(dOffsets, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dColumns, columns.data(), columns.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dValues, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    Csr matrix{rows, dOffsets, dColumns, dValues};
    for (int step = 0; step < 4; ++step)
        multiply<<<(rows + 127) / 128, 128>>>(matrix, step % 2 ? dY : dX, step % 2 ? dX : dY);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
