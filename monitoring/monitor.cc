#include "monitoring/monitor.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/text_serializer.h>

#include "config/validate.h"
#include "monitoring/metric_families.h"

namespace volvox {
namespace {

std::vector<prometheus::MetricFamily> device_metrics(const std::vector<DeviceState>& devices) {
  Families families;
  auto& up = families.add("volvox_device_up", "1: the device has no trouble. 0: /readyz says which.",
                          prometheus::MetricType::Gauge);
  for (const DeviceState& device : devices)
    put(up, {{"device", device.name}}, device.trouble.empty() ? 1 : 0);
  return families.take();
}

// One device without trouble is enough; what is wrong with the others is said all the same.
HttpAnswer devices_page(const std::vector<DeviceState>& devices) {
  std::string troubles;
  bool ready = false;
  for (const DeviceState& device : devices) {
    ready = ready || device.trouble.empty();
    if (!device.trouble.empty())
      troubles.append(device.name).append(": ").append(device.trouble).append("\n");
  }
  if (!ready) return {503, troubles};
  return {200, "ready\n" + troubles};
}

}  // namespace

Monitor::Monitor(const std::string& version)
    : version_(version), requests_(registry_), http_(registry_), models_(registry_) {
  prometheus::BuildGauge()
      .Name("volvox_build_info")
      .Help("Always 1; the version is the label.")
      .Register(registry_)
      .Add({{"version", version}})
      .Set(1);
}

ClusterMetrics& Monitor::cluster() {
  if (!cluster_) cluster_ = std::make_unique<ClusterMetrics>(registry_);
  return *cluster_;
}

void Monitor::watch_engines(EngineSource source, std::size_t engines) {
  source_ = std::move(source);
  engines_ = engines;
}

Result<std::uint16_t> Monitor::listen(const std::string& address) {
  if (address.empty()) return 0;
  const auto where = parse_host_port(address);
  if (!where) return tl::unexpected(where.error());
  HttpServer::Pages pages;
  pages["/metrics"] = [this] { return metrics_page(); };
  pages["/healthz"] = [this] { return health_page(); };
  pages["/readyz"] = [this] { return readiness_page(); };
  auto server = HttpServer::start(*where, std::move(pages));
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  return server_->port();
}

HttpAnswer Monitor::metrics_page() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  const auto append = [&families](std::vector<prometheus::MetricFamily> more) {
    families.insert(families.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  };
  append(sessions_.Collect());
  if (devices_) append(device_metrics(devices_()));
  if (source_) append(EngineCollector(source_).Collect());
  return {200, prometheus::TextSerializer().Serialize(families), "text/plain; version=0.0.4; charset=utf-8"};
}

HttpAnswer Monitor::health_page() const {
  if (source_ && source_().size() < engines_) return {503, "a scheduler does not answer\n"};
  return {200, "ok\n"};
}

HttpAnswer Monitor::readiness_page() const {
  switch (readiness_.load(std::memory_order_relaxed)) {
    case Readiness::kReady: {
      if (devices_) return devices_page(devices_());
      return {200, "ready\n"};
    }
    case Readiness::kDraining:
      return {503, "draining\n"};
    case Readiness::kStarting:
      break;
  }
  return {503, "starting\n"};
}

}  // namespace volvox
