#include "gpu/cuda/cuda_driver.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define VOLVOX_HAVE_NVTX 1
#endif

#include "gpu/cuda/kernels.h"
#include "gpu/cuda/runtime_compiler.h"
#include "gpu/driver/errors.h"
#include "gpu/fused/fused_launcher.h"

namespace volvox::gpu {
namespace {

tl::unexpected<Error> failed(cudaError_t code, const char* doing) {
  (void)cudaGetLastError();  // so that a later call does not report it again
  return tl::unexpected(error_of(code, cudaGetErrorString(code), doing));
}

Status check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return {};
  return failed(code, doing);
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// CUDA says the same of no driver and of one that is too old; a person must do different things.
Error no_devices(cudaError_t code) {
  int driver = 0, runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  std::string text = cudaGetErrorString(code);
  if (driver == 0) {
    text = "no NVIDIA driver is installed";
  } else if (driver < runtime) {
    text = "the NVIDIA driver is too old: it supports CUDA " + version_text(driver) + ", this build needs " +
           version_text(runtime);
  }
  (void)cudaGetLastError();
  return error_of(code, text, "looking for GPUs");
}

std::string kind_of(const cudaDeviceProp& properties) {
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  return std::string(properties.name) + ", " + std::to_string(properties.major) + "." +
         std::to_string(properties.minor) + ", " + std::to_string(properties.multiProcessorCount) +
         " multiprocessors, driver " + version_text(driver);
}

int launch_kernel(const FusedCall& call, void* stream) {
  return fused_launchers()[call.kernel]->launch(*call.step, call.task, stream);
}

}  // namespace

Result<std::vector<DeviceInfo>> find_devices() {
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0) code = cudaErrorNoDevice;
  if (code != cudaSuccess) return tl::unexpected(no_devices(code));
  std::vector<DeviceInfo> found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    if (Status ok = check(cudaGetDeviceProperties(&properties, ordinal), "describing a GPU"); !ok)
      return tl::unexpected(ok.error());
    found.push_back({ordinal, properties.name, properties.major, properties.minor, properties.totalGlobalMem,
                     static_cast<std::uint32_t>(properties.multiProcessorCount), kind_of(properties)});
  }
  return found;
}

Result<std::shared_ptr<Driver>> open_driver(int ordinal, std::shared_ptr<ChoiceCache> choices) {
  const auto devices = find_devices();
  if (!devices) return tl::unexpected(devices.error());
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices->size()) {
    return invalid("there is no GPU " + std::to_string(ordinal) + "; this machine has " +
                   std::to_string(devices->size()) + ", numbered from 0");
  }
  return CudaDriver::make((*devices)[static_cast<std::size_t>(ordinal)], std::move(choices));
}

Result<std::shared_ptr<Driver>> CudaDriver::make(const DeviceInfo& info,
                                                 std::shared_ptr<ChoiceCache> choices) {
  if (Status ok = check(cudaSetDevice(info.ordinal), "opening a GPU"); !ok) return tl::unexpected(ok.error());
  std::shared_ptr<CudaDriver> made(new CudaDriver(info, std::move(choices)));
  if (Status ok = check(cudaStreamCreateWithFlags(&made->own_, cudaStreamNonBlocking), "making a stream");
      !ok)
    return tl::unexpected(ok.error());
  auto products = Products::make(made->choices_, info.kind);
  if (!products) return tl::unexpected(products.error());
  made->products_ = std::move(*products);
  return std::shared_ptr<Driver>(std::move(made));
}

// Kernels that were compiled at load.
struct CudaDriver::Module {
  cudaLibrary_t library = nullptr;
  std::vector<cudaKernel_t> kernels;

  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    if (library != nullptr) (void)cudaLibraryUnload(library);
  }
};

CudaDriver::~CudaDriver() {
  (void)use();
  products_.reset();
  if (own_ != nullptr) (void)cudaStreamDestroy(own_);
}

Status CudaDriver::use() const {
  return check(cudaSetDevice(info_.ordinal), "choosing a GPU");
}

Result<DeviceAddress> CudaDriver::allocate(std::size_t size_bytes) {
  if (Status ok = use(); !ok) return tl::unexpected(ok.error());
  void* memory = nullptr;
  cudaError_t code = cudaMalloc(&memory, size_bytes);
  if (code != cudaSuccess) return failed(code, "allocating memory of the GPU");
  code = cudaMemsetAsync(memory, 0, size_bytes, own_);
  if (code == cudaSuccess) code = cudaStreamSynchronize(own_);
  if (code != cudaSuccess) return failed(code, "clearing memory of the GPU");
  return reinterpret_cast<std::uintptr_t>(memory);
}

void CudaDriver::release(DeviceAddress address) {
  (void)use();
  (void)cudaFree(at<void>(address));
}

Result<HostMemory> CudaDriver::allocate_host(std::size_t size_bytes) {
  if (Status ok = use(); !ok) return tl::unexpected(ok.error());
  void *host = nullptr, *device = nullptr;
  cudaError_t code = cudaHostAlloc(&host, size_bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  if (code == cudaSuccess) code = cudaHostGetDevicePointer(&device, host, 0);
  if (code != cudaSuccess) return failed(code, "pinning memory of the host");
  std::memset(host, 0, size_bytes);
  return HostMemory{static_cast<std::byte*>(host), reinterpret_cast<std::uintptr_t>(device), size_bytes};
}

void CudaDriver::release_host(const HostMemory& memory) {
  (void)use();
  (void)cudaFreeHost(memory.host);
}

Result<StreamId> CudaDriver::make_stream() {
  if (Status ok = use(); !ok) return tl::unexpected(ok.error());
  cudaStream_t stream = nullptr;
  const cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (code != cudaSuccess) return failed(code, "making a stream");
  return streams_.add(stream);
}

void CudaDriver::destroy_stream(StreamId stream) {
  (void)cudaStreamDestroy(streams_.take(stream));
}

Result<EventId> CudaDriver::make_event() {
  if (Status ok = use(); !ok) return tl::unexpected(ok.error());
  cudaEvent_t event = nullptr;
  const cudaError_t code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (code != cudaSuccess) return failed(code, "making an event");
  return events_.add(event);
}

void CudaDriver::destroy_event(EventId event) {
  (void)cudaEventDestroy(events_.take(event));
}

Status CudaDriver::copy(StreamId stream, DeviceAddress to, DeviceAddress from, std::size_t size_bytes) {
  if (Status ok = use(); !ok) return ok;
  return check(cudaMemcpyAsync(at<void>(to), at<const void>(from), size_bytes, cudaMemcpyDefault,
                               streams_.get(stream)),
               "copying");
}

Status CudaDriver::launch(StreamId stream, const KernelCall& call) {
  if (Status ok = use(); !ok) return ok;
  const cudaStream_t to = streams_.get(stream);
  return std::visit(
      [&](const auto& known) -> Status {
        if constexpr (std::is_same_v<std::decay_t<decltype(known)>, ProductCall>) {
          return products_->run(known, to);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(known)>, ConvolutionCall>) {
          return convolutions_.run(known, to);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(known)>, PointwiseCall>) {
          return launch_pointwise(known, to);
        } else {
          return check(static_cast<cudaError_t>(launch_kernel(known, to)), "launching a kernel");
        }
      },
      call);
}

Status CudaDriver::launch_pointwise(const PointwiseCall& call, cudaStream_t stream) {
  if (call.compiled == 0)
    return check(static_cast<cudaError_t>(launch_kernel(call, stream)), "launching a kernel");
  const std::shared_ptr<const Module> module = modules_.get(call.compiled);
  if (!module || call.stage >= module->kernels.size()) return fail(ErrorCode::kInternal, "no such stage");
  return check(static_cast<cudaError_t>(launch_stage(module->kernels[call.stage], call, stream)),
               "launching a kernel");
}

Result<ModuleId> CudaDriver::load(const StageSource& source) {
  if (Status ok = use(); !ok) return tl::unexpected(ok.error());
  const auto compiler = RuntimeCompiler::open();
  if (!compiler) return ModuleId{0};
  const std::string capability = std::to_string(info_.major) + std::to_string(info_.minor);
  const auto code = (*compiler)->code_of(source, capability, choices_.get());
  if (!code) return tl::unexpected(code.error());
  auto made = std::make_shared<Module>();
  cudaError_t error =
      cudaLibraryLoadData(&made->library, code->data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  for (std::uint32_t stage = 0; stage < source.stages && error == cudaSuccess; ++stage) {
    const std::string name = std::string("volvox_stage_") + std::to_string(stage);
    error = cudaLibraryGetKernel(&made->kernels.emplace_back(), made->library, name.c_str());
  }
  if (error != cudaSuccess) return failed(error, "loading compiled stages");
  return modules_.add(std::move(made));
}

void CudaDriver::unload(ModuleId module) {
  (void)use();
  (void)modules_.take(module);
}

Status CudaDriver::record(EventId event, StreamId stream) {
  return check(cudaEventRecord(events_.get(event), streams_.get(stream)), "recording an event");
}

Status CudaDriver::wait(StreamId stream, EventId event) {
  return check(cudaStreamWaitEvent(streams_.get(stream), events_.get(event), 0), "waiting for an event");
}

Result<bool> CudaDriver::passed(EventId event) {
  const cudaError_t code = cudaEventQuery(events_.get(event));
  if (code == cudaSuccess) return true;
  if (code == cudaErrorNotReady) return false;
  return failed(code, "looking at an event");
}

Status CudaDriver::synchronise(StreamId stream) {
  if (Status ok = use(); !ok) return ok;
  return check(cudaStreamSynchronize(streams_.get(stream)), "waiting for a stream");
}

Status CudaDriver::health() {
  const cudaError_t code = cudaStreamQuery(own_);
  return code == cudaErrorNotReady ? Status{} : check(code, "running tasks");
}

Result<ProductId> CudaDriver::plan(const ProductShape& shape, const ProductCall& example) {
  if (Status ok = use(); !ok) return tl::unexpected(ok.error());
  return products_->plan(shape, example, own_);
}

Result<ConvolutionId> CudaDriver::plan(const ConvolutionShape& shape) {
  if (Status ok = use(); !ok) return tl::unexpected(ok.error());
  return convolutions_.plan(shape);
}

Status CudaDriver::begin_capture(StreamId stream) {
  if (Status ok = use(); !ok) return ok;
  // Relaxed: a library may allocate while its call is captured; nothing here depends on CUDA forbidding that.
  return check(cudaStreamBeginCapture(streams_.get(stream), cudaStreamCaptureModeRelaxed),
               "capturing a graph");
}

Result<GraphId> CudaDriver::end_capture(StreamId stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cudaError_t code = cudaStreamEndCapture(streams_.get(stream), &graph);
  if (code == cudaSuccess) code = cudaGraphInstantiate(&ready, graph, 0);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  // Else the first launch would do it, while somebody waits for an answer.
  if (code == cudaSuccess) code = cudaGraphUpload(ready, own_);
  if (code == cudaSuccess) code = cudaStreamSynchronize(own_);
  if (code != cudaSuccess) {
    if (ready != nullptr) (void)cudaGraphExecDestroy(ready);
    return failed(code, "capturing a graph");
  }
  return graphs_.add(ready);
}

Status CudaDriver::launch_graph(StreamId stream, GraphId graph) {
  if (Status ok = use(); !ok) return ok;
  return check(cudaGraphLaunch(graphs_.get(graph), streams_.get(stream)), "launching a task");
}

void CudaDriver::destroy_graph(GraphId graph) {
  (void)cudaGraphExecDestroy(graphs_.take(graph));
}

#ifdef VOLVOX_HAVE_NVTX
void CudaDriver::push_range(const char* name) {
  nvtxRangePushA(name);
}

void CudaDriver::pop_range() {
  nvtxRangePop();
}
#else
// A toolkit without NVTX: profilers see no names.
void CudaDriver::push_range(const char*) {}
void CudaDriver::pop_range() {}
#endif

}  // namespace volvox::gpu
