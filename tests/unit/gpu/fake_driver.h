#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gpu/driver/driver.h"
#include "gpu/kernels/stage.h"

namespace volvox::gpu {

// A GPU in the host's memory: kernels run here, thread after thread, with the bodies that the device would
// run. Streams run as far apart as events allow: the youngest first, each until it must wait for another, so
// that what only works by chance does not work here. Safe from any thread.
class FakeDriver final : public Driver {
 public:
  FakeDriver();
  ~FakeDriver() override;

  // While on, streams take work but do nothing; turning it off runs what is there.
  void hold(bool on);
  // Every call from here on fails with this CUDA error.
  void break_down(int code);
  // The next copy, or the launch that is captured after so many others, fails; those after it do not.
  void fail_copy();
  void fail_captured_launch(unsigned after = 0);
  // The next `allocate` that would pass this many bytes in all fails.
  void limit_memory(std::uint64_t bytes);
  void set_capability(int major) { info_.major = major; }
  // Stages are compiled by this; nothing: it cannot, and they are interpreted.
  using Stage = void (*)(const PointwiseCall& call, const StageThread& me, std::uint32_t program);
  using Compile = std::function<std::vector<Stage>(const StageSource&)>;
  void compile_with(Compile compile) { compile_ = std::move(compile); }
  void fail_compiling();  // the next time
  std::size_t live_modules() const;
  void keep_choices(std::shared_ptr<ChoiceCache> choices) { choices_ = std::move(choices); }

  // Bytes of each copy so far.
  std::vector<std::size_t> copies() const;
  std::uint64_t graph_launches() const;
  std::size_t live_allocations() const;
  std::size_t live_graphs() const;
  std::size_t products_planned() const;
  std::size_t planned_on_zeros()
      const;  // of them, with an example that a device multiplies faster than numbers
  std::uint64_t fused_launches() const;
  // Direct tasks that say that another is right ahead of them. Where it is not they cannot be launched here.
  std::uint64_t chained_tasks() const;

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

 private:
  struct Item {
    std::function<void()> work;
    EventId waits_for = 0;
    std::uint64_t record = 0;  // of that event
  };
  struct Event {
    std::uint64_t recorded = 0, passed = 0;
  };

  Status locked_status(const char* doing) const;
  Status enqueue(StreamId stream, Item item);
  void pump();
  bool chain_is_right(StreamId stream, const KernelCall& call);
  bool step(std::deque<Item>& stream);
  bool ran_before(const KernelCall& call);
  Status claim_workspace(StreamId stream, const KernelCall& call);
  void run(const KernelCall& call);
  void multiply(const ProductCall& call) const;
  void convolve(const ConvolutionCall& call) const;
  Result<std::byte*> take(std::size_t size_bytes);

  DeviceInfo info_;
  std::shared_ptr<ChoiceCache> choices_;
  Compile compile_;
  mutable std::recursive_mutex mutex_;  // guards everything below
  bool held_ = false;
  int broken_ = 0;
  bool copy_fails_ = false, compile_fails_ = false;
  std::optional<unsigned> captured_launch_fails_;  // after so many
  std::uint64_t limit_ = ~std::uint64_t{0}, allocated_ = 0;
  std::map<std::byte*, std::size_t> memory_;
  std::uint32_t next_ = 1;
  std::map<StreamId, std::deque<Item>> streams_;
  std::map<EventId, Event> events_;
  std::map<StreamId, std::vector<KernelCall>> capturing_;
  std::map<ModuleId, std::vector<Stage>> modules_;
  std::map<GraphId, std::vector<KernelCall>> graphs_;
  std::map<ProductId, ProductShape> products_;
  std::map<ConvolutionId, ConvolutionShape> convolutions_;
  std::map<DeviceAddress, StreamId> workspaces_;  // the one that uses it
  std::set<std::uint32_t> run_;                   // products and convolutions, once at least
  std::size_t planned_on_zeros_ = 0;
  std::vector<std::size_t> copies_;
  std::uint64_t graph_launches_ = 0, fused_launches_ = 0, chained_ = 0;
  // By stream, the direct task whose step was given last, if nothing was since; and what that was before the
  // last first kernel of a direct task.
  std::map<StreamId, std::uint64_t> last_step_, step_ahead_;
};

// What a test asks of a kernel's call, as the fake device runs it.
void run_on_host(const ResolveCall& call);
void run_on_host(const PointwiseCall& call);
void run_on_host(const PointwiseCall& call, FakeDriver::Stage stage);
void run_on_host(const ArgmaxCall& call);
void run_on_host(const FusedCall& call);
float load_operand(DeviceAddress address, ElementType type);

}  // namespace volvox::gpu
