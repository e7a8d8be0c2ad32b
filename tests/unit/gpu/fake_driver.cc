#include "tests/unit/gpu/fake_driver.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "device/host_memory.h"
#include "gpu/driver/errors.h"

namespace volvox::gpu {

FakeDriver::FakeDriver() {
  info_ = {0, "Fake", 9, 0, std::uint64_t{1} << 34, 2, "Fake, 2"};
}

FakeDriver::~FakeDriver() {
  for (const auto& [memory, size] : memory_) std::free(memory);
}

Status FakeDriver::locked_status(const char* doing) const {
  if (broken_ == 0) return {};
  return tl::unexpected(error_of(broken_, "as the test wants it", doing));
}

void FakeDriver::hold(bool on) {
  const std::lock_guard lock(mutex_);
  held_ = on;
  pump();
}

void FakeDriver::break_down(int code) {
  const std::lock_guard lock(mutex_);
  broken_ = code;
  for (auto& [id, stream] : streams_) stream.clear();
}

void FakeDriver::fail_copy() {
  const std::lock_guard lock(mutex_);
  copy_fails_ = true;
}

void FakeDriver::fail_compiling() {
  const std::lock_guard lock(mutex_);
  compile_fails_ = true;
}

void FakeDriver::fail_captured_launch(unsigned after) {
  const std::lock_guard lock(mutex_);
  captured_launch_fails_ = after;
}

void FakeDriver::limit_memory(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::vector<std::size_t> FakeDriver::copies() const {
  const std::lock_guard lock(mutex_);
  return copies_;
}
std::uint64_t FakeDriver::graph_launches() const {
  const std::lock_guard lock(mutex_);
  return graph_launches_;
}
std::size_t FakeDriver::live_allocations() const {
  const std::lock_guard lock(mutex_);
  return memory_.size();
}
std::size_t FakeDriver::live_graphs() const {
  const std::lock_guard lock(mutex_);
  return graphs_.size();
}
std::size_t FakeDriver::products_planned() const {
  const std::lock_guard lock(mutex_);
  return products_.size();
}
std::size_t FakeDriver::planned_on_zeros() const {
  const std::lock_guard lock(mutex_);
  return planned_on_zeros_;
}
std::uint64_t FakeDriver::fused_launches() const {
  const std::lock_guard lock(mutex_);
  return fused_launches_;
}

Result<std::byte*> FakeDriver::take(std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("allocating"); !ok) return tl::unexpected(ok.error());
  if (allocated_ + size_bytes > limit_) {
    return tl::unexpected(error_of(kMemoryAllocation, "out of memory", "allocating"));
  }
  const std::size_t rounded = (size_bytes + 255) / 256 * 256;
  auto* memory = static_cast<std::byte*>(std::calloc(1, rounded + 256));  // untouched pages cost nothing
  allocated_ += size_bytes;
  memory_[memory] = size_bytes;
  return memory;
}

Result<DeviceAddress> FakeDriver::allocate(std::size_t size_bytes) {
  auto memory = take(size_bytes);
  if (!memory) return tl::unexpected(memory.error());
  // Aligned as a device aligns.
  return (reinterpret_cast<std::uintptr_t>(*memory) + 255) / 256 * 256;
}

void FakeDriver::release(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  auto it = memory_.upper_bound(at_address(address));
  if (it == memory_.begin()) std::abort();
  --it;
  allocated_ -= it->second;
  std::erase_if(workspaces_, [&](const auto& used) {
    return at_address(used.first) >= it->first && at_address(used.first) < it->first + it->second + 256;
  });
  std::free(it->first);
  memory_.erase(it);
}

Result<HostMemory> FakeDriver::allocate_host(std::size_t size_bytes) {
  auto address = allocate(size_bytes);
  if (!address) return tl::unexpected(address.error());
  return HostMemory{at_address(*address), *address, size_bytes};
}

void FakeDriver::release_host(const HostMemory& memory) {
  release(memory.device);
}

Result<StreamId> FakeDriver::make_stream() {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("making a stream"); !ok) return tl::unexpected(ok.error());
  streams_[next_];
  return next_++;
}

void FakeDriver::destroy_stream(StreamId stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

Result<EventId> FakeDriver::make_event() {
  const std::lock_guard lock(mutex_);
  events_[next_];
  return next_++;
}

void FakeDriver::destroy_event(EventId event) {
  const std::lock_guard lock(mutex_);
  events_.erase(event);
}

std::uint64_t FakeDriver::chained_tasks() const {
  const std::lock_guard lock(mutex_);
  return chained_;
}

bool FakeDriver::chain_is_right(StreamId stream, const KernelCall& call) {
  const std::uint64_t last = std::exchange(last_step_[stream], 0);
  if (const auto* resolve = std::get_if<ResolveCall>(&call)) {
    step_ahead_[stream] = last;
    return resolve->chained == 0 || (resolve->direct != 0 && resolve->turn == last + 1);
  }
  const auto* fused = std::get_if<FusedCall>(&call);
  if (fused == nullptr) return true;
  last_step_[stream] = fused->task.turn;
  if (fused->task.chained == 0) return true;
  ++chained_;
  return step_ahead_[stream] != 0 && fused->task.turn == step_ahead_[stream] + 1;
}

Status FakeDriver::enqueue(StreamId stream, Item item) {
  streams_.at(stream).push_back(std::move(item));
  pump();
  return {};
}

void FakeDriver::pump() {
  bool moved = !held_;
  while (moved) {
    moved = false;
    for (auto it = streams_.rbegin(); it != streams_.rend(); ++it) {
      while (step(it->second)) moved = true;
    }
  }
}

bool FakeDriver::step(std::deque<Item>& stream) {
  if (stream.empty()) return false;
  const Item& first = stream.front();
  if (first.waits_for != 0 && events_[first.waits_for].passed < first.record) return false;
  const auto work = first.work;
  stream.pop_front();
  if (work) work();
  return true;
}

Status FakeDriver::copy(StreamId stream, DeviceAddress to, DeviceAddress from, std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("copying"); !ok) return ok;
  if (std::exchange(copy_fails_, false))
    return tl::unexpected(error_of(kMemoryAllocation, "as the test wants it", "copying"));
  copies_.push_back(size_bytes);
  last_step_.erase(stream);
  return enqueue(stream, {[=] { std::memcpy(at<std::byte>(to), at<const std::byte>(from), size_bytes); }});
}

Status FakeDriver::launch(StreamId stream, const KernelCall& call) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("launching"); !ok) return ok;
  const auto capturing = capturing_.find(stream);
  if (capturing != capturing_.end()) {
    if (captured_launch_fails_ && (*captured_launch_fails_)-- == 0) {
      captured_launch_fails_.reset();
      return tl::unexpected(error_of(kMemoryAllocation, "as the test wants it", "launching"));
    }
    if (!ran_before(call)) {
      return tl::unexpected(
          error_of(kCaptureUnsupported, "a library loads a module", "capturing its first call"));
    }
    capturing->second.push_back(call);
    return {};
  }
  if (Status ok = claim_workspace(stream, call); !ok) return ok;
  if (!chain_is_right(stream, call))
    return fail(ErrorCode::kInternal, "this task waits for one that is not right ahead of it");
  return enqueue(stream, {[this, call] { run(call); }});
}

// What runs on another stream may use it at the same time.
Status FakeDriver::claim_workspace(StreamId stream, const KernelCall& call) {
  const auto* product = std::get_if<ProductCall>(&call);
  const auto* convolution = std::get_if<ConvolutionCall>(&call);
  if (product == nullptr && convolution == nullptr) return {};
  const DeviceAddress workspace = product != nullptr ? product->workspace : convolution->workspace;
  if (workspaces_.try_emplace(workspace, stream).first->second == stream) return {};
  return fail(ErrorCode::kInternal, "this workspace is of another stream");
}

// cuBLASLt and cuDNN load and allocate in their first call.
bool FakeDriver::ran_before(const KernelCall& call) {
  const auto* product = std::get_if<ProductCall>(&call);
  const auto* convolution = std::get_if<ConvolutionCall>(&call);
  if (product != nullptr) return run_.contains(product->product);
  return convolution == nullptr || run_.contains(convolution->convolution);
}

Status FakeDriver::record(EventId event, StreamId stream) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("recording"); !ok) return ok;
  const std::uint64_t number = ++events_.at(event).recorded;
  return enqueue(stream, {[this, event, number] { events_[event].passed = number; }});
}

Status FakeDriver::wait(StreamId stream, EventId event) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("waiting"); !ok) return ok;
  return enqueue(stream, {{}, event, events_.at(event).recorded});
}

Result<bool> FakeDriver::passed(EventId event) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("looking"); !ok) return tl::unexpected(ok.error());
  return events_.at(event).passed == events_.at(event).recorded;
}

Status FakeDriver::synchronise(StreamId stream) {
  const std::lock_guard lock(mutex_);
  const bool held = held_;
  held_ = false;
  pump();
  held_ = held;
  (void)stream;
  return locked_status("synchronising");
}

Status FakeDriver::health() {
  const std::lock_guard lock(mutex_);
  return locked_status("looking");
}

Result<ProductId> FakeDriver::plan(const ProductShape& shape, const ProductCall& example) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("planning"); !ok) return tl::unexpected(ok.error());
  const auto* x = at<const std::byte>(example.x);
  const std::size_t bytes = std::size_t{shape.width} * element_bytes(operand_type(shape.precision));
  if (std::all_of(x, x + bytes, [](std::byte one) { return one == std::byte{0}; })) ++planned_on_zeros_;
  products_[next_] = shape;
  return next_++;
}

Result<ConvolutionId> FakeDriver::plan(const ConvolutionShape& shape) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("planning"); !ok) return tl::unexpected(ok.error());
  convolutions_[next_] = shape;
  return next_++;
}

Result<ModuleId> FakeDriver::load(const StageSource& source) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("compiling"); !ok) return tl::unexpected(ok.error());
  if (std::exchange(compile_fails_, false)) return fail(ErrorCode::kInternal, "as the test wants it");
  auto stages = compile_ ? compile_(source) : std::vector<Stage>{};
  if (stages.empty()) return ModuleId{0};
  modules_[next_] = std::move(stages);
  return next_++;
}

void FakeDriver::unload(ModuleId module) {
  const std::lock_guard lock(mutex_);
  modules_.erase(module);
}

std::size_t FakeDriver::live_modules() const {
  const std::lock_guard lock(mutex_);
  return modules_.size();
}

Status FakeDriver::begin_capture(StreamId stream) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("capturing"); !ok) return ok;
  capturing_[stream];
  return {};
}

Result<GraphId> FakeDriver::end_capture(StreamId stream) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("capturing"); !ok) return tl::unexpected(ok.error());
  graphs_[next_] = std::move(capturing_.at(stream));
  capturing_.erase(stream);
  return next_++;
}

Status FakeDriver::launch_graph(StreamId stream, GraphId graph) {
  const std::lock_guard lock(mutex_);
  if (Status ok = locked_status("launching"); !ok) return ok;
  for (const KernelCall& call : graphs_.at(graph)) {
    if (Status ok = claim_workspace(stream, call); !ok) return ok;
  }
  ++graph_launches_;
  last_step_.erase(stream);
  return enqueue(stream, {[this, calls = graphs_.at(graph)] {
                   for (const KernelCall& call : calls) run(call);
                 }});
}

void FakeDriver::destroy_graph(GraphId graph) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(graph);
}

void FakeDriver::run(const KernelCall& call) {
  if (const auto* product = std::get_if<ProductCall>(&call)) run_.insert(product->product);
  if (const auto* convolution = std::get_if<ConvolutionCall>(&call)) run_.insert(convolution->convolution);
  if (std::holds_alternative<FusedCall>(call)) ++fused_launches_;
  std::visit(
      [this](const auto& known) {
        using Call = std::decay_t<decltype(known)>;
        if constexpr (std::is_same_v<Call, ProductCall>) {
          multiply(known);
        } else if constexpr (std::is_same_v<Call, ConvolutionCall>) {
          convolve(known);
        } else if constexpr (std::is_same_v<Call, FinishCall>) {
          finish_task(known.queue, ending_of(known.queue));
        } else if constexpr (std::is_same_v<Call, PointwiseCall>) {
          if (known.compiled == 0) return run_on_host(known);
          run_on_host(known, modules_.at(known.compiled).at(known.stage));
        } else {
          run_on_host(known);
        }
      },
      call);
}

void FakeDriver::multiply(const ProductCall& call) const {
  const ProductShape& shape = products_.at(call.product);
  const ElementType type = operand_type(shape.precision);
  const std::uint64_t size = element_bytes(type);
  for (std::uint64_t r = 0; r < shape.rows; ++r) {
    for (std::uint64_t j = 0; j < shape.outputs; ++j) {
      float sum = 0;
      for (std::uint64_t k = 0; k < shape.width; ++k) {
        const float x = load_operand(call.x + (r * shape.stride_k + k) * size, type);
        const float w = load_operand(call.w + (j * shape.stride_k + k) * size, type);
        sum =
            shape.precision == Precision::kTf32 ? std::fma(to_tf32(x), to_tf32(w), sum) : std::fma(x, w, sum);
      }
      at<float>(call.out)[r * shape.stride_out + j] = sum;
    }
  }
}

void FakeDriver::convolve(const ConvolutionCall& call) const {
  const ConvolutionShape& shape = convolutions_.at(call.convolution);
  const Convolution& c = shape.convolution;
  std::vector<float> window(static_cast<std::size_t>(c.window())), kernel(window.size());
  for (std::uint64_t r = 0; r < shape.rows; ++r) {
    const float* x = at<const float>(call.x) + r * shape.stride_x;
    for (std::int64_t position = 0; position < c.positions(); ++position) {
      copy_window(c, x, position, window.data());
      for (std::int64_t k = 0; k < c.kernels; ++k) {
        copy_kernel(c, at<const float>(call.w) + k * c.window(), kernel.data());
        float* out = at<float>(call.out) + r * shape.stride_out + k * c.positions() + position;
        *out = std::inner_product(window.begin(), window.end(), kernel.begin(), 0.0F);
      }
    }
  }
}

}  // namespace volvox::gpu
