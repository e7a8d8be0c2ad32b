#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include "gpu/cuda/blas.h"
#include "gpu/cuda/convolutions.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// The driver of one NVIDIA GPU: CUDA's runtime, one call for one call, with its errors translated.
class CudaDriver final : public Driver {
 public:
  static Result<std::shared_ptr<Driver>> make(const DeviceInfo& info, std::shared_ptr<ChoiceCache> choices);
  ~CudaDriver() override;

  const DeviceInfo& info() const override { return info_; }
  ChoiceCache* choices() const override { return choices_.get(); }
  Result<DeviceAddress> allocate(std::size_t size_bytes) override;
  void release(DeviceAddress address) override;
  Result<HostMemory> allocate_host(std::size_t size_bytes) override;
  void release_host(const HostMemory& memory) override;
  Result<StreamId> make_stream() override;
  void destroy_stream(StreamId stream) override;
  Result<EventId> make_event() override;
  void destroy_event(EventId event) override;
  Status copy(StreamId stream, DeviceAddress to, DeviceAddress from, std::size_t size_bytes) override;
  Status launch(StreamId stream, const KernelCall& call) override;
  Status record(EventId event, StreamId stream) override;
  Status wait(StreamId stream, EventId event) override;
  Result<bool> passed(EventId event) override;
  Status synchronise(StreamId stream) override;
  Status health() override;
  Result<ProductId> plan(const ProductShape& shape, const ProductCall& example) override;
  Result<ConvolutionId> plan(const ConvolutionShape& shape) override;
  Result<ModuleId> load(const StageSource& source) override;
  void unload(ModuleId module) override;
  Status begin_capture(StreamId stream) override;
  Result<GraphId> end_capture(StreamId stream) override;
  Status launch_graph(StreamId stream, GraphId graph) override;
  void destroy_graph(GraphId graph) override;
  void push_range(const char* name) override;
  void pop_range() override;

 private:
  // Things by number. A number is never used again.
  template <class T>
  class Table {
   public:
    std::uint32_t add(T thing) {
      const std::lock_guard lock(mutex_);
      things_[++last_] = thing;
      return last_;
    }
    T get(std::uint32_t id) const {
      const std::lock_guard lock(mutex_);
      const auto it = things_.find(id);
      return it == things_.end() ? T{} : it->second;
    }
    T take(std::uint32_t id) {
      const std::lock_guard lock(mutex_);
      const auto it = things_.find(id);
      if (it == things_.end()) return T{};
      const T thing = it->second;
      things_.erase(it);
      return thing;
    }

   private:
    mutable std::mutex mutex_;
    std::map<std::uint32_t, T> things_;
    std::uint32_t last_ = 0;
  };

  CudaDriver(const DeviceInfo& info, std::shared_ptr<ChoiceCache> choices)
      : info_(info), choices_(std::move(choices)) {}
  struct Module;
  Status launch_pointwise(const PointwiseCall& call, cudaStream_t stream);
  // Makes this device the calling thread's.
  Status use() const;

  const DeviceInfo info_;
  const std::shared_ptr<ChoiceCache> choices_;
  std::unique_ptr<Products> products_;
  Convolutions convolutions_;
  cudaStream_t own_ = nullptr;  // for planning, and to ask how the device is
  Table<cudaStream_t> streams_;
  Table<cudaEvent_t> events_;
  Table<cudaGraphExec_t> graphs_;
  Table<std::shared_ptr<const Module>> modules_;
};

}  // namespace volvox::gpu
