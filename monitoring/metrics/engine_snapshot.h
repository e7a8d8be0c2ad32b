#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace volvox {

// Batch sizes are counted by powers of two: bucket i holds tasks of at most 2^i rows, the last one all
// others.
inline constexpr std::size_t kBatchBuckets = 13;

// Counts the batch sizes of one cell type's tasks. A plain value, written by one thread.
struct BatchSizes {
  std::array<std::uint64_t, kBatchBuckets + 1> tasks{};
  std::uint64_t rows = 0;

  void add(std::uint32_t task_rows) {
    std::size_t bucket = 0;
    while (bucket < kBatchBuckets && task_rows > (std::uint32_t{1} << bucket)) ++bucket;
    ++tasks[bucket];
    rows += task_rows;
  }
};

// What one device and its scheduler have done since the process started, and what they do now. The counters
// live where they are made and are copied only when somebody asks for /metrics: they cost the hot path
// nothing.
struct EngineSnapshot {
  std::string device;
  std::uint64_t tasks = 0, cells = 0, rows_executed = 0, rows_padding = 0, rows_moved = 0;
  std::uint64_t cancelled = 0, failed = 0, expired = 0;
  std::uint32_t live_requests = 0, waiting_requests = 0, waiting_clients = 0;
  std::uint32_t stuck_queues = 0;
  double kernel_seconds = 0;      // wall time inside kernels, all queues
  double cpu_kernel_seconds = 0;  // CPU time inside kernels, all threads

  struct Type {
    std::string model, name;
    BatchSizes batches;
    std::uint64_t padding = 0;
    std::uint32_t ready = 0, running = 0;
  };
  std::vector<Type> types;

  struct Model {
    std::string name;  // "lstm/1"
    std::uint32_t live = 0, waiting = 0;
    double device_seconds = 0;  // by the measured cost of its tasks
  };
  std::vector<Model> models;

  struct Pool {
    std::string name;
    std::uint32_t slots = 0, reserved = 0, used = 0;
  };
  std::vector<Pool> pools;
};

}  // namespace volvox
