// Brute-force matching of 256-bit binary descriptors (ORB/BRIEF style), best and second best.
// A ladder of implementations, from bytes to asynchronous tiles with a work queue.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#define VERIFY(Expr)                                                                             \
	if (const cudaError_t Result = (Expr))                                                       \
	{                                                                                            \
		std::printf("%s failed at %d: %s\n", #Expr, __LINE__, cudaGetErrorString(Result));       \
		std::exit(1);                                                                            \
	}

// key = distance << 16 | index, so that a plain min() picks the nearest with ties to the lower index
struct Top2
{
	uint32_t Best;
	uint32_t Second;
};

struct Descriptor
{
	uint32_t Words[8];
};

constexpr uint32_t kNoKey = 0xffffffffu;
constexpr int kTile = 64;
constexpr int kSlices = 4;

__host__ __device__ inline Top2 EmptyTop2()
{
	return Top2{kNoKey, kNoKey};
}

__device__ __forceinline__ void Insert(Top2& T, uint32_t Key)
{
	T.Second = min(T.Second, max(T.Best, Key));
	T.Best = min(T.Best, Key);
}

__device__ __forceinline__ Top2 Merge(Top2 A, Top2 B)
{
	Top2 R;
	R.Best = min(A.Best, B.Best);
	R.Second = min(max(A.Best, B.Best), min(A.Second, B.Second));
	return R;
}

__device__ __forceinline__ int Distance(uint4 A0, uint4 A1, uint4 B0, uint4 B1)
{
	int D = __popc(A0.x ^ B0.x) + __popc(A0.y ^ B0.y) + __popc(A0.z ^ B0.z) + __popc(A0.w ^ B0.w);
	D += __popc(A1.x ^ B1.x) + __popc(A1.y ^ B1.y) + __popc(A1.z ^ B1.z) + __popc(A1.w ^ B1.w);
	return D;
}

// Rung 1: byte by byte
__global__ void MatchBytes(const uint8_t* Query, const uint8_t* Train, Top2* Out, int NumQuery, int NumTrain)
{
	int Q = blockIdx.x * blockDim.x + threadIdx.x;
	if (Q >= NumQuery)
		return;
	Top2 T = EmptyTop2();
	for (int J = 0; J < NumTrain; ++J)
	{
		int D = 0;
		for (int B = 0; B < 32; ++B)
			D += __popc(Query[Q * 32 + B] ^ Train[J * 32 + B]);
		Insert(T, (uint32_t)D << 16 | J);
	}
	Out[Q] = T;
}

// Rung 2: planar words, one block per query
__global__ void ToPlanes(const Descriptor* __restrict__ In, uint32_t* __restrict__ Planes, int Count)
{
	int I = blockIdx.x * blockDim.x + threadIdx.x;
	if (I >= Count)
		return;
	Descriptor D = In[I];
	for (int W = 0; W < 8; ++W)
		Planes[W * Count + I] = D.Words[W];
}

__global__ void MatchPlanar(const Descriptor* __restrict__ Query, const uint32_t* __restrict__ Planes, Top2* __restrict__ Out, int NumTrain)
{
	__shared__ uint32_t Q[8];
	__shared__ Top2 Scratch[128];
	if (threadIdx.x < 8)
		Q[threadIdx.x] = Query[blockIdx.x].Words[threadIdx.x];
	__syncthreads();
	Top2 T = EmptyTop2();
	for (int J = threadIdx.x; J < NumTrain; J += blockDim.x)
	{
		int D = 0;
#pragma unroll
		for (int W = 0; W < 8; ++W)
			D += __popc(Q[W] ^ Planes[W * NumTrain + J]);
		Insert(T, (uint32_t)D << 16 | J);
	}
	Scratch[threadIdx.x] = T;
	for (int S = 64; S > 0; S >>= 1)
	{
		__syncthreads();
		if (threadIdx.x < S)
			Scratch[threadIdx.x] = Merge(Scratch[threadIdx.x], Scratch[threadIdx.x + S]);
	}
	if (threadIdx.x == 0)
		Out[blockIdx.x] = Scratch[0];
}

// Rung 3: one warp per query, no shared memory
__global__ void MatchWarp(const uint4* __restrict__ Query, const uint4* __restrict__ Train, Top2* __restrict__ Out, int NumQuery, int NumTrain)
{
	const int Lane = threadIdx.x & 31;
	const int Q = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (Q >= NumQuery)
		return;
	const uint4 Q0 = Query[2 * Q];
	const uint4 Q1 = Query[2 * Q + 1];
	Top2 T = EmptyTop2();
	for (int J = Lane; J < NumTrain; J += 32)
		Insert(T, (uint32_t)Distance(Q0, Q1, Train[2 * J], Train[2 * J + 1]) << 16 | J);
#pragma unroll
	for (int Offset = 16; Offset > 0; Offset >>= 1)
	{
		Top2 Other;
		Other.Best = __shfl_down_sync(0xffffffffu, T.Best, Offset);
		Other.Second = __shfl_down_sync(0xffffffffu, T.Second, Offset);
		T = Merge(T, Other);
	}
	if (Lane == 0)
		Out[Q] = T;
}

// Rung 4: several queries per thread, train tile in shared memory, train side cut in slices
template <int QPT, int PAD>
__global__ void MatchBlocked(const uint4* __restrict__ Query, const Descriptor* __restrict__ Train, Top2* __restrict__ Partial, int NumQuery, int NumTrain, int SliceLen)
{
	__shared__ uint32_t Tile[kTile][8 + PAD];
	uint4 Q0[QPT];
	uint4 Q1[QPT];
	Top2 T[QPT];
	const int First = blockIdx.x * blockDim.x * QPT + threadIdx.x;
#pragma unroll
	for (int I = 0; I < QPT; ++I)
	{
		const int Q = min(First + I * (int)blockDim.x, NumQuery - 1);
		Q0[I] = Query[2 * Q];
		Q1[I] = Query[2 * Q + 1];
		T[I] = EmptyTop2();
	}
	const int Begin = blockIdx.y * SliceLen;
	const int End = min(Begin + SliceLen, NumTrain);
	for (int Base = Begin; Base < End; Base += kTile)
	{
		const int Count = min(kTile, End - Base);
		// every thread brings in a whole descriptor
		for (int J = threadIdx.x; J < Count; J += blockDim.x)
		{
#pragma unroll
			for (int W = 0; W < 8; ++W)
				Tile[J][W] = Train[Base + J].Words[W];
		}
		__syncthreads();
		for (int J = 0; J < Count; ++J)
		{
			const uint32_t* D = Tile[J];
			const uint4 A = make_uint4(D[0], D[1], D[2], D[3]);
			const uint4 B = make_uint4(D[4], D[5], D[6], D[7]);
#pragma unroll
			for (int I = 0; I < QPT; ++I)
				Insert(T[I], (uint32_t)Distance(Q0[I], Q1[I], A, B) << 16 | (Base + J));
		}
		__syncthreads();
	}
#pragma unroll
	for (int I = 0; I < QPT; ++I)
	{
		const int Q = First + I * blockDim.x;
		if (Q < NumQuery)
			Partial[blockIdx.y * NumQuery + Q] = T[I];
	}
}

// Rung 5: work queue of (query block, slice) pairs, train tiles fetched ahead with cp.async
__global__ __launch_bounds__(128) void MatchQueue(const uint4* __restrict__ Query, const uint4* __restrict__ Train, Top2* __restrict__ Partial, int NumQuery, int NumTrain, int SliceLen, int* Next)
{
	__shared__ uint4 Tile[2][kTile * 2];
	__shared__ int Item;
	const int QueryBlocks = (NumQuery + 127) / 128;
	for (;;)
	{
		if (threadIdx.x == 0)
			Item = atomicAdd(Next, 1);
		__syncthreads();
		const int Work = Item;
		if (Work >= QueryBlocks * kSlices)
			return;
		const int Slice = Work / QueryBlocks;
		const int Q = (Work % QueryBlocks) * 128 + threadIdx.x;
		const int SafeQ = min(Q, NumQuery - 1);
		const uint4 Q0 = Query[2 * SafeQ], Q1 = Query[2 * SafeQ + 1];
		const int Begin = Slice * SliceLen;
		const int End = min(Begin + SliceLen, NumTrain);
		const int Tiles = (End - Begin + kTile - 1) / kTile;
		Top2 T = EmptyTop2();
		const int Limit = 2 * NumTrain;
		if (2 * Begin + (int)threadIdx.x < Limit)
			__pipeline_memcpy_async(&Tile[0][threadIdx.x], &Train[2 * Begin + threadIdx.x], 16);
		__pipeline_commit();
		for (int N = 0; N < Tiles; ++N)
		{
			const int Base = Begin + N * kTile;
			if (N + 1 < Tiles)
			{
				const int Src = 2 * (Base + kTile) + threadIdx.x;
				if (Src < Limit)
					__pipeline_memcpy_async(&Tile[(N + 1) & 1][threadIdx.x], &Train[Src], 16);
			}
			__pipeline_commit();
			__pipeline_wait_prior(1);
			__syncthreads();
			const int Count = min(kTile, End - Base);
			const uint4* Buf = Tile[N & 1];
#pragma unroll 4
			for (int J = 0; J < Count; ++J)
				Insert(T, (uint32_t)Distance(Q0, Q1, Buf[2 * J], Buf[2 * J + 1]) << 16 | (Base + J));
			__syncthreads();
		}
		if (Q < NumQuery)
			Partial[Q * kSlices + Slice] = T;
	}
}

__global__ void MergeSlices(const Top2* Partial, Top2* Out, int NumQuery, int StrideQ, int StrideS)
{
	int Q = blockIdx.x * blockDim.x + threadIdx.x;
	if (Q >= NumQuery)
		return;
	Top2 T = Partial[Q * StrideQ];
	for (int S = 1; S < kSlices; ++S)
		T = Merge(T, Partial[Q * StrideQ + S * StrideS]);
	Out[Q] = T;
}

static std::vector<Top2> MatchOnHost(const std::vector<Descriptor>& A, const std::vector<Descriptor>& B)
{
	std::vector<Top2> Out(A.size(), EmptyTop2());
	for (size_t I = 0; I < A.size(); ++I)
	{
		for (size_t J = 0; J < B.size(); ++J)
		{
			uint32_t D = 0;
			for (int W = 0; W < 8; ++W)
				D += __builtin_popcount(A[I].Words[W] ^ B[J].Words[W]);
			const uint32_t Key = D << 16 | (uint32_t)J;
			Out[I].Second = std::min(Out[I].Second, std::max(Out[I].Best, Key));
			Out[I].Best = std::min(Out[I].Best, Key);
		}
	}
	return Out;
}

static bool Compare(const char* Name, Top2* Device, const std::vector<Top2>& Want)
{
	std::vector<Top2> Got(Want.size());
	VERIFY(cudaGetLastError());
	VERIFY(cudaMemcpy(Got.data(), Device, Got.size() * sizeof(Top2), cudaMemcpyDeviceToHost));
	VERIFY(cudaMemset(Device, 0, Got.size() * sizeof(Top2)));
	int Bad = 0;
	for (size_t I = 0; I < Got.size(); ++I)
		Bad += Got[I].Best != Want[I].Best || Got[I].Second != Want[I].Second;
	std::printf("%-16s %d wrong\n", Name, Bad);
	return Bad == 0;
}

int main()
{
	const int NumQuery = 1500;
	const int NumTrain = 1900;
	std::mt19937 Rng(77);
	std::vector<Descriptor> Query(NumQuery), Train(NumTrain);
	for (Descriptor& D : Train)
		for (uint32_t& W : D.Words)
			W = Rng();
	for (int I = 0; I < NumQuery; ++I)
	{
		// two thirds are noisy copies of a train descriptor
		Query[I] = Train[(I * 7) % NumTrain];
		for (int W = 0; W < 8; ++W)
		{
			if (I % 3 == 2)
				Query[I].Words[W] = Rng();
			else
				Query[I].Words[W] ^= Rng() & Rng() & Rng();
		}
	}
	const std::vector<Top2> Forward = MatchOnHost(Query, Train);
	const std::vector<Top2> Backward = MatchOnHost(Train, Query);

	Descriptor *DevQuery, *DevTrain;
	uint32_t* DevPlanes;
	Top2 *DevOut, *DevBack, *DevPartial;
	int* DevNext;
	VERIFY(cudaMalloc(&DevQuery, NumQuery * sizeof(Descriptor)));
	VERIFY(cudaMalloc(&DevTrain, NumTrain * sizeof(Descriptor)));
	VERIFY(cudaMalloc(&DevPlanes, NumTrain * sizeof(Descriptor)));
	VERIFY(cudaMalloc(&DevOut, NumQuery * sizeof(Top2)));
	VERIFY(cudaMalloc(&DevBack, NumTrain * sizeof(Top2)));
	VERIFY(cudaMalloc(&DevPartial, kSlices * NumQuery * sizeof(Top2)));
	VERIFY(cudaMalloc(&DevNext, sizeof(int)));
	VERIFY(cudaMemset(DevNext, 0, sizeof(int)));
	VERIFY(cudaMemcpy(DevQuery, Query.data(), NumQuery * sizeof(Descriptor), cudaMemcpyHostToDevice));
	VERIFY(cudaMemcpy(DevTrain, Train.data(), NumTrain * sizeof(Descriptor), cudaMemcpyHostToDevice));
	const uint4* Query4 = reinterpret_cast<const uint4*>(DevQuery);
	const uint4* Train4 = reinterpret_cast<const uint4*>(DevTrain);
	const int SliceLen = (NumTrain + kSlices - 1) / kSlices;
	bool Good = true;

	MatchBytes<<<(NumQuery + 63) / 64, 64>>>(reinterpret_cast<uint8_t*>(DevQuery), reinterpret_cast<uint8_t*>(DevTrain), DevOut, NumQuery, NumTrain);
	Good &= Compare("bytes", DevOut, Forward);

	ToPlanes<<<(NumTrain + 127) / 128, 128>>>(DevTrain, DevPlanes, NumTrain);
	MatchPlanar<<<NumQuery, 128>>>(DevQuery, DevPlanes, DevOut, NumTrain);
	Good &= Compare("planar", DevOut, Forward);

	MatchBlocked<4, 0><<<dim3((NumQuery + 255) / 256, kSlices), 64>>>(Query4, DevTrain, DevPartial, NumQuery, NumTrain, SliceLen);
	MergeSlices<<<(NumQuery + 127) / 128, 128>>>(DevPartial, DevOut, NumQuery, 1, NumQuery);
	Good &= Compare("blocked 4", DevOut, Forward);

	MatchBlocked<2, 1><<<dim3((NumQuery + 127) / 128, kSlices), 64>>>(Query4, DevTrain, DevPartial, NumQuery, NumTrain, SliceLen);
	MergeSlices<<<(NumQuery + 127) / 128, 128>>>(DevPartial, DevOut, NumQuery, 1, NumQuery);
	Good &= Compare("blocked 2 padded", DevOut, Forward);

	MatchQueue<<<24, 128>>>(Query4, Train4, DevPartial, NumQuery, NumTrain, SliceLen, DevNext);
	MergeSlices<<<(NumQuery + 127) / 128, 128>>>(DevPartial, DevOut, NumQuery, kSlices, 1);
	Good &= Compare("queue", DevOut, Forward);

	MatchWarp<<<(NumTrain + 3) / 4, 128>>>(Train4, Query4, DevBack, NumTrain, NumQuery);
	Good &= Compare("warp, backward", DevBack, Backward);

	std::printf("%s\n", Good ? "PASS" : "FAIL");
	return Good ? 0 : 1;
}
