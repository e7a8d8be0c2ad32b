#include "config/validate.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "config/addresses.h"
#include "config/fields.h"

namespace volvox {
namespace {

// What a client says within this may reach a busy server late, and is no silence.
constexpr std::uint32_t kLeastSilence = 1000;  // ms

// Checks each number against its range; keeps the first that is out of it.
class RangeCheck {
 public:
  explicit RangeCheck(ConfigProblem& problem) : problem_(problem) {}

  void section(std::string_view name) { section_ = name; }
  void text(std::string_view, const std::string&) {}
  void number(std::string_view key, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
    check(key, value, least, most);
  }
  void real(std::string_view key, double value, double least, double most) { check(key, value, least, most); }
  template <class Enum>
  void choice(std::string_view, Enum) {}
  void flag(std::string_view, bool) {}
  template <class Table, class Fields>
  void tables(std::string_view name, const std::vector<Table>& values, Fields fields) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      section_ = table_name(name, i);
      fields(values[i], *this);
    }
  }

  bool found() const { return !problem_.key.empty(); }

 private:
  template <class T>
  void check(std::string_view key, T value, T least, T most) {
    if (found() || (value >= least && value <= most)) return;  // a NaN is in no range
    std::ostringstream message;
    message << "must be between " << least << " and " << most << ", not " << value;
    problem_ = {section_ + "." + std::string(key), message.str()};
  }

  ConfigProblem& problem_;
  std::string section_;
};

bool parse_port(std::string_view text, std::uint16_t& port) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc{} && stop == end && !text.empty();
}

// Appends piece by piece: g++ 12 warns falsely of "literal" + std::string(…).
std::string not_a(std::string_view text, std::string_view what) {
  std::string message(1, '\'');
  message.append(text).append("' is no ").append(what);
  return message;
}

// MiB that the largest content sets aside: itself, and its tensors in four forms while they are made.
std::uint64_t http_mib_for_one(const ServeConfig& config) {
  const std::uint64_t content = config.http.max_content_mib;
  const std::uint64_t body = (std::uint64_t{config.wire.max_body_bytes} + (1U << 20) - 1) >> 20;
  return content + 4 * std::min(body, 4 * content);
}

ConfigProblem find_http_contradiction(const ServeConfig& config) {
  if (config.http.listen.empty()) return {};
  if (const auto listen = parse_listen_address(config.http.listen); !listen)
    return {"http.listen", listen.error().message};
  const std::uint64_t least = http_mib_for_one(config);
  if (config.http.max_mib >= least) return {};
  return {"http.max_mib", "must be at least " + std::to_string(least) +
                              ": one content of http.max_content_mib may take that while it is read"};
}

// Of server.listen, as ZeroMQ writes it: names and sockets of this machine have no host that others reach.
bool is_closed(const std::string& endpoint) {
  constexpr std::string_view kTcp = "tcp://";
  if (!endpoint.starts_with(kTcp)) return true;
  const auto address = parse_host_port(std::string_view(endpoint).substr(kTcp.size()));
  return address && is_loopback(address->host);
}

// A door that others than this machine reach asks who comes in, or somebody has said that it need not.
ConfigProblem find_open_door(const ServeConfig& config) {
  const ServerSection& server = config.server;
  if (!is_closed(server.listen) && config.security.server_key.empty() && !server.insecure) {
    return {"server.listen",
            "is reached from beyond loopback, and asks nobody who he is: set security.server_key and "
            "security.clients, or server.insecure = true where everybody may use the models"};
  }
  if (!is_closed_http(server.metrics) && server.metrics_token.empty() && !server.metrics_insecure) {
    return {"server.metrics",
            "is reached from beyond loopback, and asks nobody who he is: set server.metrics_token, or "
            "server.metrics_insecure = true where everybody may read the metrics"};
  }
  if (!is_closed_http(server.probes) && !server.probes_insecure) {
    return {"server.probes",
            "is reached from beyond loopback: set server.probes_insecure = true where everybody may know "
            "whether the server is well"};
  }
  if (!is_closed_http(config.http.listen) && config.http.token.empty() && !config.http.insecure) {
    return {"http.listen",
            "is reached from beyond loopback, and asks nobody who he is: set http.token, or http.insecure = "
            "true where everybody may use the models"};
  }
  return {};
}

ConfigProblem find_monitoring_contradiction(const ServerSection& server) {
  if (!server.metrics.empty()) {
    if (const auto metrics = parse_listen_address(server.metrics); !metrics)
      return {"server.metrics", metrics.error().message};
  }
  if (!server.probes.empty()) {
    if (const auto probes = parse_listen_address(server.probes); !probes)
      return {"server.probes", probes.error().message};
  }
  return {};
}

ConfigProblem find_tracing_contradiction(const TracingSection& tracing) {
  const std::string& url = tracing.collector;
  if (url.empty() && tracing.rate > 0)
    return {"tracing.rate", "chooses requests for tracing.collector, which is not set"};
  if (url.empty()) return {};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (url.starts_with(scheme) && url.size() > scheme.size()) return {};
  }
  return {"tracing.collector", not_a(url, "URL; it must begin with http:// or https://")};
}

ConfigProblem find_model_contradiction(const std::vector<ModelSection>& models) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ModelSection& model = models[i];
    const std::string table = table_name("model", i);
    if (model.name.empty()) return {table + ".name", "names no model; give the name that clients use"};
    if (!names.insert(model.name).second) return {table + ".name", "has a table already; merge the two"};
    if (model.max_deadline_ms != 0 && model.default_deadline_ms > model.max_deadline_ms)
      return {table + ".default_deadline_ms", "must be at most max_deadline_ms"};
  }
  return {};
}

ConfigProblem find_client_contradiction(const ServeConfig& config) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < config.client.size(); ++i) {
    const std::string key = table_name("client", i) + ".name";
    if (config.client[i].name.empty()) return {key, "names no client; give the name of its key's file"};
    if (!names.insert(config.client[i].name).second) return {key, "has a table already; merge the two"};
  }
  return {};
}

// Two messages of the largest size: one that comes in, and one more for everybody else.
ConfigProblem find_receiving_contradiction(const ServeConfig& config) {
  const std::uint64_t half = std::uint64_t{config.limits.max_receiving_mib} << 19;
  if (half >= 2 * std::uint64_t{config.wire.max_body_bytes}) return {};
  return {"limits.max_receiving_mib",
          "is less than four of the largest bodies; raise it, or lower wire.max_body_bytes"};
}

ConfigProblem find_queue_contradiction(const ServeConfig& config) {
  if (config.queue.size() > config.device.queues)
    return {"queue", "has more tables than there are queues; raise device.queues"};
  if (!config.queue.empty() && config.batching.policy != PolicyKind::kCellular)
    return {"queue", "needs batching.policy = \"cellular\": the others run whole batches"};
  return {};
}

// How many routers cluster.routers may stand for; the first entry that is no address is the problem.
std::uint64_t count_routers(const ClusterSection& cluster, ConfigProblem& problem) {
  const std::vector<std::string> routers = split_addresses(cluster.routers);
  bool named = false;
  for (const std::string& one : routers) {
    const auto address = parse_host_port(one);
    if (!address) problem = {"cluster.routers", address.error().message};
    if (address && !is_numeric_host(address->host) && !is_loopback(address->host)) named = true;
  }
  if (routers.size() > cluster.max_routers)
    problem = {"cluster.max_routers", "is less than the routers that are named"};
  return named ? cluster.max_routers : routers.size();
}

// Some of the three files, but not all.
ConfigProblem find_half_tls(const ClusterSection& cluster) {
  const std::pair<const char*, const std::string&> files[] = {
      {"tls_certificate", cluster.tls_certificate}, {"tls_key", cluster.tls_key}, {"tls_ca", cluster.tls_ca}};
  const auto missing =
      std::count_if(std::begin(files), std::end(files), [](const auto& file) { return file.second.empty(); });
  if (missing == 0 || missing == 3) return {};
  for (const auto& [name, path] : files) {
    if (!path.empty()) continue;
    return {std::string("cluster.") + name,
            "is missing: cluster.tls_certificate, tls_key and tls_ca belong together; give all, or none"};
  }
  return {};
}

ConfigProblem find_cluster_contradiction(const ClusterConfig& config) {
  const ClusterSection& cluster = config.cluster;
  if (cluster.name.empty() || cluster.name.size() > config.wire.max_name_bytes)
    return {"cluster.name", "must have between 1 and wire.max_name_bytes bytes"};
  const auto listen = parse_host_port(cluster.listen);
  if (!listen) return {"cluster.listen", listen.error().message};
  if (ConfigProblem half = find_half_tls(cluster); !half.key.empty()) return half;
  if (!is_loopback(listen->host) && cluster.tls_ca.empty() && !cluster.insecure) {
    return {"cluster.listen",
            "must be a loopback address as long as links are not encrypted: set cluster.tls_certificate, "
            "tls_key and tls_ca, or cluster.insecure where everybody in the network may do everything"};
  }
  if (cluster.dead_ms <= cluster.suspect_ms) return {"cluster.dead_ms", "must exceed cluster.suspect_ms"};
  ConfigProblem problem;
  const std::uint64_t routers = count_routers(cluster, problem);
  // A quarter of the credit is split evenly, with a share for one that comes, and a tenth of each is
  // reserved: the largest body must fit.
  const std::uint64_t least = ((5 * (routers + 1) * config.wire.max_body_bytes) >> 20) + 1;
  if (problem.key.empty() && cluster.max_requests < 5 * (routers + 1)) {
    problem = {"cluster.max_requests", "must be at least " + std::to_string(5 * (routers + 1)) +
                                           ": each router must be able to send a request"};
  }
  if (problem.key.empty() && cluster.max_request_mib < least) {
    problem = {"cluster.max_request_mib",
               "must be at least " + std::to_string(least) +
                   ": each router must be able to send a body of wire.max_body_bytes"};
  }
  return problem;
}

// Rules that concern more than the range of one number.
ConfigProblem find_contradiction(const ServeConfig& config) {
  if (config.server.name.empty() || config.server.name.size() > config.wire.max_name_bytes) {
    return {"server.name", "must have between 1 and wire.max_name_bytes bytes"};
  }
  if (const Status listen = check_endpoint(config.server.listen); !listen) {
    return {"server.listen", listen.error().message};
  }
  if (ConfigProblem pages = find_monitoring_contradiction(config.server); !pages.key.empty()) return pages;
  if (config.server.models.empty()) return {"server.models", "names no folder; give the model repository's"};
  const std::uint64_t header = WireBounds::least_header_bytes(config.wire.max_name_bytes);
  if (config.wire.max_header_bytes < header)
    return {"wire.max_header_bytes",
            "must be at least " + std::to_string(header) + ", for names of wire.max_name_bytes"};
  if (config.wire.traversal_words <= config.wire.max_body_bytes / 8) {
    return {"wire.traversal_words",
            "must exceed wire.max_body_bytes / 8, else a body of that size is refused"};
  }
  const std::uint32_t silent = config.limits.silent_client_ms;
  if (silent != 0 && silent < kLeastSilence) {
    return {"limits.silent_client_ms", "must be 0, or at least " + std::to_string(kLeastSilence) +
                                           ": clients say something every 200 ms"};
  }
  if (config.security.server_key.empty() != config.security.clients.empty()) {
    return {config.security.clients.empty() ? "security.clients" : "security.server_key",
            "is missing: security.server_key and security.clients belong together; give both, or neither"};
  }
  if (ConfigProblem http = find_http_contradiction(config); !http.key.empty()) return http;
  if (ConfigProblem open = find_open_door(config); !open.key.empty()) return open;
  if (ConfigProblem tracing = find_tracing_contradiction(config.tracing); !tracing.key.empty())
    return tracing;
  if (ConfigProblem model = find_model_contradiction(config.model); !model.key.empty()) return model;
  if (ConfigProblem client = find_client_contradiction(config); !client.key.empty()) return client;
  if (ConfigProblem room = find_receiving_contradiction(config); !room.key.empty()) return room;
  return find_queue_contradiction(config);
}

bool find_common_problem(const ServeConfig& config, ConfigProblem& problem) {
  problem = {};
  RangeCheck ranges(problem);
  visit_fields(config, ranges);
  if (!ranges.found()) problem = find_contradiction(config);
  return !problem.key.empty();
}

}  // namespace

bool find_problem(const ServeConfig& config, ConfigProblem& problem) {
  if (find_common_problem(config, problem)) return true;
  if (!config.client.empty() && config.security.server_key.empty())
    problem = {"client", "needs security.server_key: without keys nobody knows which client asks"};
  return !problem.key.empty();
}

// A node learns from its routers which client asks.
bool find_problem(const ClusterConfig& config, ConfigProblem& problem) {
  if (find_common_problem(config, problem)) return true;
  RangeCheck ranges(problem);
  visit_cluster(config, ranges);
  if (!ranges.found()) problem = find_cluster_contradiction(config);
  return !problem.key.empty();
}

void leave_doors_open(ServeConfig& config) {
  config.server.insecure = config.server.metrics_insecure = config.server.probes_insecure = true;
  config.http.insecure = true;
}

Status validate(const ClusterConfig& config) {
  ConfigProblem problem;
  if (find_problem(config, problem)) return invalid(problem.key + ": " + problem.message);
  return {};
}

Status validate(const ServeConfig& config) {
  ConfigProblem problem;
  if (find_problem(config, problem)) return invalid(problem.key + ": " + problem.message);
  return {};
}

Result<HostPort> parse_host_port(std::string_view text) {
  HostPort result;
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const bool good_host =
      bracketed || (!host.empty() && host.find_first_of(":[]/ ") == std::string_view::npos);
  if (!good_host || !parse_port(text.substr(colon + 1), result.port)) {
    return invalid(not_a(text, "HOST:PORT; write for example 127.0.0.1:7101"));
  }
  result.host = host;
  return result;
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  ListenAddress address;
  if (text.starts_with(kUnix) && text.size() > kUnix.size()) {
    address.path = text.substr(kUnix.size());
    return address;
  }
  auto tcp = parse_host_port(text);
  if (!tcp) return invalid(not_a(text, "address; write HOST:PORT, for example 127.0.0.1:7101, or unix:PATH"));
  address.tcp = std::move(*tcp);
  return address;
}

bool is_closed_http(const std::string& listen) {
  const auto address = parse_listen_address(listen);
  return listen.empty() || !address || !address->path.empty() || is_loopback(address->tcp.host);
}

Status check_endpoint(std::string_view endpoint) {
  constexpr std::string_view kTcp = "tcp://";
  if (endpoint.starts_with(kTcp)) {
    if (parse_host_port(endpoint.substr(kTcp.size()))) return {};
  } else if ((endpoint.starts_with("ipc://") && endpoint.size() > 6) ||
             (endpoint.starts_with("inproc://") && endpoint.size() > 9)) {
    return {};
  }
  return invalid(not_a(endpoint, "endpoint; write tcp://HOST:PORT or ipc://PATH"));
}

}  // namespace volvox
