#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "batching/id_ranges.h"
#include "cells/model/model.h"
#include "device/device.h"
#include "install/installation.h"

namespace volvox {

// What one model gets of what the models share.
struct ModelShare {
  double weight = 1.0;                           // of the device's time
  std::uint32_t max_waiting = 0;                 // as ModelConfig
  std::uint64_t pool_bytes = ~std::uint64_t{0};  // of the memory for states, at most
};

// Models come and go while others are served. The installer puts them on the devices and takes them off: it
// gives them their numbers, which are used again, makes their pools within one budget for all of them,
// and has their cells compiled and warmed. Devices of one process are alike, so a model has the same numbers,
// rows and batch sizes on all of them, and the costs that were measured on the first. One thread at a time;
// queues may run meanwhile. The devices must outlive it.
class Installer {
 public:
  // At least one device. The options' budget is that of each.
  Installer(std::vector<Device*> devices, const InstallOptions& options);

  // A pool gets the slots of as many requests as the share buys, but of a full batch, and of the longest
  // request; behind them lie the rows of sessions, for at most half of the share. Fails, leaving nothing
  // behind, with an error that names the model: the cells do not compile, no number is left, or the state
  // memory is out of budget. INTERNAL: the devices are not alike.
  Result<std::unique_ptr<InstalledModel>> add(const std::shared_ptr<const Model>& model,
                                              const ModelShare& share);
  // Frees everything of the model. No task of it may be in a queue, and none may follow.
  void remove(const InstalledModel& installed);

  std::uint64_t pool_bytes() const { return pool_bytes_; }  // of all models now

 private:
  Status number(InstalledModel& installed);
  Status place(InstalledModel& installed, const ModelShare& share);
  Status choose_slots(InstalledModel& installed, const ModelShare& share);
  std::vector<std::uint64_t> slot_bytes_of(const Model& model) const;
  std::uint64_t choose_places(InstalledModel& installed, std::uint64_t budget) const;
  static std::uint32_t place_sessions(InstalledModel& installed, PoolId pool, std::uint32_t row);
  Status add_pools(InstalledModel& installed);
  Status add_types(InstalledModel& installed);
  Result<CompiledCell> compile(const InstalledModel& installed, CellTypeId type,
                               const CompileOptions& options);

  const std::vector<Device*> devices_;
  const InstallOptions options_;
  IdRanges model_ids_, type_ids_, pool_ids_;
  std::uint64_t last_serial_ = 0;
  std::uint64_t pool_bytes_ = 0;
};

}  // namespace volvox
