#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "graph.hpp"

struct DeviceTruss;  // opaque

using SupportLaunch = std::function<void(DeviceTruss&)>;

const std::map<std::string, SupportLaunch>& support_variants();

std::shared_ptr<DeviceTruss> to_device(const OrientedGraph& g);
std::vector<int> fetch_support(DeviceTruss& d);
std::vector<unsigned char> fetch_alive(DeviceTruss& d);
int peel_below(DeviceTruss& d, int need);
