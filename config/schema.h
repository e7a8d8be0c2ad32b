#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace volvox {

// Everything that can be set of `volvox serve`. The values below are the defaults; config/example.toml shows
// them all with their meaning, and docs/operation.md says when to change them. Plain values: nothing here
// reads a file, the environment or the machine.

enum class DeviceKind : std::uint8_t { kAuto, kCpu, kGpu, kTimed };
enum class IsaChoice : std::uint8_t { kAuto, kAvx512, kAvx2, kPortable };
enum class PrecisionChoice : std::uint8_t { kFloat32, kTf32, kBfloat16, kFloat16 };
enum class GpuPathChoice : std::uint8_t { kAuto, kGeneric, kFused };
enum class OnOff : std::uint8_t { kOff, kOn };
enum class PolicyKind : std::uint8_t { kCellular, kPadded, kDepth, kAgenda };
enum class EagerChoice : std::uint8_t { kOff, kOn, kAuto };
enum class PriorityChoice : std::uint8_t { kHigh, kNormal, kLow };
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError, kOff };
enum class BadModels : std::uint8_t { kRefuse, kSkip };
enum class ThreadPolicy : std::uint8_t { kBatch, kNormal };
enum class LogFormat : std::uint8_t { kText, kJson };

struct ServerSection {
  std::string name = "volvox";                  // in replies and logs
  std::string listen = "tcp://127.0.0.1:7100";  // where clients connect; port 0: any free one
  bool insecure = false;                        // … beyond loopback without keys
  std::string metrics = "127.0.0.1:7101";       // where /metrics, /healthz and /readyz answer; empty: nowhere
  std::string metrics_token;                    // file with the tokens of those who may read /metrics
  std::string metrics_hosts;                    // names by which it is reached, separated by commas
  bool metrics_insecure = false;                // beyond loopback without a token
  std::string probes;                           // where /healthz and /readyz answer besides; empty: nowhere
  bool probes_insecure = false;                 // beyond loopback
  std::uint32_t max_monitor_connections = 64;   // at each of these two doors
  std::string models = "models";                // folder of the model repository
  BadModels bad_models = BadModels::kRefuse;    // at the start: end, or serve the others
  std::uint32_t drain_timeout_ms = 10'000;      // how long requests in flight may take to end after SIGTERM
  std::uint32_t stop_timeout_ms = 5'000;        // how long the rest of stopping may take after that
  std::uint32_t actor_threads = 1;              // threads that run request and manager actors
  ThreadPolicy thread_policy = ThreadPolicy::kBatch;  // batch: a thread that is woken interrupts no other
  std::uint32_t return_memory_ms = 500;  // so often free memory goes back to the system; 0: never
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  std::uint32_t log_lines = 8192;  // that wait for whoever reads standard error; past it the oldest are lost

  bool operator==(const ServerSection&) const = default;
};

struct DeviceSection {
  DeviceKind kind = DeviceKind::kAuto;     // auto: the GPU where there is one, else the CPU
  IsaChoice isa = IsaChoice::kAuto;        // cpu: instructions that the kernels use
  std::uint32_t compute_threads = 0;       // cpu: threads of one queue; 0: all cores, shared among the queues
  std::uint32_t count = 1;                 // devices, alike, a scheduler each; 0: all GPUs from `gpu` on
  std::uint32_t queues = 1;                // FIFOs of tasks on each device, one worker each
  std::uint32_t state_mib = 1024;          // memory of each device for the states of live requests
  std::uint32_t task_timeout_ms = 30'000;  // a task that takes longer hangs, and its queue with it
  std::uint32_t gpu = 0;                   // gpu: which one, from 0; the first of several
  PrecisionChoice precision = PrecisionChoice::kFloat32;  // gpu: of products; states are float32 always
  OnOff reproducible = OnOff::kOff;                       // gpu: the same bits whatever the batch size
  GpuPathChoice gpu_path = GpuPathChoice::kAuto;          // gpu: kernels; auto: what measures faster at load
  std::uint32_t input_mib = 256;                          // gpu: memory for the inputs of live requests
  std::uint32_t result_mib = 256;                         // gpu: pinned memory of the host for their results
  std::string cache =
      "auto";  // gpu: folder where measured choices are kept; auto: this user's; empty: nowhere
  double timed_task_us = 50.0;  // timed: what a task costs
  double timed_row_us = 1.0;    // timed: what each of its rows adds
  std::string timed_hang_file;  // timed: while PATH.N is there, device N gives no state away; empty: never

  bool operator==(const DeviceSection&) const = default;
};

struct BatchingSection {
  PolicyKind policy = PolicyKind::kCellular;
  std::uint32_t max_batch = 0;             // rows of one task, at most; 0: as each model says
  std::uint32_t bucket_width = 10;         // padded: lengths that share a bucket
  std::uint32_t window = 64;               // depth, agenda: requests whose graphs are merged
  EagerChoice eager = EagerChoice::kAuto;  // compute what depends on the input alone for many steps at once
  std::uint32_t eager_window = 32;         // steps that it may run ahead
  std::uint32_t fold_mib = 512;            // of a model's tables of products of embeddings; 0: none
  std::uint32_t max_tasks_to_submit = 5;   // tasks ahead of a queue (BatchMaker §4.3)
  std::uint32_t max_ahead_us = 0;    // no third task while the estimate ahead exceeds this; 0: no such bound
  std::uint32_t max_wait_us = 0;     // an older node makes its type eligible as if full; 0: off
  std::uint32_t age_ms = 5000;       // a request this old competes one priority class higher; 0: never
  std::uint32_t max_overtake = 16;   // smaller requests that may pass one that waits for state memory
  std::uint32_t queued_batches = 1;  // of a model's requests, let in before they begin; 0: all that fit

  bool operator==(const BatchingSection&) const = default;
};

struct LimitsSection {
  std::uint32_t max_requests_in_flight = 16'384;   // accepted and not answered; more are refused OVERLOADED
  std::uint32_t max_request_mib_in_flight = 1024;  // bytes of their bodies
  std::uint32_t max_result_mib_in_flight = 1024;   // bytes of their results
  std::uint32_t max_requests_per_client = 4096;    // the same, of one connection, or of one client's key
  std::uint32_t max_request_mib_per_client = 256;
  std::uint32_t max_parts_at_once = 0;          // of bundles; others wait unread; 0: by the machine
  std::uint32_t max_replies_per_client = 1000;  // messages on their way to one client, before they wait here
  std::uint32_t max_reply_mib_per_client = 64;  // of replies that have not left for it, wherever they lie
  std::uint32_t max_reply_mib_waiting = 256;    // likewise, of all clients; the biggest holder gives way
  std::uint32_t max_receiving_mib = 256;        // half: of requests that come in; half: not yet looked at
  std::uint32_t max_connections = 16'384;       // at server.listen; more are refused
  std::uint32_t max_connections_per_address = 12'288;  // of them, from one address
  std::uint32_t max_connections_per_key = 12'288;      // of them, with one client's key
  std::uint32_t idle_client_ms = 600'000;  // without a message, for a connection without a key; 0: for ever
  std::uint32_t slow_client_ms = 2000;     // without reading, after which a client counts as gone
  std::uint32_t silent_client_ms = 3000;   // without a word while requests are in flight; 0: for ever
  std::uint32_t max_signals_per_client = 1000;  // pings and cancels a second, and as many at once as requests
  std::uint32_t retry_after_ms = 50;            // what a refused client is told to wait, at least
  std::uint32_t max_models = 64;                // model versions on the device at once, draining ones too

  bool operator==(const LimitsSection&) const = default;
};

// Streams whose state outlives one request; see docs/sessions.md.
struct SessionsSection {
  std::uint32_t max_sessions = 10'000;  // at once; 0: none may begin
  // Of one client: of one key, or without keys of one connection. 0: all but a tenth
  std::uint32_t max_sessions_per_client = 0;
  std::uint32_t max_resident = 1024;        // with a state on the device; those of the others are on the host
  std::uint32_t spill_mib = 1024;           // of states on the host
  std::uint32_t spill_mib_per_client = 0;   // 0: all of it
  std::uint32_t max_waiting = 8;            // of one session: requests besides the one that runs
  std::uint32_t max_parked_parts = 0;       // parts sent ahead of a missing one; 0: a tenth of all in flight
  std::uint32_t max_parked_per_client = 0;  // of them, one client's; 0: a quarter
  std::uint32_t max_parked_mib = 128;       // bytes of their bodies
  std::uint32_t park_ms = 10'000;           // for so long
  std::uint32_t max_kept_outputs = 16;      // of one session: answers kept for repeats
  std::uint32_t max_kept_kib = 4096;        // of one session: their bytes
  std::uint32_t max_kept_mib_total = 256;
  std::uint32_t max_kept_mib_per_client = 0;  // 0: all of it
  std::uint32_t max_remembered = 10'000;      // sessions whose end is remembered
  std::uint32_t remember_ms = 30'000;         // for so long
  std::uint32_t idle_expiry_ms = 300'000;
  std::uint32_t evict_idle_ms = 0;  // a full table gives up one that was idle for so long; 0: never

  bool operator==(const SessionsSection&) const = default;
};

// The Open Inference Protocol v2 over HTTP; see docs/protocol.md.
struct HttpSection {
  std::string listen = "127.0.0.1:7102";  // HOST:PORT or unix:PATH; port 0: any free one; empty: nowhere
  bool insecure = false;                  // beyond loopback without a token
  std::string token;                      // file with the tokens that clients show, one a line; empty: none
  std::string hosts;                      // names by which it is reached, separated by commas
  std::string origins;                    // of pages of other addresses that may use it, likewise
  std::uint32_t max_connections = 1024;   // open at once
  std::uint32_t max_connections_per_client = 0;  // of one address; 0: no such bound
  std::uint32_t max_requests = 32;       // inference requests in progress, a thread each; more are refused
  std::uint32_t max_content_mib = 32;    // of one request
  std::uint32_t max_mib = 512;           // set aside for contents that are read, decoded or written
  std::uint32_t io_timeout_ms = 10'000;  // how long a client may take to send, and to read
  std::uint32_t min_bytes_per_second = 1024;  // that a client must send, after two seconds; 0: no such bound
  std::uint32_t max_wait_ms = 60'000;         // how long an answer may take; the deadline where none is given
  std::uint32_t max_sequences = 10'000;       // that clients name themselves; 0: none
  std::uint32_t max_sequences_per_client = 5'000;  // begun by one token, or one address

  bool operator==(const HttpSection&) const = default;
};

// Where the operator talks to the server; see docs/operation.md.
struct AdminSection {
  std::string socket = "auto";  // path of a Unix socket; "auto": by the port of server.listen; empty: nowhere

  bool operator==(const AdminSection&) const = default;
};

// What requests and tasks went through, for whoever wants to see it; see docs/tracing.md.
struct TracingSection {
  double rate = 0;                             // share of requests that are traced and sent to the collector
  std::uint32_t max_sampled_per_second = 100;  // of those that are traced because their caller traces them
  std::string collector;                       // OTLP over HTTP, a URL; empty: none
  std::uint32_t export_queue = 4096;           // traced requests that wait to be sent; past it they are lost
  std::uint32_t export_batch = 256;            // of them in one message
  std::uint32_t export_interval_ms = 1000;     // that one waits, at most, for others
  std::uint32_t export_timeout_ms = 5000;      // that the collector may take to answer
  std::uint32_t export_attempts = 4;           // before a message is given up
  std::uint32_t capture_mib = 64;      // that the records of one `volvox trace` take; past it they are lost
  std::uint32_t capture_seconds = 60;  // that one may take, at most

  bool operator==(const TracingSection&) const = default;
};

// Bounds on what is decoded from the wire; see docs/protocol.md.
struct WireSection {
  std::uint32_t max_header_bytes = 4096;
  std::uint32_t max_body_bytes = 16U << 20;
  std::uint32_t max_tensors = 64;
  std::uint32_t max_name_bytes = 128;
  std::uint32_t max_rank = 8;
  std::uint32_t max_nodes = 1U << 20;
  std::uint32_t max_edges = 1U << 22;
  std::uint32_t max_bundle_parts = 8192;
  std::uint32_t bundle_gather_us = 1000;  // so long a part's answer waits for others that travel with it
  std::uint32_t traversal_words = 1U << 22;
  std::uint32_t nesting = 16;

  bool operator==(const WireSection&) const = default;
};

// Encryption of the clients' connections (CURVE); see docs/operation.md. Both or neither.
struct SecuritySection {
  std::string server_key;  // file with the server's secret key; empty: plain text, and everybody may speak
  std::string clients;     // folder with the public key of each client; "*": whoever knows the server's key
  std::uint32_t stale_keys_ms = 60'000;  // a folder that cannot be read for so long lets nobody in

  bool operator==(const SecuritySection&) const = default;
};

// What one model may use of the server; all its versions alike, each counted for itself. Models without a
// table have the defaults.
struct ModelSection {
  std::string name;
  double weight = 1.0;                    // share of the device's time when several models are busy
  std::uint32_t max_waiting = 16'384;     // requests of which nothing runs yet; more are refused OVERLOADED
  std::uint32_t default_deadline_ms = 0;  // of requests that give none; 0: max_deadline_ms
  std::uint32_t max_deadline_ms = 0;      // longer ones are cut to it; 0: as long as they like
  PriorityChoice priority = PriorityChoice::kNormal;  // of requests that ask for the normal one
  std::uint32_t state_mib = 0;  // memory for the states of each version's requests; 0: an equal share

  bool operator==(const ModelSection&) const = default;
};

// What one client may have, over all connections that it makes with its key. Clients without a table have the
// bounds of [limits] and [sessions].
struct ClientSection {
  std::string name;                   // of its key's file; with security.clients = "*" the public key itself
  std::uint32_t max_requests = 0;     // 0: limits.max_requests_per_client
  std::uint32_t max_request_mib = 0;  // MiB of their bodies; 0: limits.max_request_mib_per_client
  std::uint32_t max_sessions = 0;     // 0: sessions.max_sessions_per_client; the next two likewise
  std::uint32_t max_kept_mib = 0;
  std::uint32_t spill_mib = 0;
  PriorityChoice max_priority = PriorityChoice::kNormal;  // higher ones that it asks for are cut to it

  bool operator==(const ClientSection&) const = default;
};

// One of the device's queues: the first table is for the first one. Queues without a table have the defaults.
struct QueueSection {
  std::uint32_t max_batch = 0;  // rows of its tasks, at most; 0: as batching.max_batch and the models say

  bool operator==(const QueueSection&) const = default;
};

struct ServeConfig {
  ServerSection server;
  DeviceSection device;
  BatchingSection batching;
  LimitsSection limits;
  SessionsSection sessions;
  HttpSection http;
  AdminSection admin;
  TracingSection tracing;
  WireSection wire;
  SecuritySection security;
  std::vector<ModelSection> model;
  std::vector<ClientSection> client;
  std::vector<QueueSection> queue;

  bool operator==(const ServeConfig&) const = default;
};

// The model's table, or the defaults if it has none.
const ModelSection& model_section(const ServeConfig& config, std::string_view name);

}  // namespace volvox
