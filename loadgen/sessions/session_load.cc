#include "loadgen/sessions/session_load.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/client/channel_group.h"
#include "protocol/client/session_stream.h"
#include "shapes/random.h"

namespace volvox {
namespace {

constexpr Duration kLongestPoll = std::chrono::milliseconds(100);
constexpr Duration kAgain = std::chrono::milliseconds(20);  // after an error without advice

using Tokens = std::vector<std::int32_t>;
using Bytes = std::vector<std::vector<std::byte>>;  // of each output

Bytes outputs_of(const Reply& reply) {
  Bytes outputs;
  for (const WireTensor& tensor : reply.body.outputs) {
    outputs.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
  }
  return outputs;
}

// Outputs that have a row for each step end with those of the last part.
bool ends_with(const Bytes& whole, const Bytes& part) {
  return whole.size() == part.size() &&
         std::equal(whole.begin(), whole.end(), part.begin(), [](const auto& a, const auto& b) {
           return a.size() >= b.size() && std::equal(b.rbegin(), b.rend(), a.rbegin());
         });
}

// Whether the part that has this error may have been done all the same: its home has not been heard.
bool may_have_run(const Reply& error) {
  return error.local || error.header.undecided;
}

// One session and what its client keeps of it.
struct Session {
  SessionStream stream{0};
  Tokens so_far, part;               // answered; in flight, or to be sent (again)
  bool last = false, whole = false;  // the part ends the session; the whole input is under way
  bool doubtful = false;             // the part may have run although all its answers so far are errors
  Bytes output;                      // of the newest part
  std::uint32_t outstanding = 0;     // requests without an answer
  std::optional<Reply> good;
  Error error;
  Duration again{};
};

class SessionLoad {
 public:
  SessionLoad(const SessionLoadPlan& plan, const LengthSource& lengths, std::unique_ptr<ChannelGroup> channel,
              const std::stop_token& stop)
      : plan_(plan),
        lengths_(lengths),
        channel_(std::move(channel)),
        stop_(stop),
        random_(plan.seed),
        sessions_(plan.sessions) {
    channel_->on_bundle([this](BundleReply&& replies) {
      for (Reply& reply : replies.split()) settle(std::move(reply));
    });
  }

  SessionLoadReport run() {
    const TimePoint start = now();
    end_ = start + plan_.measured;
    // Spread, so that not all begin at once.
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      restart(sessions_[i]);
      rest(i, pause() * (i % 100) / 100);
      ++going_;
    }
    while (going_ > 0) {
      if (stop_.stop_requested() && now() < end_) end_early();
      step();
    }
    report_.seconds = std::chrono::duration<double>(now() - start).count();
    const ChannelStats stats = channel_->stats();
    report_.duplicates = stats.duplicates + stats.unknown;
    report_.resent = stats.resent;
    report_.late_answers = stats.late;
    return std::move(report_);
  }

 private:
  struct Flight {
    std::uint32_t session = 0;
    TimePoint sent{};
  };
  using Due = std::pair<TimePoint, std::uint32_t>;

  static TimePoint now() { return std::chrono::steady_clock::now(); }
  bool ending() const { return now() >= end_; }
  bool chance(double fraction) { return fraction > 0 && random_.unit() < fraction; }
  Duration pause() {
    const double times = plan_.random_pauses ? random_.exponential() : 1;
    return Duration(static_cast<Duration::rep>(static_cast<double>(plan_.pause.count()) * times));
  }

  void end_early() {
    end_ = now();
    std::vector<std::uint32_t> resting;
    for (; !due_.empty(); due_.pop()) resting.push_back(due_.top().second);
    for (const std::uint32_t index : resting) due_.push({woken(index), index});
  }

  // The end of the load wakes whoever rests, but not all at once.
  TimePoint woken(std::uint32_t index) const { return end_ + std::chrono::milliseconds(index % 1000); }
  void rest(std::uint32_t index, Duration span) {
    due_.push({std::min(now() + span, std::max(now(), woken(index))), index});
  }
  // After an error, for which there is time until those that have no answer are left.
  void rest_before_a_repeat(std::uint32_t index, Duration span) {
    due_.push({std::min(now() + span, end_ + plan_.timeout), index});
  }

  // Requests that were made at one time, as they go in one message.
  struct Bundle {
    struct Part {
      std::uint32_t session = 0;
      bool cancelled = false;
    };
    ClientBundle message;
    Tokens rows;
    std::vector<Part> parts;
  };

  void step() {
    while (!due_.empty() && due_.top().first <= now()) {
      const std::uint32_t index = due_.top().second;
      due_.pop();
      send(index);
    }
    send_bundle();
    Duration left = kLongestPoll;
    if (!due_.empty()) left = std::clamp<Duration>(due_.top().first - now(), Duration{0}, left);
    channel_->poll(left, [this](Reply&& reply) { settle(std::move(reply)); });
    send_bundle();
  }

  void send_bundle() {
    if (bundle_.parts.empty()) return;
    Bundle bundle = std::exchange(bundle_, {});
    bundle.message.header.model = plan_.model;
    bundle.message.header.model_version = plan_.model_version;
    if (!bundle.rows.empty())
      bundle.message.inputs = {wire_tensor(plan_.input, std::span(std::as_const(bundle.rows)))};
    const auto id = channel_->send(bundle.message);
    for (std::uint32_t part = 0; part < bundle.parts.size(); ++part) {
      const std::uint32_t index = bundle.parts[part].session;
      --sessions_[index].outstanding;
      if (!id) {
        not_sent(index, id.error());
        continue;
      }
      note_sent(index, *id + part);
      if (bundle.parts[part].cancelled) static_cast<void>(channel_->cancel_part(*id, part));
    }
  }

  // As send(), once this step is over; so many times in one message, for all of them are sent, or none is.
  // Only the first is cancelled. What waits here counts as outstanding.
  void put_into_bundle(std::uint32_t index, const ClientRequest& request, const Tokens& tokens,
                       std::uint32_t times, bool cancelled) {
    if (bundle_.parts.size() + times > WireLimits{}.max_bundle_parts) send_bundle();
    for (std::uint32_t i = 0; i < times; ++i) {
      bundle_.message.parts.add(request.header.session.value_or(WireSessionToken{}),
                                static_cast<std::uint32_t>(tokens.size()));
      bundle_.rows.insert(bundle_.rows.end(), tokens.begin(), tokens.end());
      bundle_.parts.push_back({index, cancelled && i == 0});
    }
    sessions_[index].outstanding += times;
  }

  void restart(Session& session) {
    session = {};
    session.stream = SessionStream::begin();
  }

  void make_part(Session& session) {
    session.doubtful = false;
    session.part.resize(lengths_.draw(random_));
    for (std::int32_t& token : session.part)
      token = static_cast<std::int32_t>(random_.below(plan_.vocabulary));
  }

  void send(std::uint32_t index) {
    Session& session = sessions_[index];
    if (session.whole) return send_whole(index);
    const bool fresh = !session.stream.token() && session.part.empty();
    if (fresh && ending()) {
      --going_;
      return;
    }
    if (session.part.empty()) make_part(session);
    session.last = session.stream.token() && (ending() || session.stream.parts() + 1 >= plan_.parts);
    ClientRequest request = chain_request(plan_.model, plan_.input, std::span(std::as_const(session.part)));
    request.header.model_version = plan_.model_version;
    session.stream.stamp(request, session.last);
    report_.begun += fresh ? 1 : 0;
    if (plan_.bundles) {
      const bool cancelled = chance(plan_.cancels), repeated = chance(plan_.repeats);
      report_.cancels += cancelled ? 1 : 0;
      report_.repeats += repeated ? 1 : 0;
      return put_into_bundle(index, request, session.part, repeated ? 2 : 1, cancelled);
    }
    const auto id = send(index, request);
    if (!id) return;
    if (chance(plan_.repeats) && send(index, request)) ++report_.repeats;
    if (chance(plan_.cancels)) {
      ++report_.cancels;
      static_cast<void>(channel_->cancel(*id));
    }
  }

  void send_whole(std::uint32_t index) {
    Session& session = sessions_[index];
    session.whole = true;
    ClientRequest request = chain_request(plan_.model, plan_.input, std::span(std::as_const(session.so_far)));
    request.header.model_version = plan_.model_version;
    plan_.bundles ? put_into_bundle(index, request, session.so_far, 1, false) : void(send(index, request));
  }

  std::optional<std::uint64_t> send(std::uint32_t index, const ClientRequest& request) {
    const auto id = channel_->send(request);
    if (!id) {
      not_sent(index, id.error());
      return std::nullopt;
    }
    note_sent(index, *id);
    return *id;
  }

  void not_sent(std::uint32_t index, const Error& error) {
    ++report_.errors[std::string(to_string(error.code))];
    if (sessions_[index].outstanding > 0 || gives_up()) return;
    rest_before_a_repeat(index, kAgain);
  }

  // Whether it is so long after the end that a session without an answer is left as it is.
  bool gives_up() {
    if (now() <= end_ + plan_.timeout) return false;
    --going_;
    return true;
  }

  void note_sent(std::uint32_t index, std::uint64_t id) {
    ++report_.sent;
    ++sessions_[index].outstanding;
    flights_[id] = {index, now()};
  }

  void settle(Reply&& reply) {
    const auto found = flights_.find(reply.header.request_id);
    if (found == flights_.end() || !reply.header.final) return;
    const Flight flight = found->second;
    flights_.erase(found);
    Session& session = sessions_[flight.session];
    --session.outstanding;
    if (const Status ok = reply.status(); ok) {
      ++report_.answered;
      if (!session.whole) report_.part.record(now() - flight.sent);
      if (session.good && outputs_of(*session.good) != outputs_of(reply)) ++report_.wrong;
      session.good = std::move(reply);
    } else {
      const bool silent = reply.local && ok.error().code == ErrorCode::kDeadlineExceeded;
      if (silent) ++report_.lost;
      ++report_.errors[std::string(to_string(ok.error().code))];
      session.error = ok.error();
      session.doubtful = session.doubtful || may_have_run(reply);
      session.again = wire_span(reply.header.retry_after_us);
    }
    if (session.outstanding == 0) go_on(flight.session);
  }

  // Everything that the session has sent is answered.
  void go_on(std::uint32_t index) {
    Session& session = sessions_[index];
    const auto good = std::exchange(session.good, std::nullopt);
    if (!good) return repeat(index);
    if (session.whole) {
      ++report_.verified;
      if (!ends_with(outputs_of(*good), session.output)) ++report_.wrong;
      return begin_another(index);
    }
    session.stream.take(*good);
    session.output = outputs_of(*good);
    session.so_far.insert(session.so_far.end(), session.part.begin(), session.part.end());
    session.part.clear();
    if (session.last) {
      ++report_.ended;
      return send_whole(index);
    }
    if (chance(plan_.abandons)) {
      ++report_.abandoned;
      return begin_another(index);
    }
    rest(index, pause());
  }

  void repeat(std::uint32_t index) {
    Session& session = sessions_[index];
    const ErrorCode code = session.error.code;
    // Nothing is wrong with a part, unless it comes too late: it was done, and its answer is not kept any
    // more.
    const bool invalid = code == ErrorCode::kInvalidArgument;
    if (invalid && !session.doubtful) ++report_.wrong;
    if (code == ErrorCode::kSessionExpired || code == ErrorCode::kSessionLost || invalid) {
      ++report_.over;
      return begin_another(index);
    }
    if (gives_up()) return;
    // It has left no trace: whatever its content was, something else may stand in its place.
    if (!session.whole && !plan_.same_parts && !session.doubtful) {
      ++report_.replaced;
      make_part(session);
    }
    rest_before_a_repeat(index, std::max(kAgain, session.again));
  }

  void begin_another(std::uint32_t index) {
    restart(sessions_[index]);
    rest(index, pause());
  }

  const SessionLoadPlan& plan_;
  const LengthSource& lengths_;
  std::unique_ptr<ChannelGroup> channel_;
  std::stop_token stop_;
  SeededRandom random_;
  TimePoint end_{};
  std::vector<Session> sessions_;
  std::size_t going_ = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::unordered_map<std::uint64_t, Flight> flights_;
  Bundle bundle_;  // of what is to be sent next
  SessionLoadReport report_;
};

Status check_plan(const SessionLoadPlan& plan) {
  if (plan.sessions == 0) return invalid("a load of sessions needs at least one");
  if (plan.parts < 2) return invalid("a session has at least 2 parts: one begins it, one ends it");
  if (plan.vocabulary == 0) return invalid("the vocabulary is empty");
  return {};
}

}  // namespace

Result<SessionLoadReport> run_session_load(const SessionLoadPlan& plan, const LengthSource& lengths,
                                           const std::stop_token& stop) {
  if (const Status ok = check_plan(plan); !ok) return tl::unexpected(ok.error());
  ChannelOptions options;
  options.endpoint = plan.endpoint;
  options.keys = plan.keys;
  options.default_timeout = plan.timeout;
  options.send_queue = 1 << 16;
  auto channel = ChannelGroup::connect(options);
  if (!channel) return tl::unexpected(channel.error());
  return SessionLoad(plan, lengths, std::move(*channel), stop).run();
}

}  // namespace volvox
