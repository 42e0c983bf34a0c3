// nvcc: -std=c++17
// Entity-component-system tick of a lockstep strategy game. Simulation state is fixed point, so the
// host replay has to agree bit for bit.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

static void gpu(cudaError_t e) {
  if (e != cudaSuccess) {
    std::printf("FAIL: CUDA error %s\n", cudaGetErrorString(e));
    std::exit(1);
  }
}

template <class T>
class GpuVector {
  T* p_ = nullptr;
  int n_ = 0;

 public:
  explicit GpuVector(int n) : n_(n) {
    gpu(cudaMalloc(&p_, sizeof(T) * n));
    gpu(cudaMemset(p_, 0, sizeof(T) * n));
  }
  explicit GpuVector(const std::vector<T>& v) : GpuVector(static_cast<int>(v.size())) {
    gpu(cudaMemcpy(p_, v.data(), sizeof(T) * n_, cudaMemcpyHostToDevice));
  }
  GpuVector(GpuVector&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
  GpuVector(const GpuVector&) = delete;
  ~GpuVector() { cudaFree(p_); }
  T* data() { return p_; }
  int size() const { return n_; }
  std::vector<T> read() const {
    std::vector<T> v(n_);
    gpu(cudaMemcpy(v.data(), p_, sizeof(T) * n_, cudaMemcpyDeviceToHost));
    return v;
  }
};

// ---- components -------------------------------------------------------------------------
struct Position {
  int x, y, z;
};
struct Velocity {
  short x, y, z, pad;
};
struct Health {
  short hp;
  short armor;
  std::uint8_t team;
  std::uint8_t alive;
  std::uint16_t kills;
};
struct Ammo {
  int arrows;
};
struct Contact {
  int damage;
  int nearest;
  int count;
};

constexpr int kWorld = 1 << 16;
constexpr int kCellBits = 10;
constexpr int kCells = kWorld >> kCellBits;  // per side
constexpr int kReach = 360;

__host__ __device__ inline int wrap(int v) { return v & (kWorld - 1); }
__host__ __device__ inline int cell_of(const Position& p) { return (p.z >> kCellBits) * kCells + (p.x >> kCellBits); }

// ---- archetypes -------------------------------------------------------------------------
template <class System, class... C>
__global__ void for_each_entity(System system, int count, C*... columns) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < count)
    system(e, columns[e]...);
}

template <class... Components>
class Archetype {
  std::tuple<GpuVector<Components>...> columns_;
  int count_;
  int first_id_;

 public:
  Archetype(int first_id, const std::vector<Components>&... init)
      : columns_(GpuVector<Components>(init)...), count_(std::get<0>(columns_).size()), first_id_(first_id) {}

  template <class C>
  GpuVector<C>& get() {
    return std::get<GpuVector<C>>(columns_);
  }
  template <class... Wanted, class System>
  void each(System system) {
    for_each_entity<System, Wanted...><<<(count_ + 191) / 192, 192>>>(system, count_, get<Wanted>().data()...);
    gpu(cudaGetLastError());
  }
  int count() const { return count_; }
  int first_id() const { return first_id_; }
};

// ---- systems ----------------------------------------------------------------------------
struct Integrate {
  int tick;
  __host__ __device__ void operator()(int, Position& p, Velocity& v) const {
    p.x = wrap(p.x + v.x);
    p.z = wrap(p.z + v.z);
    p.y += v.y;
    if (p.y < 0) {
      p.y = -p.y / 2;
      v.y = static_cast<short>(-v.y / 2);
    } else {
      v.y = static_cast<short>(v.y - (10 + (tick & 1)));
    }
  }
};

struct CountCells {
  int* counts;
  __device__ void operator()(int, Position& p) const { atomicAdd(&counts[cell_of(p)], 1); }
};

struct GridEntry {
  int x;
  int z;
  int id;
  int team;
};

struct ScatterToCells {
  int* cursor;
  GridEntry* entries;
  int first_id;
  __device__ void operator()(int e, Position& p, Health& h) const {
    const int slot = atomicAdd(&cursor[cell_of(p)], 1);
    entries[slot] = GridEntry{p.x, p.z, first_id + e, h.team};
  }
};

__host__ __device__ inline void touch(Contact& c, int dx, int dz, int id) {
  if (dx * dx + dz * dz < kReach * kReach) {
    c.damage += 3 + (id & 3);
    c.nearest = c.count == 0 || id < c.nearest ? id : c.nearest;
    ++c.count;
  }
}

struct FindEnemies {
  const int* start;
  const GridEntry* entries;
  __device__ void operator()(int, Position& p, Health& h, Contact& out) const {
    Contact c{0, -1, 0};
    const int cx = p.x >> kCellBits;
    const int cz = p.z >> kCellBits;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, kCells - 1); ++z) {
      for (int x = max(cx - 1, 0); x <= min(cx + 1, kCells - 1); ++x) {
        const int cell = z * kCells + x;
        for (int k = start[cell]; k < start[cell + 1]; ++k) {
          const GridEntry g = entries[k];
          if (g.team != h.team)
            touch(c, g.x - p.x, g.z - p.z, g.id);
        }
      }
    }
    out = c;
  }
};

// Deaths are appended to an event queue, one atomic per group of converged threads.
struct ApplyDamage {
  int* queue;
  int* queue_size;
  int first_id;
  __device__ void operator()(int e, Health& h, Contact& c) const {
    const int hit = max(c.damage - h.armor, 0);
    h.hp = static_cast<short>(h.hp - hit);
    if (h.hp <= 0) {
      h.alive = 0;
      cg::coalesced_group dying = cg::coalesced_threads();
      int base = 0;
      if (dying.thread_rank() == 0)
        base = atomicAdd(queue_size, static_cast<int>(dying.size()));
      base = dying.shfl(base, 0);
      queue[base + dying.thread_rank()] = first_id + e;
    }
  }
};

struct SpendArrows {
  __device__ void operator()(int, Ammo& a, Contact& c) const { a.arrows = max(a.arrows - c.count, 0); }
};

// Exclusive scan over all cells by one block; also primes the insertion cursors.
__global__ void scan_cells(const int* __restrict__ counts, int* __restrict__ start, int* __restrict__ cursor) {
  __shared__ int sums[512];
  constexpr int per = kCells * kCells / 512;
  const int first = threadIdx.x * per;
  int local = 0;
  for (int k = 0; k < per; ++k)
    local += counts[first + k];
  sums[threadIdx.x] = local;
  __syncthreads();
  for (int d = 1; d < 512; d *= 2) {
    const int v = static_cast<int>(threadIdx.x) >= d ? sums[threadIdx.x - d] : 0;
    __syncthreads();
    sums[threadIdx.x] += v;
    __syncthreads();
  }
  int at = sums[threadIdx.x] - local;
  for (int k = 0; k < per; ++k) {
    start[first + k] = at;
    cursor[first + k] = at;
    at += counts[first + k];
  }
  if (threadIdx.x == 511)
    start[kCells * kCells] = at;
}

// Network snapshot: 16 bits x, 16 bits z, 12 bits hp, 2 bits team, alive flag.
__host__ __device__ inline std::uint64_t pack_unit(const Position& p, const Health& h) {
  const std::uint64_t hp = static_cast<std::uint64_t>(h.hp < 0 ? 0 : h.hp) & 0xfffu;
  return static_cast<std::uint64_t>(p.x) | static_cast<std::uint64_t>(p.z) << 16 | hp << 32 |
         static_cast<std::uint64_t>(h.team & 3u) << 44 | static_cast<std::uint64_t>(h.alive) << 46;
}

struct Snapshot {
  std::uint64_t* out;
  __device__ void operator()(int e, Position& p, Health& h) const { out[e] = pack_unit(p, h); }
};

struct Army {
  std::vector<Position> p;
  std::vector<Velocity> v;
  std::vector<Health> h;
  std::vector<Contact> c;
};

static Army raise_army(int n, unsigned seed) {
  std::mt19937 rng(seed);
  Army a;
  for (int i = 0; i < n; ++i) {
    a.p.push_back({static_cast<int>(rng() % kWorld), static_cast<int>(rng() % 50), static_cast<int>(rng() % kWorld)});
    a.v.push_back({static_cast<short>(rng() % 201 - 100), static_cast<short>(rng() % 41 - 20), static_cast<short>(rng() % 201 - 100), 0});
    a.h.push_back({static_cast<short>(5 + rng() % 60), static_cast<short>(rng() % 4), static_cast<std::uint8_t>(rng() % 4), 1, 0});
  }
  a.c.resize(n, Contact{0, -1, 0});
  return a;
}

int main() {
  Army foot = raise_army(24000, 1);
  Army bows = raise_army(9000, 2);
  const int foot_n = static_cast<int>(foot.p.size());
  const int bows_n = static_cast<int>(bows.p.size());
  std::vector<Ammo> ammo(bows_n, Ammo{12});
  Archetype<Position, Velocity, Health, Contact> infantry(0, foot.p, foot.v, foot.h, foot.c);
  Archetype<Position, Velocity, Health, Contact, Ammo> archers(foot_n, bows.p, bows.v, bows.h, bows.c, ammo);

  GpuVector<int> counts(kCells * kCells), start(kCells * kCells + 1), cursor(kCells * kCells);
  GpuVector<GridEntry> entries(foot_n + bows_n);
  GpuVector<int> queue(foot_n + bows_n), queue_size(1);
  GpuVector<std::uint64_t> snapshot(foot_n + bows_n);

  auto both = [&](auto&& action) {
    action(infantry);
    action(archers);
  };
  both([&](auto& a) { a.template each<Position, Velocity>(Integrate{1}); });
  both([&](auto& a) { a.template each<Position>(CountCells{counts.data()}); });
  scan_cells<<<1, 512>>>(counts.data(), start.data(), cursor.data());
  both([&](auto& a) { a.template each<Position, Health>(ScatterToCells{cursor.data(), entries.data(), a.first_id()}); });
  both([&](auto& a) { a.template each<Position, Health, Contact>(FindEnemies{start.data(), entries.data()}); });
  both([&](auto& a) { a.template each<Health, Contact>(ApplyDamage{queue.data(), queue_size.data(), a.first_id()}); });
  archers.each<Ammo, Contact>(SpendArrows{});
  both([&](auto& a) { a.template each<Position, Health>(Snapshot{snapshot.data() + a.first_id()}); });

  gpu(cudaGetLastError());
  gpu(cudaDeviceSynchronize());

  // ---- host replay
  std::vector<std::vector<GridEntry>> cells(kCells * kCells);
  auto replay_move = [&](Army& a, int base) {
    for (std::size_t e = 0; e < a.p.size(); ++e) {
      Integrate{1}(0, a.p[e], a.v[e]);
      cells[cell_of(a.p[e])].push_back({a.p[e].x, a.p[e].z, base + static_cast<int>(e), a.h[e].team});
    }
  };
  replay_move(foot, 0);
  replay_move(bows, foot_n);
  std::vector<int> dead;
  std::vector<std::uint64_t> want;
  auto replay_fight = [&](Army& a, int base) {
    for (std::size_t e = 0; e < a.p.size(); ++e) {
      Contact c{0, -1, 0};
      for (int z = (a.p[e].z >> kCellBits) - 1; z <= (a.p[e].z >> kCellBits) + 1; ++z) {
        for (int x = (a.p[e].x >> kCellBits) - 1; x <= (a.p[e].x >> kCellBits) + 1; ++x) {
          if (x < 0 || z < 0 || x >= kCells || z >= kCells) continue;
          for (const GridEntry& g : cells[z * kCells + x]) {
            if (g.team != a.h[e].team)
              touch(c, g.x - a.p[e].x, g.z - a.p[e].z, g.id);
          }
        }
      }
      a.c[e] = c;
      a.h[e].hp = static_cast<short>(a.h[e].hp - std::max(c.damage - a.h[e].armor, 0));
      if (a.h[e].hp <= 0) {
        a.h[e].alive = 0;
        dead.push_back(base + static_cast<int>(e));
      }
      want.push_back(pack_unit(a.p[e], a.h[e]));
    }
  };
  replay_fight(foot, 0);
  replay_fight(bows, foot_n);

  int bad = 0;
  const auto got = snapshot.read();
  for (std::size_t i = 0; i < want.size(); ++i)
    bad += got[i] != want[i];
  auto events = queue.read();
  const int deaths = queue_size.read()[0];
  bad += deaths != static_cast<int>(dead.size());
  events.resize(deaths);
  std::sort(events.begin(), events.end());
  bad += events != dead;
  const auto arrows = archers.get<Ammo>().read();
  const auto contacts = archers.get<Contact>().read();
  for (int i = 0; i < bows_n; ++i)
    bad += arrows[i].arrows != std::max(12 - bows.c[i].count, 0) || contacts[i].nearest != bows.c[i].nearest;
  const bool ok = bad == 0;
  std::printf("%d deaths, %d mismatches: %s\n", deaths, bad, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
