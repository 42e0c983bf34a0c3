#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

inline void cuda_or_die(cudaError_t e, const char* file, int line) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d %s\n", file, line, cudaGetErrorString(e));
    std::exit(1);
}
#define CHECK(x) cuda_or_die((x), __FILE__, __LINE__)

template <class T>
class Buffer {
    T* p_ = nullptr;
    size_t n_ = 0;

public:
    Buffer() = default;
    explicit Buffer(size_t n) : n_(n) { CHECK(cudaMalloc(&p_, n * sizeof(T))); }
    Buffer(const std::vector<T>& h) : Buffer(h.size()) {
        CHECK(cudaMemcpy(p_, h.data(), bytes(), cudaMemcpyHostToDevice));
    }
    Buffer(Buffer&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
    Buffer& operator=(Buffer&& o) noexcept {
        std::swap(p_, o.p_);
        std::swap(n_, o.n_);
        return *this;
    }
    ~Buffer() { cudaFree(p_); }

    T* data() { return p_; }
    const T* data() const { return p_; }
    size_t size() const { return n_; }
    size_t bytes() const { return n_ * sizeof(T); }
    void zero() { CHECK(cudaMemset(p_, 0, bytes())); }
    std::vector<T> host() const {
        std::vector<T> h(n_);
        CHECK(cudaMemcpy(h.data(), p_, bytes(), cudaMemcpyDeviceToHost));
        return h;
    }
};
