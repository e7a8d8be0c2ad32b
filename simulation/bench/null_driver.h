#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "gpu/driver/driver.h"

namespace volvox::bench {

// A GPU that computes nothing and takes no time: copies are made at once, and a task is done when it is
// launched. What is left is what the host pays for a GPU's tasks, which can be measured without one. Results
// stay as they were. Any thread.
class NullDriver final : public gpu::Driver {
 public:
  NullDriver();
  ~NullDriver() override;

  const gpu::DeviceInfo& info() const override { return info_; }
  Result<DeviceAddress> allocate(std::size_t size_bytes) override;
  void release(DeviceAddress address) override;
  Result<gpu::HostMemory> allocate_host(std::size_t size_bytes) override;
  void release_host(const gpu::HostMemory& memory) override;
  Result<gpu::StreamId> make_stream() override { return ++last_; }
  void destroy_stream(gpu::StreamId) override {}
  Result<gpu::EventId> make_event() override { return ++last_; }
  void destroy_event(gpu::EventId) override {}
  Status copy(gpu::StreamId stream, DeviceAddress to, DeviceAddress from, std::size_t size_bytes) override;
  Status launch(gpu::StreamId stream, const gpu::KernelCall& call) override;
  Status record(gpu::EventId, gpu::StreamId) override { return {}; }
  Status wait(gpu::StreamId, gpu::EventId) override { return {}; }
  Result<bool> passed(gpu::EventId) override { return true; }
  Status synchronise(gpu::StreamId) override { return {}; }
  Status health() override { return {}; }
  Result<gpu::ProductId> plan(const gpu::ProductShape&, const gpu::ProductCall&) override { return 1; }
  Result<gpu::ConvolutionId> plan(const gpu::ConvolutionShape&) override { return 1; }
  Status begin_capture(gpu::StreamId stream) override;
  Result<gpu::GraphId> end_capture(gpu::StreamId stream) override;
  Status launch_graph(gpu::StreamId stream, gpu::GraphId graph) override;
  void destroy_graph(gpu::GraphId graph) override;

 private:
  gpu::DeviceInfo info_;
  std::atomic<std::uint32_t> last_{0};
  std::mutex mutex_;                                   // guards what follows
  std::map<gpu::StreamId, gpu::QueueView> capturing_;  // the queue of what is captured there
  std::map<gpu::GraphId, gpu::QueueView> graphs_;
};

}  // namespace volvox::bench
