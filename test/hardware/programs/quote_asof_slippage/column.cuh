#pragma once
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>
#include <vector>

inline void throw_on(cudaError_t e, const char* where) {
    if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

// Owning device column.
template <class T>
class Column {
public:
    explicit Column(size_t n) : n_(n) { throw_on(cudaMalloc(&d_, sizeof(T) * (n ? n : 1)), "column"); }
    explicit Column(const std::vector<T>& h) : Column(h.size()) {
        throw_on(cudaMemcpy(d_, h.data(), sizeof(T) * n_, cudaMemcpyHostToDevice), "load");
    }
    Column(Column&& o) noexcept : d_(o.d_), n_(o.n_) { o.d_ = nullptr; }
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    ~Column() { cudaFree(d_); }
    T* get() { return d_; }
    const T* get() const { return d_; }
    size_t size() const { return n_; }
    void fill_zero() { throw_on(cudaMemset(d_, 0, sizeof(T) * n_), "zero"); }
    std::vector<T> to_host(size_t n) const {
        std::vector<T> h(n);
        throw_on(cudaMemcpy(h.data(), d_, sizeof(T) * n, cudaMemcpyDeviceToHost), "fetch");
        return h;
    }

private:
    T* d_ = nullptr;
    size_t n_;
};
