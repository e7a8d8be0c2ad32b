#include "actors/process/process_front.h"

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace volvox {

ProcessFront::ProcessFront(const ServeConfig& config, caf::actor_system& system, Monitor& monitor,
                           ProcessHooks hooks)
    : config_(config),
      system_(system),
      monitor_(monitor),
      hooks_(std::move(hooks)),
      memory_return_(std::chrono::milliseconds(config.server.return_memory_ms)) {}

Status ProcessFront::bind(std::shared_ptr<ActorSlot> runner, std::shared_ptr<Admission> admission) {
  auto gateway = Gateway::open(config_, system_, runner, admission, monitor_.requests());
  if (!gateway) return tl::unexpected(gateway.error());
  runner_ = std::move(runner);
  admission_ = std::move(admission);
  doors_.add(std::move(*gateway));
  endpoint_ = doors_.gateway().endpoint();
  return {};
}

std::vector<Door> ProcessFront::client_doors() const {
  std::vector<Door> doors{Door::kClients};
  if (!config_.http.listen.empty()) doors.push_back(Door::kHttp);
  return doors;
}

Status ProcessFront::open(std::shared_ptr<const HttpModels> models, AdminSocket::Handler commands) {
  if (Status listens = monitor_.listen(config_.server); !listens) return listens;
  metrics_port_ = monitor_.metrics_port();
  if (Status opened = open_http(std::move(models)); !opened) return opened;
  auto admin = open_admin_door(config_.admin.socket, endpoint_, std::move(commands));
  if (!admin) return tl::unexpected(admin.error());
  admin_ = std::move(*admin);
  if (hooks_.opens) hooks_.opens();
  doors_.gateway().start();
  return {};
}

Status ProcessFront::open_http(std::shared_ptr<const HttpModels> models) {
  if (config_.http.listen.empty()) return {};
  auto front = HttpFront::start(config_, {system_, runner_, admission_, std::move(models), monitor_});
  if (!front) return tl::unexpected(front.error());
  http_port_ = (*front)->port();
  doors_.add(std::move(*front));
  return {};
}

bool ProcessFront::close(Duration timeout, const Leaving& leaving) {
  bool all_ended = true;
  if (doors_.are_open()) {
    admission_->refuse_new_requests();
    monitor_.set_readiness(Readiness::kDraining);
    if (leaving.begin) leaving.begin();
    const TimePoint until = later(steady_now(), timeout);
    all_ended = doors_.wait_until_answered(timeout);
    if (leaving.rest) leaving.rest(until);
    doors_.abort_requests();
    // Half of what stopping may take is for clients to read what they were told.
    doors_.close(std::chrono::milliseconds(config_.server.stop_timeout_ms) / 2);
  }
  admin_ = nullptr;
  return all_ended;
}

}  // namespace volvox
