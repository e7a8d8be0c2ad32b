#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/registry.h>

#include "base/error.h"
#include "config/schema.h"
#include "monitoring/http/http_server.h"
#include "monitoring/metrics/cluster_metrics.h"
#include "monitoring/metrics/engine_collector.h"
#include "monitoring/metrics/http_metrics.h"
#include "monitoring/metrics/model_metrics.h"
#include "monitoring/metrics/model_requests.h"
#include "monitoring/metrics/request_metrics.h"
#include "monitoring/metrics/session_metrics.h"
#include "monitoring/metrics/trace_metrics.h"

namespace volvox {

// What /readyz says: whether new requests should be sent here.
enum class Readiness : std::uint8_t { kStarting, kReady, kDraining };

// One device of the process, and what is wrong with it, in words; empty: nothing.
struct DeviceState {
  std::string name, trouble;
};
using DeviceSource = std::function<std::vector<DeviceState>()>;

using TroubleSource = std::function<std::string()>;

// Everything that people and machines watch of one process: the metrics of its requests, the state of its
// devices, and the pages /metrics, /healthz (is it alive?) and /readyz (should it get requests?). Calls from
// any thread, but watch_engines(), watch_devices(), watch_models() and listen() before the first request. It
// must outlive whoever counts into it; the engine source must stay callable until stop_listening().
class Monitor {
 public:
  explicit Monitor(const std::string& version);

  RequestMetrics& requests() { return requests_; }
  HttpMetrics& http() { return http_; }
  ModelMetrics& models() { return models_; }
  SessionMetrics& sessions() { return sessions_; }
  TraceMetrics& traces() { return traces_; }
  // On the page from the first call on, which comes before listen().
  ClusterMetrics& cluster();
  const std::string& version() const { return version_; }
  void set_readiness(Readiness readiness) { readiness_.store(readiness, std::memory_order_relaxed); }

  // Where the devices' state comes from. `engines` is how many must answer for /healthz to say yes.
  void watch_engines(EngineSource source, std::size_t engines);

  // How the devices are: asked for each /readyz and /metrics. A server is ready as long as one has no
  // trouble.
  void watch_devices(DeviceSource source) { devices_ = std::move(source); }

  // Where each model's sums come from, and by which doors requests can come in; before listen().
  void watch_models(ModelRequestsSource source, std::vector<Door> doors) {
    model_requests_ = std::move(source);
    doors_ = std::move(doors);
  }

  // What else /healthz, and /readyz, ask: each answers with what is wrong, in words; empty: nothing. Before
  // listen(). They may block for a moment.
  void watch_health(TroubleSource source) { health_.push_back(std::move(source)); }
  void watch_readiness(TroubleSource source) { ready_ = std::move(source); }

  // Serves the pages at server.metrics, and /healthz and /readyz at server.probes, as far as there are such
  // addresses.
  Status listen(const ServerSection& section);
  void stop_listening();
  // Of the two; 0: none, or a Unix socket.
  std::uint16_t metrics_port() const { return server_ ? server_->port() : 0; }
  std::uint16_t probes_port() const { return probes_ ? probes_->port() : 0; }

  // What /metrics shows, as of now.
  std::vector<prometheus::MetricFamily> families() const;
  // The pages themselves.
  HttpAnswer metrics_page() const;
  HttpAnswer health_page() const;
  HttpAnswer readiness_page() const;

 private:
  Result<std::unique_ptr<HttpServer>> open(const std::string& address, const char* purpose,
                                           const ServerSection& section, HttpServer::Pages pages);
  std::string trouble() const;

  const std::string version_;
  prometheus::Registry registry_;
  RequestMetrics requests_;
  HttpMetrics http_;
  ModelMetrics models_;
  SessionMetrics sessions_;
  TraceMetrics traces_;
  std::unique_ptr<ClusterMetrics> cluster_;
  std::atomic<Readiness> readiness_{Readiness::kStarting};
  EngineSource source_;
  std::optional<EngineCollector> engine_metrics_;
  std::size_t engines_ = 0;
  DeviceSource devices_;
  ModelRequestsSource model_requests_;
  std::vector<Door> doors_;
  std::vector<TroubleSource> health_;
  TroubleSource ready_;
  std::unique_ptr<HttpServer> server_, probes_;
};

}  // namespace volvox
