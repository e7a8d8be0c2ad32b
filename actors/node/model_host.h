#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "actors/node/model_source.h"
#include "actors/node/node.h"
#include "actors/system/actor_slot.h"
#include "actors/system/job_thread.h"
#include "base/error.h"
#include "install/installer.h"
#include "monitoring/metrics/model_metrics.h"

namespace volvox {

// A model version on the devices, as `volvox models list` shows it.
struct ModelState {
  std::string name;
  std::uint32_t version = 0;
  std::uint64_t digest = 0;
  std::uint64_t state_bytes = 0;   // that its pools take, on each device
  std::uint64_t folded_bytes = 0;  // of its folded tables, in the host's memory
  bool draining = false;           // new requests do not find it; those that run still need it
};

// Models come, go and are replaced while others serve, and none of it may hold up a request. The host does it
// on a thread of its own, one command after the other: it reads a version from the repository, installs and
// warms it, and only then shows it in the catalog; a version that is to go leaves the catalog at once, and
// the devices when its last request has let go of it. Any thread may call; `done` is called by the host's
// thread.
class ModelHost {
 public:
  using Done = std::function<void(Status)>;

  // Requests are told of models through the node's catalog, the schedulers of the moment through the slots.
  ModelHost(NodePtr node, SchedulerSlots schedulers, ModelSource source, ModelMetrics& metrics);
  // Ends after the command that runs. The models stay on the device.
  ~ModelHost();
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;

  // Puts these on the device and into the catalog, before anything is served. The error names the model.
  Status install(std::span<const std::shared_ptr<const Model>> models);

  // Version 0: the newest in the repository. INVALID_ARGUMENT if it is loaded.
  void load(const std::string& name, std::uint32_t version, Done done);
  // Version 0: all that are loaded. MODEL_NOT_FOUND if there is none. Done when new requests do not find it.
  void unload(const std::string& name, std::uint32_t version, Done done);
  // Makes this version, 0: the newest in the repository, the only one that is served: loads it, unless the
  // same weights are there, and then unloads the others. No request fails for it.
  void reload(const std::string& name, std::uint32_t version, Done done);

  std::vector<ModelState> list() const;

 private:
  void post(std::function<Status()> command, Done done);
  Status install_all(std::span<const std::shared_ptr<const Model>> models);
  Status run_load(const std::string& name, std::uint32_t version);
  Status run_unload(const std::string& name, std::uint32_t version);
  Status run_reload(const std::string& name, std::uint32_t version);
  Status adopt(const std::shared_ptr<const Model>& model);
  void show(std::unique_ptr<InstalledModel> installed);
  void withdraw(const ModelPtr& model);
  void retire(const std::shared_ptr<const InstalledModel>& model);
  void remove(const InstalledModel& model);
  void update_metrics() const;

  const NodePtr node_;
  const SchedulerSlots schedulers_;
  const ModelSource source_;
  ModelMetrics& metrics_;
  Installer installer_;  // the thread's own
  std::uint64_t default_share_ =
      0;  // likewise: bytes of state memory for a model that has no share of its own
  mutable std::mutex mutex_;
  std::map<std::uint64_t, ModelState> draining_;  // by serial number; guarded
  std::shared_ptr<JobThread> jobs_;               // last: it stops first. Models hold it weakly
};

}  // namespace volvox
