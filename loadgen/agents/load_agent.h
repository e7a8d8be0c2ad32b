#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/agents/agent_limits.h"
#include "loadgen/agents/agent_run.h"
#include "loadgen/agents/load_messages.h"
#include "monitoring/agent_monitor.h"
#include "monitoring/metrics/agent_metrics.h"
#include "protocol/client/channel.h"
#include "protocol/sockets/edge_socket.h"

namespace volvox {

struct AgentOptions {
  std::string listen = "tcp://127.0.0.1:7300";
  std::optional<EdgeKeys> keys{};  // its own, and who may command it; nothing: on loopback only
  AgentLimits limits{};
  std::optional<ChannelKeys> target_keys{};  // towards servers that encrypt
  AgentPage metrics{};                       // where they are shown
  std::string version{};                     // of this program, for the metrics
  // What happens, in words, for the operator; on the thread of run().
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

// One machine cannot offer what a cluster takes, and its own limits would be measured as the server's. An
// agent waits on its machine for a coordinator, whose part of a load it runs: one load at a time. It decides
// for itself what it may be used for (AgentLimits), and a load whose coordinator is not heard of is stopped:
// nobody has to come by to end it. One thread calls run(); endpoint(): any.
class LoadAgent final : public EdgeHandler {
 public:
  // PERMISSION_DENIED for an address that others reach where there are no keys.
  static Result<std::unique_ptr<LoadAgent>> open(AgentOptions options);
  ~LoadAgent() override;
  LoadAgent(const LoadAgent&) = delete;
  LoadAgent& operator=(const LoadAgent&) = delete;

  const std::string& endpoint() const { return edge_->endpoint(); }
  const AgentMonitor& monitor() const { return monitor_; }

  // Serves until it is stopped; a load that runs is stopped, too, and what came of it is told.
  void run(const std::stop_token& stop);

 private:
  // The load that it is busy with.
  struct Job {
    ClientId owner;
    std::uint64_t number;
    TimePoint heard{}, told{};                    // of the coordinator; the state was, last
    Duration longest{};                           // from its start on
    std::shared_ptr<std::atomic<bool>> heeded{};  // whether the coordinator still seems to listen
    std::unique_ptr<AgentRun> run{};
  };

  explicit LoadAgent(AgentOptions options) : options_(std::move(options)), monitor_(options_.version) {}
  Status listen();

  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte> body) override;
  void on_client_gone(const ClientId& client, ClientGone why) override;
  void on_client_refused(const RefusedClient& client) override;
  void on_keys_trouble(const std::string& trouble) override;

  void obey(const ClientId& client, std::uint64_t number, LoadMessage message, TimePoint received);
  void begin(const ClientId& client, std::uint64_t number, LoadJob job, TimePoint now);
  void look_after_job(TimePoint now);
  JobState take_state();
  void count_at_door();
  void refuse(const ClientId& client, std::uint64_t number, AgentRefusal reason, Error error);
  void tell(const ClientId& client, std::uint64_t number, const LoadMessage& message);
  void await_room(const LoadMessage& message, std::atomic<bool>& heeded) const;
  void give_up_on_coordinator(const std::string& why);

  const AgentOptions options_;
  AgentMonitor monitor_;
  std::unique_ptr<EdgeSocket> edge_;
  std::optional<Job> job_;  // its thread tells by the edge, and so ends before it
};

}  // namespace volvox
