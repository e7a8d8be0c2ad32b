#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "base/error.h"
#include "cells/ir/convolution.h"
#include "device/task.h"
#include "gpu/fused/fused_kernel.h"
#include "gpu/kernels/argmax.h"
#include "gpu/kernels/pointwise.h"
#include "gpu/kernels/resolve.h"

namespace volvox::gpu {

class ChoiceCache;

// How products are computed. States and results are float32 always.
enum class Precision : std::uint8_t { kFloat32, kTf32, kBfloat16, kFloat16 };
std::string_view name_of(Precision precision);  // "float32", "tf32", "bfloat16", "float16"
ElementType operand_type(Precision precision);  // of operands and weights in memory

struct DeviceInfo {
  int ordinal = 0;
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  std::uint64_t memory_bytes = 0;
  std::uint32_t multiprocessors = 0;
  std::string kind;  // all that a kernel's speed depends on: model, multiprocessors, driver
};

// Things that a driver made. Zero is none.
using StreamId = std::uint32_t;
using EventId = std::uint32_t;
using GraphId = std::uint32_t;
using ProductId = std::uint32_t;
using ConvolutionId = std::uint32_t;
using ModuleId = std::uint32_t;

// Memory of the host that the device reads and writes as well.
struct HostMemory {
  std::byte* host = nullptr;
  DeviceAddress device = 0;
  std::size_t size_bytes = 0;
};

// out[r][j] = Σ_k x[r][k] · w[j][k]: rows of x are stride_k elements apart, as are those of w; rows of out,
// float32, are stride_out apart.
struct ProductShape {
  std::uint32_t rows = 0, outputs = 0, width = 0;
  std::uint32_t stride_k = 0, stride_out = 0;
  Precision precision = Precision::kFloat32;
  bool reproducible = false;  // the same order of additions whatever `rows` is

  bool operator==(const ProductShape&) const = default;
};
struct ProductCall {
  ProductId product = 0;
  DeviceAddress x = 0, w = 0, out = 0;
  DeviceAddress workspace = 0;  // kWorkspaceBytes, of one stream alone
};
inline constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
// A convolution of each row, float32 in and out: rows of x are stride_x elements apart, those of out
// stride_out. Any precision but float32 lets tensor cores round the factors to TF32.
struct ConvolutionShape {
  Convolution convolution;
  std::uint32_t rows = 0;
  std::uint32_t stride_x = 0, stride_out = 0;
  Precision precision = Precision::kFloat32;
  bool reproducible = false;  // the same order of additions whatever `rows` is

  bool operator==(const ConvolutionShape&) const = default;
};
struct ConvolutionCall {
  ConvolutionId convolution = 0;
  DeviceAddress x = 0, w = 0, out = 0;
  DeviceAddress workspace = 0;  // kWorkspaceBytes, of one stream alone
};
// The end of a task that has no other kernel.
struct FinishCall {
  QueueView queue;
};
// Kernels for stages of pointwise programs, in the language of gpu/kernels/stage.h: `VOLVOX_STAGE(n) { … }`
// for each n below `stages`.
struct StageSource {
  std::string text;
  std::uint32_t stages = 0;
};
using KernelCall =
    std::variant<ResolveCall, PointwiseCall, ArgmaxCall, FusedCall, ProductCall, ConvolutionCall, FinishCall>;

// Everything that Volvox asks of one GPU, and no more: so that a test can put another one in its place, and
// so that CUDA's names stay in one folder. Work is given to streams: each runs in order, beside the others.
//
// Calls may come from any thread. Those that make or free things belong to loading; while serving there are
// copy, launch, record, wait and passed. Every error is Volvox's (errors.h); after kUnavailable the device
// answers nothing any more ("sticky"): all that can be done is to start the process again.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual const DeviceInfo& info() const = 0;
  // What was chosen by measurement on this kind of device is kept there. Null: each start measures anew.
  virtual ChoiceCache* choices() const { return nullptr; }

  virtual Result<DeviceAddress> allocate(std::size_t size_bytes) = 0;  // zeroed
  virtual void release(DeviceAddress address) = 0;
  virtual Result<HostMemory> allocate_host(std::size_t size_bytes) = 0;  // zeroed
  virtual void release_host(const HostMemory& memory) = 0;

  virtual Result<StreamId> make_stream() = 0;
  virtual void destroy_stream(StreamId stream) = 0;
  virtual Result<EventId> make_event() = 0;
  virtual void destroy_event(EventId event) = 0;

  // Between memory of the host (allocate_host) and of any device. The source must stay as it is until the
  // copy has been made.
  virtual Status copy(StreamId stream, DeviceAddress to, DeviceAddress from, std::size_t size_bytes) = 0;
  virtual Status launch(StreamId stream, const KernelCall& call) = 0;
  virtual Status record(EventId event, StreamId stream) = 0;
  virtual Status wait(StreamId stream, EventId event) = 0;  // what follows in `stream` waits
  virtual Result<bool> passed(EventId event) = 0;           // never blocks
  // Blocks until the stream is empty. Never while serving.
  virtual Status synchronise(StreamId stream) = 0;
  // Whether the device still answers. Never blocks.
  virtual Status health() = 0;

  // Chooses how to compute products of this shape, by measurement; `example` is one of them, which is run.
  virtual Result<ProductId> plan(const ProductShape& shape, const ProductCall& example) = 0;
  // The same for convolutions. UNAVAILABLE where there is no library for them.
  virtual Result<ConvolutionId> plan(const ConvolutionShape& shape) = 0;

  // Compiles stages for this device and loads them. 0 where there is no compiler: then programs are read as
  // they run. INTERNAL, with the compiler's words: they do not compile.
  virtual Result<ModuleId> load(const StageSource&) { return ModuleId{0}; }
  virtual void unload(ModuleId) {}

  // What is given to the stream from here on is not run but kept, until end_capture().
  virtual Status begin_capture(StreamId stream) = 0;
  virtual Result<GraphId> end_capture(StreamId stream) = 0;
  virtual Status launch_graph(StreamId stream, GraphId graph) = 0;
  virtual void destroy_graph(GraphId graph) = 0;

  // A name for what follows, for profilers; nothing by default.
  virtual void push_range(const char*) {}
  virtual void pop_range() {}
};

// Memory of a device that is released with its owner. The driver must outlive it.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  static Result<DeviceMemory> make(Driver& driver, std::size_t size_bytes);
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();
  DeviceAddress address() const { return address_; }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  Driver* driver_ = nullptr;
  DeviceAddress address_ = 0;
  std::size_t size_bytes_ = 0;
};

// The same for memory of the host.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  static Result<PinnedMemory> make(Driver& driver, std::size_t size_bytes);
  PinnedMemory(PinnedMemory&& other) noexcept { *this = std::move(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();
  std::byte* host() const { return memory_.host; }
  DeviceAddress address() const { return memory_.device; }
  std::size_t size_bytes() const { return memory_.size_bytes; }

 private:
  Driver* driver_ = nullptr;
  HostMemory memory_;
};

// Loaded stages that are unloaded with their owner. The driver must outlive it, and no graph of it be left.
class LoadedStages {
 public:
  LoadedStages() = default;
  static Result<LoadedStages> make(Driver& driver, const StageSource& source);
  LoadedStages(LoadedStages&& other) noexcept { *this = std::move(other); }
  LoadedStages& operator=(LoadedStages&& other) noexcept;
  ~LoadedStages();
  ModuleId module() const { return module_; }  // 0: none

 private:
  Driver* driver_ = nullptr;
  ModuleId module_ = 0;
};

// Copies bytes of the host to the device through a buffer of its own, and waits: for loading.
Status upload(Driver& driver, StreamId stream, DeviceAddress to, std::span<const std::byte> bytes);

// The GPUs of this machine, or why there is none.
Result<std::vector<DeviceInfo>> find_devices();
// The driver of GPU `ordinal`. Errors say what to do: install a driver, a newer one, or build with CUDA.
// `choices` may be null: then each driver chooses algorithms by measurements of its own.
Result<std::shared_ptr<Driver>> open_driver(int ordinal, std::shared_ptr<ChoiceCache> choices = nullptr);

}  // namespace volvox::gpu
