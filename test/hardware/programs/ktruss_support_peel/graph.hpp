#pragma once
#include <string>
#include <vector>

// Undirected simple graph oriented from lower to higher rank; every edge is
// stored once, adjacency lists are sorted.
struct OrientedGraph {
    int vertices = 0;
    std::vector<int> offset;   // vertices + 1
    std::vector<int> target;   // edges
    std::vector<int> source;   // edges
    int edges() const { return int(target.size()); }
};

enum class Flavour { PowerLaw, Clustered };

OrientedGraph make_graph(Flavour f, int vertices, int degree, unsigned long long seed);
std::vector<int> host_support(const OrientedGraph& g, const std::vector<unsigned char>& alive);
