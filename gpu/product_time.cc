#include "gpu/product_time.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "gpu/driver/captured.h"
#include "gpu/driver/random_fill.h"

namespace volvox::gpu {
namespace {

constexpr int kProducts = 50, kReplays = 200, kWarmUp = 20;

struct Operands {
  DeviceMemory x, w, out, workspace;
};

Result<Operands> operands_of(Driver& driver, const ProductShape& shape) {
  const std::size_t size = element_bytes(operand_type(shape.precision));
  Operands made;
  const std::pair<DeviceMemory*, std::size_t> wanted[] = {
      {&made.x, std::size_t{shape.rows} * shape.stride_k * size},
      {&made.w, std::size_t{shape.outputs} * shape.stride_k * size},
      {&made.out, std::size_t{shape.rows} * shape.stride_out * sizeof(float)},
      {&made.workspace, kWorkspaceBytes}};
  for (const auto& [to, bytes] : wanted) {
    auto memory = DeviceMemory::make(driver, bytes);
    if (!memory) return tl::unexpected(memory.error());
    *to = std::move(*memory);
  }
  return made;
}

Result<GraphId> graph_of(Driver& driver, StreamId stream, const ProductCall& call) {
  return captured(driver, stream, [&] {
    Status launched;
    for (int i = 0; i < kProducts && launched; ++i) launched = driver.launch(stream, call);
    return launched;
  });
}

Result<double> median_us(Driver& driver, StreamId stream, GraphId graph) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < kWarmUp + kReplays; ++i) {
    const auto begin = Clock::now();
    if (Status ok = driver.launch_graph(stream, graph); !ok) return tl::unexpected(ok.error());
    if (Status ok = driver.synchronise(stream); !ok) return tl::unexpected(ok.error());
    if (i >= kWarmUp)
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + kReplays / 2, times.end());
  return times[kReplays / 2] / kProducts;
}

Status fill(Driver& driver, StreamId stream, const ProductShape& shape, const Operands& operands) {
  const ElementType type = operand_type(shape.precision);
  const std::uint64_t x = std::uint64_t{shape.rows} * shape.stride_k;
  const std::uint64_t w = std::uint64_t{shape.outputs} * shape.stride_k;
  if (Status ok = fill_random(driver, stream, operands.x.address(), x, type, 1); !ok) return ok;
  return fill_random(driver, stream, operands.w.address(), w, type, 2);
}

Result<double> timed(Driver& driver, StreamId stream, const ProductShape& shape, const Operands& operands) {
  if (Status ok = fill(driver, stream, shape, operands); !ok) return tl::unexpected(ok.error());
  ProductCall call{0, operands.x.address(), operands.w.address(), operands.out.address(),
                   operands.workspace.address()};
  auto planned = driver.plan(shape, call);
  if (!planned) return tl::unexpected(planned.error());
  call.product = *planned;
  // An algorithm that was chosen at an earlier start has not been run in this one.
  if (Status ok = driver.launch(stream, call); !ok) return tl::unexpected(ok.error());
  if (Status ok = driver.synchronise(stream); !ok) return tl::unexpected(ok.error());
  auto graph = graph_of(driver, stream, call);
  if (!graph) return tl::unexpected(graph.error());
  const Result<double> us = median_us(driver, stream, *graph);
  driver.destroy_graph(*graph);
  return us;
}

}  // namespace

Result<double> product_us(Driver& driver, const ProductShape& shape) {
  auto operands = operands_of(driver, shape);
  if (!operands) return tl::unexpected(operands.error());
  auto stream = driver.make_stream();
  if (!stream) return tl::unexpected(stream.error());
  const Result<double> us = timed(driver, *stream, shape, *operands);
  driver.destroy_stream(*stream);
  return us;
}

}  // namespace volvox::gpu
