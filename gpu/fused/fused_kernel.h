#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gpu/kernels/place.h"

namespace volvox::gpu {

class PlanLeaves;

// What a launch brings besides the cell: where its queue describes the task, and how many rows there are.
struct FusedTask {
  QueueView queue{};
  RowView view{};
  std::uint64_t places = 0;  // of the cell: tables find their ids there
  std::uint32_t rows = 0;    // padding included
  std::uint64_t seq = 0;     // of a direct task (ResolveCall::direct)
  std::uint64_t turn = 0;    // of a direct task among those of its queue, from 1
  // 1: what is right ahead of this direct task in the stream is one as well. Its step may still run when this
  // one's begins, which waits for it, and for its own rows, by words of QueueState. 0: all that is ahead has
  // ended by then.
  std::uint32_t chained = 0;
};

// A fused kernel made ready for one cell on one device. It computes no state in place: blocks read a row
// while others write theirs. Immutable; any thread.
class FusedStep {
 public:
  virtual ~FusedStep() = default;
  // All that its speed depends on besides rows and precision, in words: "1024 units of 2048".
  virtual std::string shape() const = 0;
  // Places whose rows the kernel wants to have found before it runs: view.sources, in this order. Where there
  // are any, its tasks are direct: it reads nothing else of a task's header.
  virtual std::vector<Place> sources() const { return {}; }
  // What the kernel computes, by one thread of the host, whose addresses those of the task are then: the
  // kernel's meaning in a plain loop, for tests.
  virtual void run_on_host(const FusedTask& task) const = 0;
};

// A launch of a fused kernel.
struct FusedCall {
  std::uint32_t kernel = 0;  // its number in fused_kernels()
  std::shared_ptr<const FusedStep> step;
  FusedTask task;
};

// One of the kernels that compute a step of cells of a form as a whole. Each source NAME.cu in gpu/fused is
// one: it defines kNameLauncher (fused_launcher.h), and NAME.cc beside it, which needs no CUDA, kNameFused.
// Nothing else must name it: the build collects them (gpu/CMakeLists.txt). The first that knows a cell, in
// the order of their names, computes it. Immutable; any thread.
struct FusedKernel {
  std::string_view name;
  // Null when the cell is not of its form, or not in this precision. Errors name the cell.
  Result<std::shared_ptr<const FusedStep>> (*plan)(PlanLeaves& leaves) = nullptr;
};

// All there are.
std::span<const FusedKernel* const> fused_kernels();

// The call of the kernel that computes the cell, its task left open; nothing where none does.
Result<std::optional<FusedCall>> plan_fused(PlanLeaves& leaves);

}  // namespace volvox::gpu
