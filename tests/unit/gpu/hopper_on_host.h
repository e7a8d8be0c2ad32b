#pragma once

// Stands in for gpu/cuda/hopper.cuh: what only GPUs of compute capability 9.0 have, on threads of the host.
// The blocks of a cluster run at once, with a thread for each of theirs. Copies are made later, in any order,
// by a thread that belongs to nobody, and a product reads its operands only when somebody waits for it:
// whoever reads too early, or gives memory away too early, computes something else.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/gpu/cuda_on_host.h"

namespace volvox::gpu::hopper {

using std::min;

// A barrier in shared memory: there is a number in its place, by which it is found.
class HostBarrier {
 public:
  explicit HostBarrier(unsigned arrivals) : arrivals_(arrivals), pending_(arrivals) {}
  void arrive(long more_bytes = 0) {
    const std::lock_guard lock(mutex_);
    bytes_ += more_bytes;
    --pending_;
    look();
  }
  void complete(long bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ -= bytes;
    look();
  }
  void wait(unsigned parity) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return phase_ % 2 != parity; });
  }

 private:
  void look() {
    if (pending_ != 0 || bytes_ != 0) return;
    pending_ = arrivals_;
    ++phase_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  const unsigned arrivals_;
  unsigned pending_, phase_ = 0;
  long bytes_ = 0;
};

// Makes copies later, in any order.
class CopyEngine {
 public:
  explicit CopyEngine(unsigned seed) : random_(seed), thread_([this] { run(); }) {}
  ~CopyEngine() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    more_.notify_all();
    thread_.join();
  }
  void add(std::function<void()> copy) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(copy));
    }
    more_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      more_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::swap(waiting_[random_() % waiting_.size()], waiting_.back());
      const std::function<void()> copy = std::move(waiting_.back());
      waiting_.pop_back();
      lock.unlock();
      if (random_() % 4 == 0) std::this_thread::yield();
      copy();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::function<void()>> waiting_;
  bool ending_ = false;
  std::mt19937 random_;
  std::thread thread_;
};

// What the threads of a block share, and those of a cluster.
struct HostCluster;
struct HostBlock {
  HostCluster* cluster = nullptr;
  std::vector<std::byte> memory;      // dynamic shared memory
  std::byte* begin = nullptr;         // from the first multiple of 1024 on
  std::vector<std::uint64_t> object;  // shared_object()
  std::map<std::uint64_t*, std::unique_ptr<HostBarrier>> barriers;
  std::unique_ptr<std::barrier<>> all;
  std::vector<std::unique_ptr<std::barrier<>>> warps;
  HostBarrier& at(std::uint64_t* barrier) { return *barriers.at(barrier); }
  // Of so many threads that name it.
  std::barrier<>& named(unsigned number, unsigned threads) {
    const std::lock_guard lock(named_mutex);
    auto& barrier = named_barriers[number];
    if (barrier == nullptr) barrier = std::make_unique<std::barrier<>>(threads);
    return *barrier;
  }
  std::mutex named_mutex;  // guards what follows
  std::map<unsigned, std::unique_ptr<std::barrier<>>> named_barriers;
};
struct HostCluster {
  explicit HostCluster(unsigned count) : blocks(count) {}
  std::vector<HostBlock> blocks;
  std::unique_ptr<std::barrier<>> barrier;
  std::unique_ptr<CopyEngine> engine;
};

inline thread_local HostBlock* host_block = nullptr;
inline thread_local std::vector<std::function<void()>> vectors_under_way, products_given;
inline thread_local std::vector<std::vector<std::function<void()>>> products_under_way;
inline thread_local std::optional<std::barrier<>::arrival_token> cluster_arrival;

struct Bf16 {
  static std::uint16_t bits(float x) { return to_bfloat16(x); }
  static float number(std::uint16_t bits) { return from_bfloat16(bits); }
};
struct F16 {
  static std::uint16_t bits(float x) { return to_float16(x); }
  static float number(std::uint16_t bits) { return from_float16(bits); }
};

inline void load_four(float (&to)[4], std::uint64_t from, std::uint64_t offset) {
  for (unsigned i = 0; i < 4; ++i) to[i] = from == 0 ? 0 : at<const float>(from + offset)[i];
}
inline void store_four(std::uint64_t to, const float (&x)[4]) {
  std::copy(x, x + 4, at<float>(to));
}
template <class T>
void store_narrow(std::uint64_t to, const float (&x)[4]) {
  for (unsigned i = 0; i < 4; ++i) at<std::uint16_t>(to)[i] = T::bits(x[i]);
}
inline float fast_tanh(float x) {
  return std::tanh(x);
}

template <class T>
T& shared_object() {
  return *reinterpret_cast<T*>(host_block->object.data());
}
inline std::byte* shared_memory() {
  return host_block->begin;
}

inline void init_barrier(std::uint64_t* barrier, unsigned arrivals) {
  host_block->barriers[barrier] = std::make_unique<HostBarrier>(arrivals);
}
inline void fence_barriers() {}
inline void arrive(std::uint64_t* barrier) {
  host_block->at(barrier).arrive();
}
inline void expect_bytes(std::uint64_t* barrier, unsigned bytes) {
  host_block->at(barrier).arrive(bytes);
}
inline void arrive_when_copied(std::uint64_t* barrier) {
  host_block->cluster->engine->add([copies = std::move(vectors_under_way), &to = host_block->at(barrier)] {
    for (const auto& copy : copies) copy();
    to.arrive();
  });
  vectors_under_way.clear();
}
inline void wait(std::uint64_t* barrier, unsigned parity) {
  host_block->at(barrier).wait(parity);
}
inline void copy_bulk_told(void* to, const void* from, unsigned bytes, HostBarrier& told) {
  host_block->cluster->engine->add([=, &told] {
    std::memcpy(to, from, bytes);
    told.complete(bytes);
  });
}
inline void copy_bulk(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
  copy_bulk_told(to, from, bytes, host_block->at(barrier));
}
inline void copy_bulk_to_all(void* to, const void* from, unsigned bytes, std::uint64_t* barrier,
                             unsigned blocks) {
  for (unsigned rank = 0; rank < blocks; ++rank) {
    HostBlock& there = host_block->cluster->blocks[rank];
    copy_bulk_told(there.begin + (static_cast<std::byte*>(to) - host_block->begin), from, bytes,
                   there.at(there.object.data() + (barrier - host_block->object.data())));
  }
}
using SharedAddress = std::uintptr_t;
inline SharedAddress shared_address(const void* p) {
  return reinterpret_cast<SharedAddress>(p);
}
inline void copy_vector(SharedAddress to, const void* from, unsigned bytes) {
  vectors_under_way.emplace_back([=, to = reinterpret_cast<std::byte*>(to)] {
    std::memcpy(to, from, bytes);
    std::memset(to + bytes, 0, 16 - bytes);
  });
}
inline void fence_copies() {}

inline void cluster_arrive() {
  cluster_arrival.emplace(host_block->cluster->barrier->arrive());
}
inline void cluster_wait() {
  host_block->cluster->barrier->wait(std::move(*cluster_arrival));
}
inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
inline void store_remote(void* to, unsigned rank, float4 x) {
  std::byte* there =
      host_block->cluster->blocks[rank].begin + (static_cast<std::byte*>(to) - host_block->begin);
  std::memcpy(there, &x, sizeof x);
}
inline void arrive_remote(std::uint64_t* barrier, unsigned rank) {
  HostBlock& there = host_block->cluster->blocks[rank];
  there.at(there.object.data() + (barrier - host_block->object.data())).arrive();
}
template <unsigned kBarrier, unsigned kCount>
void sync_threads() {
  host_block->named(kBarrier, kCount).arrive_and_wait();
}
template <unsigned kCount>
void set_registers_down() {}
template <unsigned kCount>
void set_registers_up() {}
inline void __syncwarp() {
  host_block->warps[threadIdx.x / 32]->arrive_and_wait();
}
inline void launch_next_kernel() {}
inline void wait_for_previous_kernel() {}

// Sixteenths of an address, as in wgmma's descriptors: two more are 16 elements further on.
inline std::uint64_t matrix_at(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) / 16;
}
inline void fence_products() {}
inline void commit_products() {
  products_under_way.push_back(std::move(products_given));
  products_given.clear();
}
template <unsigned kCount>
void wait_for_products() {
  while (products_under_way.size() > kCount) {
    for (const auto& product : products_under_way.front()) product();
    products_under_way.erase(products_under_way.begin());
  }
  __syncwarp();  // it is the whole warp that waits: one thread of it may speak for all
}

// Element k of row `row` of an operand: the swizzle is of the address.
template <class T>
float operand(std::uint64_t matrix, unsigned row, unsigned k) {
  const std::uint64_t plain = matrix * 16 + row * 128 + k * 2;
  return T::number(*at<const std::uint16_t>(plain ^ (plain / 128 % 8) << 4));
}

template <class T, unsigned kColumns>
struct Products {
  static void add(float (&sums)[kColumns / 2], std::uint64_t rows, std::uint64_t columns) {
    products_given.emplace_back([&sums, rows, columns, t = threadIdx.x % 128] {
      for (unsigned i = 0; i < kColumns / 2; ++i) {
        const unsigned row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 16; ++k)
          sums[i] += operand<T>(rows, row, k) * operand<T>(columns, column, k);
      }
    });
  }
};

// Runs all clusters of a grid, one after the other; blocks of a cluster have the same x, and y in one group
// of `mates`.
inline void run_clusters(dim3 grid, unsigned mates, unsigned threads, std::size_t shared_bytes,
                         std::size_t object_bytes, unsigned seed, const std::function<void()>& kernel) {
  gridDim = grid;
  blockDim = {threads, 1, 1};
  const unsigned blocks = mates * grid.z;
  for (unsigned n = 0; n < grid.x * grid.y / mates; ++n) {
    HostCluster cluster(blocks);
    cluster.barrier = std::make_unique<std::barrier<>>(threads * blocks);
    cluster.engine = std::make_unique<CopyEngine>(seed + n);
    std::vector<std::thread> all;
    for (HostBlock& block : cluster.blocks) {
      block.cluster = &cluster;
      block.memory.assign(shared_bytes, std::byte{0xff});  // not numbers
      const auto address = reinterpret_cast<std::uintptr_t>(block.memory.data());
      block.begin = block.memory.data() + (1024 - address % 1024) % 1024;
      block.object.resize((object_bytes + 7) / 8);
      block.all = std::make_unique<std::barrier<>>(threads);
      for (unsigned warp = 0; warp < threads / 32; ++warp)
        block.warps.push_back(std::make_unique<std::barrier<>>(32));
    }
    for (unsigned rank = 0; rank < blocks; ++rank) {
      for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, rank, t] {
          host_block = &cluster.blocks[rank];
          block_barrier = host_block->all.get();
          threadIdx = {t, 0, 0};
          blockIdx = {n % grid.x, n / grid.x * mates + rank % mates, rank / mates};
          kernel();
        });
      }
    }
    for (std::thread& thread : all) thread.join();
  }
}

}  // namespace volvox::gpu::hopper
