#include "monitoring/monitor.h"

#include <string>
#include <utility>
#include <vector>

#include "config/addresses.h"
#include "monitoring/metrics/metric_families.h"
#include "monitoring/metrics/process_metrics.h"
#include "monitoring/metrics_page.h"

namespace volvox {
namespace {

std::vector<prometheus::MetricFamily> device_metrics(const std::vector<DeviceState>& devices) {
  Families families;
  auto& up = families.add("volvox_device_up", "1: nothing is wrong with the device; 0: /readyz says what.",
                          prometheus::MetricType::Gauge);
  for (const DeviceState& device : devices)
    put(up, {{"device", device.name}}, device.trouble.empty() ? 1 : 0);
  return families.take();
}

std::vector<prometheus::MetricFamily> health_metrics(bool healthy) {
  Families families;
  put(families.add("volvox_healthy", "1: every part of the process answers; 0: /healthz says which does not.",
                   prometheus::MetricType::Gauge),
      {}, healthy ? 1 : 0);
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
    : version_(version), requests_(registry_), http_(registry_), models_(registry_), traces_(registry_) {}

ClusterMetrics& Monitor::cluster() {
  if (!cluster_) cluster_ = std::make_unique<ClusterMetrics>(registry_);
  return *cluster_;
}

void Monitor::watch_engines(EngineSource source, std::size_t engines) {
  engine_metrics_.emplace(source);
  source_ = std::move(source);
  engines_ = engines;
}

Result<std::unique_ptr<HttpServer>> Monitor::open(const std::string& address, const char* purpose,
                                                  const ServerSection& section, HttpServer::Pages pages) {
  if (address.empty()) return nullptr;
  auto made = page_setup(address, section.metrics_token);
  if (!made) return tl::unexpected(made.error());
  HttpServer::Setup setup = std::move(*made);
  setup.purpose = purpose;
  setup.connections = section.max_monitor_connections;
  setup.rules.hosts = split_addresses(section.metrics_hosts);
  setup.rules.setting = "server.metrics_";
  setup.turned_away = [this](HttpRefusal reason) { http_.refused(reason); };
  setup.refused = [this] { http_.connection_refused(); };
  setup.cut = [this] { http_.cut(1); };
  return HttpServer::start(std::move(setup), std::move(pages));
}

Status Monitor::listen(const ServerSection& section) {
  HttpServer::Pages pages;
  pages["/healthz"] = {[this] { return health_page(); }, true};
  pages["/readyz"] = {[this] { return readiness_page(); }, true};
  auto probes = open(section.probes, "server.probes", section, pages);
  if (!probes) return tl::unexpected(probes.error());
  pages["/metrics"] = {[this] { return metrics_page(); }};
  auto server = open(section.metrics, "server.metrics", section, std::move(pages));
  if (!server) return tl::unexpected(server.error());
  probes_ = std::move(*probes);
  server_ = std::move(*server);
  return {};
}

void Monitor::stop_listening() {
  server_.reset();
  probes_.reset();
}

std::vector<prometheus::MetricFamily> Monitor::families() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  append(families, sessions_.Collect());
  append(families, process_metrics(version_));
  append(families, health_metrics(trouble().empty()));
  if (model_requests_) append(families, model_request_metrics(model_requests_(), doors_));
  if (devices_) append(families, device_metrics(devices_()));
  if (engine_metrics_) append(families, engine_metrics_->Collect());
  return families;
}

HttpAnswer Monitor::metrics_page() const {
  return page_of(families());
}

// What keeps it from being alive, in words.
std::string Monitor::trouble() const {
  if (source_ && source_().size() < engines_) return "a scheduler does not answer";
  for (const TroubleSource& source : health_) {
    if (std::string trouble = source(); !trouble.empty()) return trouble;
  }
  return {};
}

HttpAnswer Monitor::health_page() const {
  const std::string trouble = this->trouble();
  return trouble.empty() ? HttpAnswer{200, "ok\n"} : HttpAnswer{503, trouble + "\n"};
}

HttpAnswer Monitor::readiness_page() const {
  switch (readiness_.load(std::memory_order_relaxed)) {
    case Readiness::kReady: {
      if (const std::string trouble = ready_ ? ready_() : ""; !trouble.empty()) return {503, trouble + "\n"};
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
