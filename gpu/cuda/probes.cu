// What a GPU charges for everything but arithmetic: gaps between kernels, copies between them, fences, its
// clock's tick, and what its memories deliver. Designs are chosen by these numbers, and no document gives
// them. Knows nothing of Volvox's kernels, so that it still runs where they do not.
//
//   volvox-gpu-probes [FILE]    prints a line a probe; FILE gets all that have ended as JSON, whole after
//   each.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNodes = 200, kRepeats = 21;
constexpr std::size_t kHeaderBytes = 512;

void check(cudaError_t code, const char* doing) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(code));
}

__global__ void empty_kernel() {}

// Each thread fences as often as it is told, after a store to the host where there is one.
__global__ void fence_kernel(int times, int scope, volatile std::uint64_t* host, std::uint64_t* cycles) {
  const std::uint64_t begin = clock64();
  for (int i = 0; i < times; ++i) {
    if (host != nullptr && threadIdx.x == 0) host[blockIdx.x] = i;
    if (scope == 0) {
      __threadfence();
    } else {
      __threadfence_system();
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *cycles = clock64() - begin;
}

// The least step of the clock that is not zero, of many looks.
__global__ void tick_kernel(std::uint64_t* tick_ns) {
  std::uint64_t least = ~std::uint64_t{0}, last = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (last != 0 && now != last) least = min(least, now - last);
    last = now;
  }
  *tick_ns = least;
}

// Reads `count` vectors of a buffer, `passes` times over.
__global__ void read_kernel(const uint4* from, std::size_t count, int passes, unsigned* sink) {
  unsigned sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
         i += std::size_t{gridDim.x} * blockDim.x) {
      const uint4 x = __ldcg(from + i);
      sum += x.x ^ x.y ^ x.z ^ x.w;
    }
  }
  if (sum == 0x9e3779b9U) *sink = sum;  // never, but the compiler cannot know
}

class Probes {
 public:
  explicit Probes(std::string file) : file_(std::move(file)) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check(cudaMalloc(&device_, kHeaderBytes), "allocating");
    check(cudaHostAlloc(&host_, kHeaderBytes, cudaHostAllocMapped), "pinning");
    int device = 0;
    check(cudaGetDevice(&device), "choosing a GPU");
    check(cudaGetDeviceProperties(&properties_, device), "describing a GPU");
    check(cudaDeviceGetAttribute(&clock_khz_, cudaDevAttrClockRate, device), "describing a GPU");
  }

  // A probe that fails says why and ends nobody else's.
  void run(const char* name, const std::function<double()>& probe) {
    try {
      values_.emplace_back(name, probe());
      std::printf("%s %.4g\n", name, values_.back().second);
    } catch (const std::exception& why) {
      std::printf("%s: %s\n", name, why.what());
      good_ = false;
    }
    std::fflush(stdout);
    keep();
  }

  // The host's time of one launch, nobody waiting.
  double launch_us() {
    return median([this] {
      const auto begin = Clock::now();
      for (int i = 0; i < kNodes; ++i) empty_kernel<<<1, 32, 0, stream_>>>();
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
      check(cudaStreamSynchronize(stream_), "waiting");
      return us / kNodes;
    });
  }

  // From kernel to kernel on the device, launched one by one.
  double launch_gap_us() {
    return median([this] { return timed_us([this] { launch_all(false); }) / kNodes; });
  }

  // The same as nodes of one graph, with a copy of a task's header between two kernels or without.
  double graph_us(bool copies, int nodes) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capturing");
    launch_all(copies, nodes);
    check(cudaStreamEndCapture(stream_, &graph), "capturing");
    check(cudaGraphInstantiate(&ready, graph, 0), "capturing");
    check(cudaGraphUpload(ready, stream_), "uploading a graph");
    const double us = median(
        [&] { return timed_us([&] { check(cudaGraphLaunch(ready, stream_), "launching a graph"); }); });
    (void)cudaGraphExecDestroy(ready);
    (void)cudaGraphDestroy(graph);
    return us;
  }

  // Between two graphs of one kernel each.
  double graph_gap_us() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capturing");
    empty_kernel<<<1, 32, 0, stream_>>>();
    check(cudaStreamEndCapture(stream_, &graph), "capturing");
    check(cudaGraphInstantiate(&ready, graph, 0), "capturing");
    const double us = median([&] {
      return timed_us([&] {
               for (int i = 0; i < kNodes; ++i) check(cudaGraphLaunch(ready, stream_), "launching a graph");
             }) /
             kNodes;
    });
    (void)cudaGraphExecDestroy(ready);
    (void)cudaGraphDestroy(graph);
    return us;
  }

  // One fence, by every thread of `blocks` blocks of 256. scope 0: the device, 1: the system.
  double fence_us(int blocks, int scope, bool after_store) {
    auto* cycles = static_cast<std::uint64_t*>(device_);
    constexpr int kTimes = 100;
    return median([&] {
      fence_kernel<<<blocks, 256, 0, stream_>>>(
          kTimes, scope, after_store ? static_cast<volatile std::uint64_t*>(host_) : nullptr, cycles);
      check(cudaGetLastError(), "launching");
      return static_cast<double>(fetched()) / kTimes / clock_khz_ * 1e3;
    });
  }

  double tick_ns() {
    tick_kernel<<<1, 1, 0, stream_>>>(static_cast<std::uint64_t*>(device_));
    return static_cast<double>(fetched());
  }

  // GB a second of reads: a buffer that fits the L2 cache, over and over, or one that does not.
  double read_gb_s(std::size_t bytes, int passes) {
    void* buffer = nullptr;
    check(cudaMalloc(&buffer, bytes), "allocating");
    double us = 0;
    try {
      check(cudaMemsetAsync(buffer, 0x5a, bytes, stream_), "filling");
      us = median([&] {
        return timed_us([&] {
          read_kernel<<<properties_.multiProcessorCount * 4, 512, 0, stream_>>>(
              static_cast<const uint4*>(buffer), bytes / sizeof(uint4), passes,
              static_cast<unsigned*>(device_));
        });
      });
    } catch (...) {
      (void)cudaFree(buffer);
      throw;
    }
    (void)cudaFree(buffer);
    return static_cast<double>(bytes) * passes / us * 1e-3;
  }

  std::size_t l2_bytes() const { return static_cast<std::size_t>(properties_.l2CacheSize); }
  bool good() const { return good_; }

 private:
  void launch_all(bool copies, int nodes = kNodes) {
    for (int i = 0; i < nodes; ++i) {
      if (copies)
        check(cudaMemcpyAsync(device_, host_, kHeaderBytes, cudaMemcpyHostToDevice, stream_), "copying");
      empty_kernel<<<1, 32, 0, stream_>>>();
    }
    check(cudaGetLastError(), "launching");
  }

  std::uint64_t fetched() {
    std::uint64_t value = 0;
    check(cudaMemcpyAsync(&value, device_, sizeof value, cudaMemcpyDeviceToHost, stream_), "copying");
    check(cudaStreamSynchronize(stream_), "waiting");
    return value;
  }

  double timed_us(const std::function<void()>& work) {
    cudaEvent_t begin = nullptr, end = nullptr;
    check(cudaEventCreate(&begin), "making an event");
    check(cudaEventCreate(&end), "making an event");
    check(cudaEventRecord(begin, stream_), "recording");
    work();
    check(cudaEventRecord(end, stream_), "recording");
    check(cudaEventSynchronize(end), "waiting");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "timing");
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    return double{ms} * 1e3;
  }

  static double median(const std::function<double()>& measure) {
    std::vector<double> values;
    for (int i = 0; i < kRepeats + 3; ++i) {
      const double value = measure();
      if (i >= 3) values.push_back(value);  // the first ones load and warm up
    }
    std::nth_element(values.begin(), values.begin() + kRepeats / 2, values.end());
    return values[kRepeats / 2];
  }

  void keep() const {
    if (file_.empty()) return;
    std::string text = "{\"gpu\": \"" + std::string(properties_.name) + "\", \"probes\": [";
    for (std::size_t i = 0; i < values_.size(); ++i) {
      char value[64];
      (void)std::snprintf(value, sizeof value, "%.6g", values_[i].second);
      text += (i == 0 ? "" : ", ") + ("{\"name\": \"" + values_[i].first) + "\", \"value\": " + value + "}";
    }
    const std::string unfinished = file_ + ".new";
    std::FILE* file = std::fopen(unfinished.c_str(), "w");
    if (file == nullptr) return;
    (void)std::fputs((text + "]}\n").c_str(), file);
    if (std::fclose(file) == 0) (void)std::rename(unfinished.c_str(), file_.c_str());
  }

  const std::string file_;
  cudaStream_t stream_ = nullptr;
  void *device_ = nullptr, *host_ = nullptr;
  cudaDeviceProp properties_{};
  int clock_khz_ = 1;
  std::vector<std::pair<std::string, double>> values_;
  bool good_ = true;
};

}  // namespace

int main(int count, char** arguments) {
  try {
    Probes probes(count > 1 ? arguments[1] : "");
    probes.run("launch_host_us", [&] { return probes.launch_us(); });
    probes.run("launch_gap_us", [&] { return probes.launch_gap_us(); });
    const double nodes = kNodes;
    probes.run("graph_node_gap_us", [&] { return probes.graph_us(false, kNodes) / nodes; });
    probes.run("graph_gap_us", [&] { return probes.graph_gap_us(); });
    probes.run("copy_between_kernels_us",
               [&] { return (probes.graph_us(true, kNodes) - probes.graph_us(false, kNodes)) / nodes; });
    probes.run("fence_device_us", [&] { return probes.fence_us(128, 0, false); });
    probes.run("fence_system_us", [&] { return probes.fence_us(128, 1, false); });
    probes.run("fence_system_after_host_store_us", [&] { return probes.fence_us(16, 1, true); });
    probes.run("globaltimer_tick_ns", [&] { return probes.tick_ns(); });
    probes.run("l2_read_gb_s",
               [&] { return probes.read_gb_s(std::min<std::size_t>(probes.l2_bytes() / 3, 16U << 20), 50); });
    probes.run("hbm_read_gb_s", [&] { return probes.read_gb_s(std::size_t{4} << 30, 1); });
    return probes.good() ? 0 : 1;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "volvox-gpu-probes: %s\n", why.what());
    return 3;
  }
}
