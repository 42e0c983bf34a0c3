#pragma once
#include <vector>
#include "config.h"
struct Blob;
struct DeviceFlow {
    Blob* blobs = nullptr;
    float* vel = nullptr;     // u,v interleaved per blob
    float* tracer_x = nullptr;
    float* tracer_y = nullptr;
};
void flow_upload(DeviceFlow& f, const FlowConfig& c, const std::vector<Blob>& blobs, const std::vector<float>& tx,
                 const std::vector<float>& ty);
void flow_step(DeviceFlow& f, const FlowConfig& c);
void flow_release(DeviceFlow& f);
// remesh.cu : scatters circulation to the grid, returns grid and the number of cells above tol
int remesh(const DeviceFlow& f, const FlowConfig& c, float tol, std::vector<float>& grid, std::vector<int>& active);
