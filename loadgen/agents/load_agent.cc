#include "loadgen/agents/load_agent.h"

#include <thread>
#include <utility>

#include "base/clock.h"
#include "config/addresses.h"
#include "loadgen/agents/load_codec.h"
#include "loadgen/link/channel_link.h"

namespace volvox {
namespace {

constexpr Duration kRound = std::chrono::milliseconds(50);
constexpr Duration kTellState = std::chrono::milliseconds(500);
// For what was told to leave, when the agent ends.
constexpr Duration kLastWords = std::chrono::seconds(2);
// The start is this near.
constexpr Duration kSoon = std::chrono::minutes(1);
// Of what was kept and is on its way to the coordinator: a fraction of what the door lets a client leave
// unread.
constexpr std::size_t kAhead = std::size_t{16} << 20;
constexpr Duration kLookForRoom = std::chrono::milliseconds(2), kLongestWaitForRoom = std::chrono::minutes(1);
// Coordinators, of which one is obeyed at a time.
constexpr std::uint32_t kConnections = 16;

constexpr std::string_view kTcp = "tcp://";

bool is_private(const std::string& listen) {
  if (listen.starts_with("ipc://")) return true;
  if (!listen.starts_with(kTcp)) return false;
  const std::string_view address = std::string_view(listen).substr(kTcp.size());
  return is_loopback(address.substr(0, address.rfind(':')));
}

EdgeOptions edge_options(const AgentOptions& options) {
  EdgeOptions edge;
  edge.limits = load_limits();
  edge.keys = options.keys;
  edge.connections = edge.connections_per_address = edge.connections_per_key = kConnections;
  edge.queued_replies = 4096;
  edge.queued_bytes = kAhead;
  return edge;
}

}  // namespace

Result<std::unique_ptr<LoadAgent>> LoadAgent::open(AgentOptions options) {
  if (Status ok = check_limits(options.limits); !ok) return tl::unexpected(ok.error());
  if (!options.keys && !is_private(options.listen))
    return fail(ErrorCode::kPermissionDenied,
                "'" + options.listen +
                    "' is reached from beyond loopback, and an agent without keys obeys everybody: give it a "
                    "key by --agent-key, and those of its coordinators by --coordinators");
  std::unique_ptr<LoadAgent> agent(new LoadAgent(std::move(options)));
  if (Status ok = agent->listen(); !ok) return tl::unexpected(ok.error());
  return agent;
}

// Its thread waits for nobody any more: nobody serves the door.
LoadAgent::~LoadAgent() {
  if (job_) job_->heeded->store(false);
}

Status LoadAgent::listen() {
  auto edge = EdgeSocket::open(edge_options(options_), *this);
  if (!edge) return tl::unexpected(edge.error());
  edge_ = std::move(*edge);
  if (Status ok = edge_->bind(options_.listen); !ok) return ok;
  return monitor_.listen(options_.metrics);
}

void LoadAgent::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    edge_->run_once(kRound);
    look_after_job(steady_now());
    count_at_door();
  }
  if (job_) job_->run->stop("the agent was stopped");
  while (job_) {
    edge_->run_once(kRound);
    look_after_job(steady_now());
  }
  const TimePoint until = steady_now() + kLastWords;
  while (edge_->unsent() > 0 && steady_now() < until) edge_->run_once(kRound);
}

void LoadAgent::look_after_job(TimePoint now) {
  if (!job_) return;
  AgentRun& run = *job_->run;
  if (const auto end = run.end()) {
    const JobState last = take_state();
    monitor_.metrics().end(*end);
    options_.say("the load is over: " + std::to_string(last.offered) + " requests, " +
                 std::to_string(last.completed) + " results");
    job_.reset();
    return;
  }
  if (now - job_->heard > options_.limits.patience)
    give_up_on_coordinator("nothing was heard of the coordinator");
  const auto started = run.started();
  if (started && now - *started > job_->longest) run.stop("it took longer than this agent allows");
  if (!started || now < *started || now - job_->told < kTellState) return;
  job_->told = now;
  tell(job_->owner, job_->number, take_state());
}

JobState LoadAgent::take_state() {
  const JobState state = job_->run->state();
  monitor_.metrics().set({state.offered, state.completed, state.failed});
  return state;
}

// Connections and messages that the socket turns away by itself.
void LoadAgent::count_at_door() {
  const EdgeStats stats = edge_->stats();
  const EdgeDoor door = edge_->door();
  monitor_.metrics().set_door(
      {stats.refused_clients + door.refused_full + door.refused_address + door.refused_key,
       stats.malformed + door.closed_oversized});
}

void LoadAgent::refuse(const ClientId& client, std::uint64_t number, AgentRefusal reason, Error error) {
  monitor_.metrics().refuse(reason);
  // Whoever sends nonsense can send much of it, and is no reason to fill a log.
  if (reason != AgentRefusal::kUnreadable) options_.say("refused: " + error.message);
  tell(client, number, JobRefused{std::move(error)});
}

void LoadAgent::on_request(const ClientId& client, std::span<const std::byte> header,
                           std::span<const std::byte> body) {
  const TimePoint received = steady_now();
  const auto number = decode_load_header(header);
  if (!number) return refuse(client, 0, AgentRefusal::kUnreadable, number.error());
  auto message = decode_load_message(body);
  if (!message) return refuse(client, *number, AgentRefusal::kUnreadable, message.error());
  obey(client, *number, std::move(*message), received);
}

void LoadAgent::obey(const ClientId& client, std::uint64_t number, LoadMessage message, TimePoint received) {
  const bool of_job = job_ && job_->owner == client && job_->number == number;
  if (of_job) job_->heard = received;
  if (const auto* question = std::get_if<ClockQuestion>(&message)) {
    tell(client, number,
         ClockAnswer{question->asked, received.time_since_epoch().count(),
                     steady_now().time_since_epoch().count()});
  } else if (auto* job = std::get_if<LoadJob>(&message)) {
    begin(client, number, std::move(*job), received);
  } else if (const auto* start = std::get_if<JobStart>(&message); start != nullptr && of_job) {
    const TimePoint at{Duration(start->at)};
    const bool soon = at > received - kSoon && at < received + kSoon;
    if (soon) return job_->run->start(at);
    refuse(client, number, AgentRefusal::kStart,
           {ErrorCode::kInvalidArgument, "a load starts within a minute, or not at all"});
    job_->run->stop("it was to start at another time");
  } else if (start != nullptr) {
    refuse(client, number, AgentRefusal::kStart,
           {ErrorCode::kUnavailable, "this agent does not have that load any more; begin it anew"});
  } else if (std::holds_alternative<JobStop>(message) && of_job) {
    job_->run->stop("the coordinator ended it");
  }
}

void LoadAgent::begin(const ClientId& client, std::uint64_t number, LoadJob job, TimePoint now) {
  if (job_)
    return refuse(client, number, AgentRefusal::kBusy,
                  {ErrorCode::kOverloaded, "this agent is busy with another load; try again later"});
  const std::string who(edge_->sender_name());
  const std::string what =
      "load of '" + job.endpoint + "'" + (who.empty() ? std::string() : " by '" + who + "'");
  if (Status ok = admit_job(job, options_.limits); !ok) {
    options_.say("refused a " + what);
    return refuse(client, number, AgentRefusal::kLimit, ok.error());
  }
  options_.say("a " + what + ": " + job.mix.models() + ", " + std::to_string(job.parts.size()) +
               " connections");
  const auto open_link = [keys = options_.target_keys](const LoadJob& of) {
    return ChannelLink::open(of.endpoint, of.mix, keys);
  };
  const auto heeded = std::make_shared<std::atomic<bool>>(true);
  const auto tell_owner = [this, client, number, heeded](const LoadMessage& message) {
    await_room(message, *heeded);
    tell(client, number, message);
  };
  monitor_.metrics().begin();
  job_ = Job{client, number, now, now, longest_run(job, options_.limits), heeded};
  job_->run = std::make_unique<AgentRun>(std::move(job), open_link, tell_owner);
}

void LoadAgent::give_up_on_coordinator(const std::string& why) {
  job_->heeded->store(false);
  job_->run->stop(why);
}

// On the load's thread: all that was kept, at once, would be more than the door lets a client leave unread.
void LoadAgent::await_room(const LoadMessage& message, std::atomic<bool>& heeded) const {
  if (!std::holds_alternative<JobRecords>(message)) return;
  const TimePoint until = steady_now() + kLongestWaitForRoom;
  while (heeded.load() && !(edge_->has_room(kAhead) && edge_->waiting_bytes() < kAhead)) {
    if (steady_now() > until) heeded.store(false);  // whoever reads nothing for so long
    std::this_thread::sleep_for(kLookForRoom);
  }
}

// Any thread. What cannot be encoded is told as such: nobody waits for it in vain.
void LoadAgent::tell(const ClientId& client, std::uint64_t number, const LoadMessage& message) {
  auto body = encode_load_message(message);
  if (!body) body = encode_load_message(JobRefused{body.error()});
  edge_->post_anyway({client, encode_load_header(number), std::move(*body)});
}

void LoadAgent::on_client_gone(const ClientId& client, ClientGone) {
  if (job_ && job_->owner == client) give_up_on_coordinator("the coordinator is gone");
}

void LoadAgent::on_client_refused(const RefusedClient& client) {
  options_.say("refused a coordinator" + (client.address.empty() ? std::string() : " at " + client.address) +
               ": " + client.reason);
}

void LoadAgent::on_keys_trouble(const std::string& trouble) {
  options_.say(trouble.empty() ? std::string("the coordinators' keys can be read again") : trouble);
}

}  // namespace volvox
