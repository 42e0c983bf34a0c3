#pragma once
#include <vector>
#include "voxel_grid.hpp"

// Uploads the world in the given layout and cell type and shoots all rays of a pose.
template <class Cell, class Layout>
class Scanner {
public:
    explicit Scanner(const GridDims& g, const std::vector<Vec3>& dirs);
    ~Scanner();
    Scanner(const Scanner&) = delete;
    std::vector<RayHit> scan(const Pose& pose);

private:
    GridDims g_;
    int rays_;
    Cell* world_ = nullptr;
    Vec3* dirs_ = nullptr;
    RayHit* hits_ = nullptr;
};

struct CarvedMap {
    std::vector<int> evidence;     // row major, hits minus misses weighted
    std::vector<int> occupied;     // sorted row major cell numbers
};

CarvedMap carve(const GridDims& g, const std::vector<Vec3>& dirs, const std::vector<Pose>& poses,
                const std::vector<std::vector<RayHit>>& hits);

constexpr int kHitWeight = 9;
constexpr int kMissWeight = 2;
constexpr int kOccupiedAt = 5;
