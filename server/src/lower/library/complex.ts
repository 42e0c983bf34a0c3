/** Complex numbers of cuComplex.h and cuFFT: pairs, with their arithmetic. */
const arithmetic = (type: string, part: string, letter: string): string => `
__host__ __device__ ${part} cuCreal${letter}(${type} x) { return x.x; }
__host__ __device__ ${part} cuCimag${letter}(${type} x) { return x.y; }
__host__ __device__ ${type} cuConj${letter}(${type} x) { return make_${type}(x.x, -x.y); }
__host__ __device__ ${type} cuCadd${letter}(${type} x, ${type} y) { return make_${type}(x.x + y.x, x.y + y.y); }
__host__ __device__ ${type} cuCsub${letter}(${type} x, ${type} y) { return make_${type}(x.x - y.x, x.y - y.y); }
__host__ __device__ ${type} cuCmul${letter}(${type} x, ${type} y) { return make_${type}(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }
__host__ __device__ ${type} cuCdiv${letter}(${type} x, ${type} y) { ${part} s = y.x * y.x + y.y * y.y; return make_${type}((x.x * y.x + x.y * y.y) / s, (x.y * y.x - x.x * y.y) / s); }
__host__ __device__ ${type} cuCfma${letter}(${type} x, ${type} y, ${type} d) { return cuCadd${letter}(cuCmul${letter}(x, y), d); }
__host__ __device__ ${part} cuCabs${letter}(${type} x) { return sqrt(x.x * x.x + x.y * x.y); }
`;

export const complex = `
typedef float2 cuFloatComplex, cuComplex, cufftComplex;
typedef double2 cuDoubleComplex, cufftDoubleComplex;
typedef float cufftReal;
typedef double cufftDoubleReal;
__host__ __device__ float2 make_cuFloatComplex(float r, float i) { return make_float2(r, i); }
__host__ __device__ float2 make_cuComplex(float r, float i) { return make_float2(r, i); }
__host__ __device__ double2 make_cuDoubleComplex(double r, double i) { return make_double2(r, i); }
__host__ __device__ double2 cuComplexFloatToDouble(float2 x) { return make_double2(x.x, x.y); }
__host__ __device__ float2 cuComplexDoubleToFloat(double2 x) { return make_float2(x.x, x.y); }
${arithmetic('float2', 'float', 'f')}
${arithmetic('double2', 'double', '')}
`;
