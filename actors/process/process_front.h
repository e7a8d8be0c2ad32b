#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/admin/admin_door.h"
#include "actors/edge/admission.h"
#include "actors/process/doors.h"
#include "actors/process/memory_return.h"
#include "actors/process/process_hooks.h"
#include "actors/system/actor_slot.h"
#include "base/error.h"
#include "base/time.h"
#include "config/schema.h"
#include "monitoring/monitor.h"

namespace volvox {

// What a process shows to the outside, a server as a router: the clients' doors, the monitoring, and the
// operator's socket, which open in one order and close in one. Who runs the requests stands behind it, in a
// slot. One thread at a time; unanswered(): any.
class ProcessFront {
 public:
  // Both outlive it.
  ProcessFront(const ServeConfig& config, caf::actor_system& system, Monitor& monitor, ProcessHooks hooks);

  // Binds server.listen: before what takes long is begun, and nothing is read yet.
  Status bind(std::shared_ptr<ActorSlot> runner, std::shared_ptr<Admission> admission);
  // Opens the rest, and begins to read. `commands`: what the operator's lines are handed to.
  Status open(std::shared_ptr<const HttpModels> models, AdminSocket::Handler commands);

  // By which clients come in: those that the configuration opens.
  std::vector<Door> client_doors() const;

  // What a process does besides while it drains: at once, and when the clients have their answers or the time
  // is over.
  struct Leaving {
    std::function<void()> begin{};
    std::function<void(TimePoint until)> rest{};
  };
  // Takes no new requests, waits for the answers to those that it has, for `timeout` at most, and closes all
  // but the monitoring. False: some were told UNAVAILABLE instead. Again: nothing.
  bool close(Duration timeout, const Leaving& leaving);

  const std::shared_ptr<Admission>& admission() const { return admission_; }
  const std::string& endpoint() const { return endpoint_; }
  std::uint16_t metrics_port() const { return metrics_port_; }
  std::uint16_t http_port() const { return http_port_; }
  std::string admin_path() const { return admin_ ? admin_->path() : std::string(); }
  std::size_t unanswered() const { return doors_.unanswered(); }

 private:
  Status open_http(std::shared_ptr<const HttpModels> models);

  const ServeConfig config_;
  caf::actor_system& system_;
  Monitor& monitor_;
  const ProcessHooks hooks_;
  std::shared_ptr<ActorSlot> runner_;
  std::shared_ptr<Admission> admission_;
  Doors doors_;
  std::unique_ptr<AdminSocket> admin_;
  const MemoryReturn memory_return_;
  std::string endpoint_;
  std::uint16_t metrics_port_ = 0, http_port_ = 0;
};

}  // namespace volvox
