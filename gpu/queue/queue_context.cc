#include "gpu/queue/queue_context.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "gpu/queue/batch_sizes.h"
#include "gpu/queue/type_context.h"

namespace volvox::gpu {
namespace {

std::uint64_t read(const std::uint64_t& place) {
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(place)).load(std::memory_order_acquire);
}

const Completion& completion_of(const PinnedMemory& memory) {
  return *reinterpret_cast<const Completion*>(memory.host());
}

}  // namespace

Result<std::unique_ptr<QueueContext>> QueueContext::make(std::shared_ptr<Driver> driver, InputArena& inputs,
                                                         const QueueConfig& config) {
  std::unique_ptr<QueueContext> made(new QueueContext(std::move(driver), inputs, config));
  if (Status ok = made->allocate(); !ok) return tl::unexpected(ok.error());
  return made;
}

QueueContext::QueueContext(std::shared_ptr<Driver> driver, InputArena& inputs, const QueueConfig& config)
    : driver_(std::move(driver)),
      inputs_(inputs),
      config_(config),
      row_tables_(config.max_cohorts, config.max_cohort_rows),
      payload_ring_(kPayloadBytes) {}

Status QueueContext::allocate() {
  for (StreamId* stream : {&stream_, &capture_stream_}) {
    auto made = driver_->make_stream();
    if (!made) return tl::unexpected(made.error());
    *stream = *made;
  }
  const std::size_t slots = std::bit_ceil(std::size_t{config_.max_tasks} + 1);
  header_mask_ = slots - 1;
  const auto mirror = [&](std::optional<Mirror>& to, std::size_t bytes) -> Status {
    auto made = Mirror::make(*driver_, bytes);
    if (!made) return tl::unexpected(made.error());
    to.emplace(std::move(*made));
    return {};
  };
  if (Status ok = mirror(headers_, slots * sizeof(TaskHeader)); !ok) return ok;
  if (Status ok = mirror(payload_, kPayloadBytes); !ok) return ok;
  const std::pair<DeviceMemory*, std::size_t> wanted[] = {
      {&state_, sizeof(QueueState)}, {&workspace_, kWorkspaceBytes}, {&capture_workspace_, kWorkspaceBytes}};
  for (const auto& [to, bytes] : wanted) {
    auto memory = DeviceMemory::make(*driver_, bytes);
    if (!memory) return tl::unexpected(memory.error());
    *to = std::move(*memory);
  }
  auto completion = PinnedMemory::make(*driver_, sizeof(Completion));
  if (!completion) return tl::unexpected(completion.error());
  completion_ = std::move(*completion);
  view_ = {headers_->address(0), header_mask_, state_.address(), completion_.address()};
  return {};
}

QueueContext::~QueueContext() {
  if (stream_ != 0) (void)driver_->synchronise(stream_);
  for (auto& [type, context] : types_) context->destroy_graphs(*driver_);
  for (StreamId stream : {stream_, capture_stream_}) {
    if (stream != 0) driver_->destroy_stream(stream);
  }
}

QueueContext::TypeContext* QueueContext::find(CellTypeId type) {
  const std::lock_guard lock(mutex_);
  const auto it = types_.find(type);
  return it == types_.end() ? nullptr : it->second.get();
}

void QueueContext::forget(CellTypeId type) {
  const std::lock_guard lock(mutex_);
  const auto it = types_.find(type);
  if (it == types_.end()) return;
  it->second->destroy_graphs(*driver_);
  types_.erase(it);
}

Result<QueueContext::Taken> QueueContext::take(const Task& task) {
  TypeContext* type = find(task.type);
  const std::string where = "task " + std::to_string(task.seq) + ": ";
  if (type == nullptr)
    return invalid(where + "no cell type " + std::to_string(task.type) + " on this device");
  const GpuCell& cell = *type->cell;
  const std::uint32_t size = size_for(cell.sizes, std::max({task.rows, task.padded_rows, 1U}));
  if (size == 0) return invalid(where + "it has more rows than its type was compiled for");
  if (applied_ != &task) {
    if (Status ok = row_tables_.apply(task); !ok) return tl::unexpected(ok.error());
    applied_ = &task;
  }
  if (Status ok = encoder_.begin(task, row_tables_, cell.shape, size); !ok) return tl::unexpected(ok.error());
  const std::uint32_t edges = size_for(cell.edge_sizes, encoder_.edges());
  if (encoder_.edges() > cell.max_edges) return invalid(where + "it has more edges than its type may");
  if (!encoder_.slots_below(cell.ragged_slots))
    return invalid(where + "a ragged predecessor names a slot that is not there");
  if (encoder_.payload_bytes() > payload_ring_.size_bytes())
    return invalid(where + "it is larger than the ring of task descriptors");
  payload_ring_.done(done());
  const auto place = payload_ring_.take(task.seq, encoder_.payload_bytes());
  if (!place) return Taken::kLater;
  applied_ = nullptr;
  unlanded_ = unlanded_ || !has_landed(task);
  if (cell.runs_direct(size)) {
    group_.push_back({type, 0, size, encoder_.write(payload_->host(*place), payload_->mapped(*place))});
    return Taken::kYes;
  }
  const std::size_t entry = (launched_++ & header_mask_) * sizeof(TaskHeader);
  *reinterpret_cast<TaskHeader*>(headers_->host(entry)) =
      encoder_.write(payload_->host(*place), payload_->address(*place));
  payload_->touch(*place, encoder_.payload_bytes());
  headers_->touch(entry, sizeof(TaskHeader));
  group_.push_back({type, type->graphs.at({size, edges}), size, {}});
  return Taken::kYes;
}

Status QueueContext::flush() {
  if (group_.empty()) return {};
  if (unlanded_) {
    if (Status ok = inputs_.order(stream_); !ok) return ok;
    unlanded_ = false;
  }
  if (Status ok = payload_->flush(*driver_, stream_); !ok) return ok;
  if (Status ok = headers_->flush(*driver_, stream_); !ok) return ok;
  Status status;
  // Descriptors of the ring were copied in between.
  if (std::any_of(group_.begin(), group_.end(), [](const Launch& launch) { return launch.graph != 0; }))
    after_direct_ = false;
  for (const Launch& launch : group_) {
    driver_->push_range(launch.type->name.c_str());
    if (status) {
      status = launch.graph != 0 ? driver_->launch_graph(stream_, launch.graph) : launch_direct(launch);
      after_direct_ = status && launch.graph == 0;
    }
    driver_->pop_range();
  }
  group_.clear();
  return status;
}

// Rows are found while the task before runs, from memory of the host, with nothing to be copied first.
Status QueueContext::launch_direct(const Launch& launch) {
  const TypeContext& type = *launch.type;
  const RowView& view = type.direct[directs_ % 2];
  ResolveCall resolve = resolve_call(type, launch.size);
  resolve.view = view;
  resolve.direct = 1;
  resolve.turn = directs_ + 1;
  resolve.chained = after_direct_ ? 1 : 0;
  resolve.task = launch.header;
  resolve.inputs_begin = inputs_.begin();
  resolve.inputs_end = inputs_.end();
  for (const Place& source : type.cell->sources) resolve.sources[resolve.source_count++] = source;
  if (Status ok = driver_->launch(stream_, resolve); !ok) return ok;
  FusedCall call = *type.cell->fused;
  call.task.queue = view_;
  call.task.view = view;
  call.task.rows = launch.size;
  call.task.seq = launch.header.seq;
  call.task.turn = resolve.turn;
  call.task.chained = resolve.chained;
  if (Status ok = driver_->launch(stream_, call); !ok) return ok;
  ++directs_;
  return {};
}

// Whether all inputs that rows of the task begin to read have landed. Those of rows that go on had to before.
bool QueueContext::has_landed(const Task& task) const {
  return std::all_of(task.bindings.begin(), task.bindings.end(), [&](const RowBinding& binding) {
    return std::all_of(binding.pulls.begin(), binding.pulls.end(), [&](const auto& pull) {
      return pull.address == 0 || inputs_.has_landed(pull.address);
    });
  });
}

Status QueueContext::copy(const std::vector<ReadyCopy>& copies) {
  after_direct_ = false;
  for (const ReadyCopy& copy : copies) {
    if (Status ok = copy.to->copy(*driver_, stream_, *copy.from, copy.slots.from, copy.slots.to); !ok)
      return ok;
  }
  return {};
}

void QueueContext::begin_after(TaskSeq done) {
  auto& place = reinterpret_cast<Completion*>(completion_.host())->done;
  std::atomic_ref<std::uint64_t>(place).store(done, std::memory_order_release);
}

TaskSeq QueueContext::done() const {
  return read(completion_of(completion_).done);
}
TaskSeq QueueContext::failed() const {
  const TaskSeq failed = read(completion_of(completion_).failed);
  return failed != 0 && done() + 1 >= failed ? failed : 0;
}
std::uint64_t QueueContext::kernel_ns() const {
  return read(completion_of(completion_).kernel_ns);
}

}  // namespace volvox::gpu
