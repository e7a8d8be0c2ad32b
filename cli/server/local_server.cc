#include "cli/server/local_server.h"

#include <utility>
#include <vector>

#include "cli/server/make_devices.h"
#include "config/schema.h"
#include "monitoring/log/logging.h"
#include "repository/repository.h"

namespace volvox {

Result<std::unique_ptr<LocalServer>> LocalServer::start(const std::string& folder, std::uint32_t version) {
  ServeConfig config;
  config.server.listen = "tcp://127.0.0.1:0";
  config.server.metrics = config.http.listen = config.admin.socket = "";
  config.device.kind = DeviceKind::kCpu;
  start_logging(config.server.log_format, LogLevel::kError);
  auto model = load_model(folder, {.version = version});
  if (!model) return tl::unexpected(model.error());
  auto device = make_cpu_device(config.device);
  if (!device) return tl::unexpected(device.error());
  const std::vector<std::shared_ptr<Device>> devices{std::move(*device)};
  const std::vector<std::shared_ptr<const Model>> models{std::move(*model)};
  std::unique_ptr<LocalServer> local(new LocalServer);
  auto server = Server::start(config, devices, models, local->monitor_);
  if (!server) return tl::unexpected(server.error());
  local->server_ = std::move(*server);
  return local;
}

}  // namespace volvox
