#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/cluster.h"
#include "config/schema.h"
#include "config/wire_bounds.h"

namespace volvox {

// The names that users write for an enumeration's values, in the order of the values.
template <class Enum>
struct ChoiceNames;
template <>
struct ChoiceNames<DeviceKind> {
  static constexpr std::array<std::string_view, 4> kNames{"auto", "cpu", "gpu", "timed"};
};
template <>
struct ChoiceNames<PrecisionChoice> {
  static constexpr std::array<std::string_view, 4> kNames{"float32", "tf32", "bfloat16", "float16"};
};
template <>
struct ChoiceNames<GpuPathChoice> {
  static constexpr std::array<std::string_view, 3> kNames{"auto", "generic", "fused"};
};
template <>
struct ChoiceNames<OnOff> {
  static constexpr std::array<std::string_view, 2> kNames{"off", "on"};
};
template <>
struct ChoiceNames<IsaChoice> {
  static constexpr std::array<std::string_view, 4> kNames{"auto", "avx512", "avx2", "portable"};
};
template <>
struct ChoiceNames<PolicyKind> {
  static constexpr std::array<std::string_view, 4> kNames{"cellular", "padded", "depth", "agenda"};
};
template <>
struct ChoiceNames<EagerChoice> {
  static constexpr std::array<std::string_view, 3> kNames{"off", "on", "auto"};
};
template <>
struct ChoiceNames<PriorityChoice> {
  static constexpr std::array<std::string_view, 3> kNames{"high", "normal", "low"};
};
template <>
struct ChoiceNames<LogFormat> {
  static constexpr std::array<std::string_view, 2> kNames{"text", "json"};
};
template <>
struct ChoiceNames<PlacementChoice> {
  static constexpr std::array<std::string_view, 2> kNames{"balance", "pack"};
};
template <>
struct ChoiceNames<BadModels> {
  static constexpr std::array<std::string_view, 2> kNames{"refuse", "skip"};
};
template <>
struct ChoiceNames<ThreadPolicy> {
  static constexpr std::array<std::string_view, 2> kNames{"batch", "normal"};
};
template <>
struct ChoiceNames<LogLevel> {
  static constexpr std::array<std::string_view, 5> kNames{"debug", "info", "warning", "error", "off"};
};

template <class Enum>
constexpr std::string_view choice_name(Enum value) {
  return ChoiceNames<Enum>::kNames[static_cast<std::size_t>(value)];
}

// How messages call the tables of a list: "model[0]".
inline std::string table_name(std::string_view list, std::size_t number) {
  return std::string(list) + "[" + std::to_string(number) + "]";
}

// Reading, checking and printing must agree on the same list of fields; so it is written once, here, and each
// of them is a visitor. A visitor has section(name), text(key, value), number(key, value, least, most),
// real(key, value, least, most), choice(key, value), flag(key, value), and tables(name, values, fields) for a
// list of tables, each visited by fields(value, visitor). `Config` is ServeConfig or const ServeConfig.
template <class Config, class Visitor>
void visit_server(Config& config, Visitor& v) {
  auto& server = config.server;
  v.section("server");
  v.text("name", server.name);
  v.text("listen", server.listen);
  v.flag("insecure", server.insecure);
  v.text("metrics", server.metrics);
  v.text("metrics_token", server.metrics_token);
  v.text("metrics_hosts", server.metrics_hosts);
  v.flag("metrics_insecure", server.metrics_insecure);
  v.text("probes", server.probes);
  v.flag("probes_insecure", server.probes_insecure);
  v.number("max_monitor_connections", server.max_monitor_connections, 8U, 65'536U);
  v.text("models", server.models);
  v.choice("bad_models", server.bad_models);
  v.number("drain_timeout_ms", server.drain_timeout_ms, 0U, 3'600'000U);
  v.number("stop_timeout_ms", server.stop_timeout_ms, 100U, 3'600'000U);
  v.number("actor_threads", server.actor_threads, 1U, 256U);
  v.choice("thread_policy", server.thread_policy);
  v.number("return_memory_ms", server.return_memory_ms, 0U, 3'600'000U);
  v.choice("log_level", server.log_level);
  v.choice("log_format", server.log_format);
  v.number("log_lines", server.log_lines, 16U, 1U << 24);
}

template <class Config, class Visitor>
void visit_device(Config& config, Visitor& v) {
  auto& device = config.device;
  v.section("device");
  v.choice("kind", device.kind);
  v.choice("isa", device.isa);
  v.number("compute_threads", device.compute_threads, 0U, 1024U);
  v.number("count", device.count, 0U, 64U);
  v.number("queues", device.queues, 1U, 64U);
  v.number("state_mib", device.state_mib, 1U, 1U << 20);
  v.number("task_timeout_ms", device.task_timeout_ms, 10U, 86'400'000U);
  v.number("gpu", device.gpu, 0U, 63U);
  v.choice("precision", device.precision);
  v.choice("reproducible", device.reproducible);
  v.choice("gpu_path", device.gpu_path);
  v.number("input_mib", device.input_mib, 1U, 1U << 20);
  v.number("result_mib", device.result_mib, 1U, 1U << 20);
  v.text("cache", device.cache);
  v.real("timed_task_us", device.timed_task_us, 0.0, 1e7);
  v.real("timed_row_us", device.timed_row_us, 0.0, 1e6);
  v.text("timed_hang_file", device.timed_hang_file);
}

template <class Config, class Visitor>
void visit_batching(Config& config, Visitor& v) {
  auto& batching = config.batching;
  v.section("batching");
  v.choice("policy", batching.policy);
  v.number("max_batch", batching.max_batch, 0U, 4096U);
  v.number("bucket_width", batching.bucket_width, 1U, 1U << 20);
  v.number("window", batching.window, 1U, 1U << 16);
  v.choice("eager", batching.eager);
  v.number("eager_window", batching.eager_window, 1U, 4096U);
  v.number("fold_mib", batching.fold_mib, 0U, 1U << 20);
  v.number("max_tasks_to_submit", batching.max_tasks_to_submit, 1U, 1024U);
  v.number("max_ahead_us", batching.max_ahead_us, 0U, 10'000'000U);
  v.number("max_wait_us", batching.max_wait_us, 0U, 10'000'000U);
  v.number("age_ms", batching.age_ms, 0U, 86'400'000U);
  v.number("max_overtake", batching.max_overtake, 0U, 1U << 20);
  v.number("queued_batches", batching.queued_batches, 0U, 1024U);
}

template <class Config, class Visitor>
void visit_limits(Config& config, Visitor& v) {
  auto& limits = config.limits;
  v.section("limits");
  v.number("max_requests_in_flight", limits.max_requests_in_flight, 1U, 1U << 20);
  v.number("max_request_mib_in_flight", limits.max_request_mib_in_flight, 1U, 1U << 20);
  v.number("max_result_mib_in_flight", limits.max_result_mib_in_flight, 1U, 1U << 20);
  v.number("max_requests_per_client", limits.max_requests_per_client, 1U, 1U << 20);
  v.number("max_request_mib_per_client", limits.max_request_mib_per_client, 1U, 1U << 20);
  v.number("max_parts_at_once", limits.max_parts_at_once, 0U, 1U << 20);
  v.number("max_replies_per_client", limits.max_replies_per_client, 16U, 1U << 20);
  v.number("max_reply_mib_per_client", limits.max_reply_mib_per_client, 1U, 1U << 20);
  v.number("max_reply_mib_waiting", limits.max_reply_mib_waiting, 1U, 1U << 20);
  v.number("max_receiving_mib", limits.max_receiving_mib, 1U, 1U << 20);
  v.number("max_connections", limits.max_connections, 1U, 1U << 20);
  v.number("max_connections_per_address", limits.max_connections_per_address, 1U, 1U << 20);
  v.number("max_connections_per_key", limits.max_connections_per_key, 1U, 1U << 20);
  v.number("idle_client_ms", limits.idle_client_ms, 0U, 86'400'000U);
  v.number("slow_client_ms", limits.slow_client_ms, 10U, 3'600'000U);
  v.number("silent_client_ms", limits.silent_client_ms, 0U, 3'600'000U);
  v.number("max_signals_per_client", limits.max_signals_per_client, 10U, 1'000'000U);
  v.number("retry_after_ms", limits.retry_after_ms, 0U, 3'600'000U);
  v.number("max_models", limits.max_models, 1U, 1024U);
}

template <class Config, class Visitor>
void visit_sessions(Config& config, Visitor& v) {
  auto& sessions = config.sessions;
  v.section("sessions");
  v.number("max_sessions", sessions.max_sessions, 0U, 1U << 24);
  v.number("max_sessions_per_client", sessions.max_sessions_per_client, 0U, 1U << 24);
  v.number("max_resident", sessions.max_resident, 1U, 1U << 20);
  v.number("spill_mib", sessions.spill_mib, 0U, 1U << 20);
  v.number("spill_mib_per_client", sessions.spill_mib_per_client, 0U, 1U << 20);
  v.number("max_waiting", sessions.max_waiting, 1U, 1024U);
  v.number("max_parked_parts", sessions.max_parked_parts, 0U, 1U << 24);
  v.number("max_parked_per_client", sessions.max_parked_per_client, 0U, 1U << 24);
  v.number("max_parked_mib", sessions.max_parked_mib, 0U, 1U << 20);
  v.number("park_ms", sessions.park_ms, 10U, 3'600'000U);
  v.number("max_kept_outputs", sessions.max_kept_outputs, 0U, 1024U);
  v.number("max_kept_kib", sessions.max_kept_kib, 0U, 1U << 30);
  v.number("max_kept_mib_total", sessions.max_kept_mib_total, 0U, 1U << 20);
  v.number("max_kept_mib_per_client", sessions.max_kept_mib_per_client, 0U, 1U << 20);
  v.number("max_remembered", sessions.max_remembered, 0U, 1U << 24);
  v.number("remember_ms", sessions.remember_ms, 0U, 86'400'000U);
  v.number("idle_expiry_ms", sessions.idle_expiry_ms, 10U, 86'400'000U);
  v.number("evict_idle_ms", sessions.evict_idle_ms, 0U, 86'400'000U);
}

template <class Config, class Visitor>
void visit_http(Config& config, Visitor& v) {
  auto& http = config.http;
  v.section("http");
  v.text("listen", http.listen);
  v.flag("insecure", http.insecure);
  v.text("token", http.token);
  v.text("hosts", http.hosts);
  v.text("origins", http.origins);
  v.number("max_connections", http.max_connections, 8U, 65'536U);
  v.number("max_connections_per_client", http.max_connections_per_client, 0U, 65'536U);
  v.number("max_requests", http.max_requests, 1U, 1024U);
  v.number("max_content_mib", http.max_content_mib, 1U, 1024U);
  v.number("max_mib", http.max_mib, 1U, 1U << 20);
  v.number("io_timeout_ms", http.io_timeout_ms, 10U, 3'600'000U);
  v.number("min_bytes_per_second", http.min_bytes_per_second, 0U, 1U << 30);
  v.number("max_wait_ms", http.max_wait_ms, 1U, 86'400'000U);
  v.number("max_sequences", http.max_sequences, 0U, 1'000'000U);
  v.number("max_sequences_per_client", http.max_sequences_per_client, 1U, 1'000'000U);
}

template <class Config, class Visitor>
void visit_admin(Config& config, Visitor& v) {
  v.section("admin");
  v.text("socket", config.admin.socket);
}

template <class Config, class Visitor>
void visit_tracing(Config& config, Visitor& v) {
  v.section("tracing");
  v.real("rate", config.tracing.rate, 0.0, 1.0);
  v.number("max_sampled_per_second", config.tracing.max_sampled_per_second, 0U, 1'000'000U);
  v.text("collector", config.tracing.collector);
  v.number("export_queue", config.tracing.export_queue, 1U, 1'000'000U);
  v.number("export_batch", config.tracing.export_batch, 1U, 4096U);
  v.number("export_interval_ms", config.tracing.export_interval_ms, 1U, 60'000U);
  v.number("export_timeout_ms", config.tracing.export_timeout_ms, 10U, 60'000U);
  v.number("export_attempts", config.tracing.export_attempts, 1U, 16U);
  v.number("capture_mib", config.tracing.capture_mib, 1U, 4096U);
  v.number("capture_seconds", config.tracing.capture_seconds, 1U, 3600U);
}

template <class Config, class Visitor>
void visit_wire(Config& config, Visitor& v) {
  auto& wire = config.wire;
  v.section("wire");
  v.number("max_header_bytes", wire.max_header_bytes, 256U, WireBounds::kMostHeaderBytes);
  v.number("max_body_bytes", wire.max_body_bytes, 1024U, WireBounds::kMostElements);
  v.number("max_tensors", wire.max_tensors, 1U, WireBounds::kMostTensors);
  v.number("max_name_bytes", wire.max_name_bytes, 1U, WireBounds::kMostNameBytes);
  v.number("max_rank", wire.max_rank, 1U, WireBounds::kMostRank);
  v.number("max_nodes", wire.max_nodes, 1U, WireBounds::kMostNodes);
  v.number("max_edges", wire.max_edges, 1U, WireBounds::kMostNodes);
  v.number("max_bundle_parts", wire.max_bundle_parts, 1U, WireBounds::kMostBundleParts);
  v.number("bundle_gather_us", wire.bundle_gather_us, 0U, 1'000'000U);
  v.number("traversal_words", wire.traversal_words, 256U, 1U << 30);
  v.number("nesting", wire.nesting, WireBounds::kLeastNesting, WireBounds::kMostNesting);
}

template <class Model, class Visitor>
void visit_model(Model& model, Visitor& v) {
  v.text("name", model.name);
  v.real("weight", model.weight, 0.001, 1000.0);
  v.number("max_waiting", model.max_waiting, 1U, 1U << 20);
  v.number("default_deadline_ms", model.default_deadline_ms, 0U, 86'400'000U);
  v.number("max_deadline_ms", model.max_deadline_ms, 0U, 86'400'000U);
  v.choice("priority", model.priority);
  v.number("state_mib", model.state_mib, 0U, 1U << 20);
}

template <class Queue, class Visitor>
void visit_queue(Queue& queue, Visitor& v) {
  v.number("max_batch", queue.max_batch, 0U, 4096U);
}

template <class Client, class Visitor>
void visit_client(Client& client, Visitor& v) {
  v.text("name", client.name);
  v.number("max_requests", client.max_requests, 0U, 1U << 20);
  v.number("max_request_mib", client.max_request_mib, 0U, 1U << 20);
  v.number("max_sessions", client.max_sessions, 0U, 1U << 24);
  v.number("max_kept_mib", client.max_kept_mib, 0U, 1U << 20);
  v.number("spill_mib", client.spill_mib, 0U, 1U << 20);
  v.choice("max_priority", client.max_priority);
}

template <class Config, class Visitor>
void visit_security(Config& config, Visitor& v) {
  auto& security = config.security;
  v.section("security");
  v.text("server_key", security.server_key);
  v.text("clients", security.clients);
  v.number("stale_keys_ms", security.stale_keys_ms, 0U, 86'400'000U);
}

template <class Config, class Visitor>
void visit_cluster(Config& config, Visitor& v) {
  auto& cluster = config.cluster;
  v.section("cluster");
  v.text("name", cluster.name);
  v.text("listen", cluster.listen);
  v.flag("insecure", cluster.insecure);
  v.text("tls_certificate", cluster.tls_certificate);
  v.text("tls_key", cluster.tls_key);
  v.text("tls_ca", cluster.tls_ca);
  v.text("routers", cluster.routers);
  v.choice("placement", cluster.placement);
  v.number("report_ms", cluster.report_ms, 10U, 10'000U);
  v.number("suspect_ms", cluster.suspect_ms, 300U, 600'000U);
  v.number("dead_ms", cluster.dead_ms, 301U, 3'600'000U);
  v.number("verdict_ms", cluster.verdict_ms, 1U, 4'000U);
  v.flag("ready_needs_node", cluster.ready_needs_node);
  v.number("max_attempts", cluster.max_attempts, 1U, 100U);
  v.number("max_routers", cluster.max_routers, 1U, 256U);
  v.number("max_connections", cluster.max_connections, 1U, 1U << 20);
  v.number("max_nodes", cluster.max_nodes, 1U, 65'536U);
  v.number("max_requests", cluster.max_requests, 16U, 1U << 20);
  v.number("max_request_mib", cluster.max_request_mib, 1U, 1U << 20);
  v.number("max_queued_mib", cluster.max_queued_mib, 1U, 1U << 20);
  v.number("join_ms", cluster.join_ms, 100U, 60'000U);
  v.number("max_handshakes", cluster.max_handshakes, 1U, 65'536U);
  v.number("max_newcomers", cluster.max_newcomers, 1U, 65'536U);
}

// The fields of `volvox serve`; those of the cluster's processes are these and visit_cluster().
template <class Config, class Visitor>
void visit_fields(Config& config, Visitor& v) {
  visit_server(config, v);
  visit_device(config, v);
  visit_batching(config, v);
  visit_limits(config, v);
  visit_sessions(config, v);
  visit_http(config, v);
  visit_admin(config, v);
  visit_tracing(config, v);
  visit_wire(config, v);
  visit_security(config, v);
  v.tables("model", config.model, [](auto& model, auto& visitor) { visit_model(model, visitor); });
  v.tables("client", config.client, [](auto& client, auto& visitor) { visit_client(client, visitor); });
  v.tables("queue", config.queue, [](auto& queue, auto& visitor) { visit_queue(queue, visitor); });
}

}  // namespace volvox
