#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>

#include <cuda_runtime.h>

#include "base/spin.h"
#include "gpu/completion_time.h"
#include "gpu/driver/errors.h"
#include "gpu/kernels/target.h"

namespace volvox::gpu {
namespace {

constexpr std::uint64_t kAlone = 1000, kInLine = 2000, kUnderWay = 8, kWarmUp = 50;
constexpr auto kPatience = std::chrono::seconds(1);

// Lasts `span_ns`, then writes `number` to `word`, if there is one.
__global__ void idle_kernel(std::uint64_t span_ns, std::uint64_t* word, std::uint64_t number) {
  const std::uint64_t begin = device_clock_ns();
  while (device_clock_ns() - begin < span_ns) {
  }
  if (word != nullptr) publish(word, number);
}

void CUDART_CB count(void* counter) {
  static_cast<std::atomic<std::uint64_t>*>(counter)->fetch_add(1, std::memory_order_release);
}

Status check(cudaError_t code) {
  if (code == cudaSuccess) return {};
  (void)cudaGetLastError();
  return tl::unexpected(error_of(code, cudaGetErrorString(code), "measuring completion"));
}

// Tasks of one stream, and how many of them the host knows to be done. One thread.
class Tasks {
 public:
  explicit Tasks(Duration task) : task_ns_(static_cast<std::uint64_t>(task.count())) {}
  virtual ~Tasks() {
    if (stream_ == nullptr) return;
    (void)cudaStreamSynchronize(stream_);
    (void)cudaStreamDestroy(stream_);
  }
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  virtual Status open() { return check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Status launch() {
    idle_kernel<<<1, 1, 0, stream_>>>(task_ns_, word(), ++launched_);
    if (Status ok = check(cudaGetLastError()); !ok) return ok;
    return signal();
  }
  Status await(std::uint64_t number) {
    if (spin_until([&] { return done() >= number; }, kPatience)) return {};
    return fail(ErrorCode::kUnavailable, "the GPU did not end a task in time");
  }
  std::uint64_t launched() const { return launched_; }

 protected:
  virtual std::uint64_t* word() { return nullptr; }
  virtual Status signal() { return {}; }
  virtual std::uint64_t done() = 0;

  cudaStream_t stream_ = nullptr;

 private:
  std::uint64_t task_ns_, launched_ = 0;
};

class WordTasks final : public Tasks {
 public:
  using Tasks::Tasks;
  ~WordTasks() override {
    (void)cudaStreamSynchronize(stream_);
    (void)cudaFreeHost(host_);
  }
  Status open() override {
    if (Status ok = check(cudaHostAlloc(&host_, sizeof(std::uint64_t), cudaHostAllocMapped)); !ok) return ok;
    if (Status ok = check(cudaHostGetDevicePointer(&device_, host_, 0)); !ok) return ok;
    *static_cast<std::uint64_t*>(host_) = 0;
    return Tasks::open();
  }

 private:
  std::uint64_t* word() override { return static_cast<std::uint64_t*>(device_); }
  std::uint64_t done() override {
    return __atomic_load_n(static_cast<std::uint64_t*>(host_), __ATOMIC_ACQUIRE);
  }

  void *host_ = nullptr, *device_ = nullptr;
};

class EventTasks final : public Tasks {
 public:
  using Tasks::Tasks;
  ~EventTasks() override {
    for (cudaEvent_t event : events_)
      if (event != nullptr) (void)cudaEventDestroy(event);
  }
  Status open() override {
    for (cudaEvent_t& event : events_)
      if (Status ok = check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); !ok) return ok;
    return Tasks::open();
  }

 private:
  Status signal() override { return check(cudaEventRecord(events_[launched() % kUnderWay], stream_)); }
  std::uint64_t done() override {
    while (done_ < launched() && cudaEventQuery(events_[(done_ + 1) % kUnderWay]) == cudaSuccess) ++done_;
    return done_;
  }

  std::array<cudaEvent_t, kUnderWay> events_{};
  std::uint64_t done_ = 0;
};

class HostFunctionTasks final : public Tasks {
 public:
  using Tasks::Tasks;
  ~HostFunctionTasks() override { (void)cudaStreamSynchronize(stream_); }

 private:
  Status signal() override { return check(cudaLaunchHostFunc(stream_, count, &done_)); }
  std::uint64_t done() override { return done_.load(std::memory_order_acquire); }

  std::atomic<std::uint64_t> done_{0};
};

Status run(Tasks& tasks, std::uint64_t count, std::uint64_t under_way, std::vector<double>* times) {
  using Clock = std::chrono::steady_clock;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    if (Status ok = tasks.launch(); !ok) return ok;
    const std::uint64_t due = tasks.launched() < under_way ? 0 : tasks.launched() + 1 - under_way;
    if (Status ok = tasks.await(due); !ok) return ok;
    if (times != nullptr)
      times->push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return tasks.await(tasks.launched());
}

template <class Kind>
Result<CompletionTime> measure(std::string_view way, Duration task) {
  Kind tasks(task);
  if (Status ok = tasks.open(); !ok) return tl::unexpected(ok.error());
  if (Status ok = run(tasks, kWarmUp, kUnderWay, nullptr); !ok) return tl::unexpected(ok.error());
  std::vector<double> alone;
  if (Status ok = run(tasks, kAlone, 1, &alone); !ok) return tl::unexpected(ok.error());
  std::nth_element(alone.begin(), alone.begin() + kAlone / 2, alone.end());
  const auto begin = std::chrono::steady_clock::now();
  if (Status ok = run(tasks, kInLine, kUnderWay, nullptr); !ok) return tl::unexpected(ok.error());
  const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - begin;
  return CompletionTime{way, alone[kAlone / 2], all.count() / kInLine};
}

}  // namespace

Result<std::vector<CompletionTime>> completion_times(int gpu, Duration task) {
  if (Status ok = check(cudaSetDevice(gpu)); !ok) return tl::unexpected(ok.error());
  std::vector<CompletionTime> found;
  for (auto&& one : {measure<WordTasks>("word", task), measure<EventTasks>("event", task),
                     measure<HostFunctionTasks>("host function", task)}) {
    if (!one) return tl::unexpected(one.error());
    found.push_back(*one);
  }
  return found;
}

}  // namespace volvox::gpu
