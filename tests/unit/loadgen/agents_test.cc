#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "loadgen/agents/agent_link.h"
#include "loadgen/agents/coordinator.h"
#include "loadgen/agents/load_agent.h"
#include "loadgen/agents/load_codec.h"
#include "protocol/sockets/zmq_socket.h"
#include "tests/unit/loadgen/sum_server.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What an agent said, for whoever waits for it.
class Said {
 public:
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    more_.notify_all();
  }
  // Whether so many lines with this in them come in time.
  bool wait_for(const std::string& part, int lines = 1) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, seconds(20), [&] {
      return std::ranges::count_if(lines_, [&](const std::string& line) {
               return line.find(part) != std::string::npos;
             }) >= lines;
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> lines_;
};

// An agent on a thread of its own.
class RunningAgent {
 public:
  explicit RunningAgent(AgentOptions options) {
    options.listen = "tcp://127.0.0.1:*";
    options.say = [this](const std::string& line) { said.add(line); };
    auto agent = LoadAgent::open(std::move(options));
    EXPECT_TRUE(agent.has_value()) << agent.error().message;
    agent_ = std::move(*agent);
    thread_ = std::jthread([this](const std::stop_token& stop) { agent_->run(stop); });
  }
  void stop() { thread_.request_stop(); }
  const std::string& endpoint() const { return agent_->endpoint(); }
  // What its metrics say of one thing; of one that has labels, the value of its label.
  double counted(const std::string& name, const std::string& label = {}) const {
    for (const prometheus::MetricFamily& family : agent_->monitor().families()) {
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (family.name == name && (metric.label.empty() ? label.empty() : metric.label[0].value == label))
          return family.type == prometheus::MetricType::Gauge ? metric.gauge.value : metric.counter.value;
      }
    }
    ADD_FAILURE() << "there is no " << name << " " << label;
    return -1;
  }

  Said said;

 private:
  std::unique_ptr<LoadAgent> agent_;
  std::jthread thread_;
};

class Agents : public testing::Test {
 protected:
  Agents() {
    plan_.rate = 1000;
    plan_.requests = 600;
    plan_.timeout = seconds(5);
    limits_.targets = {server_.endpoint()};
    options_.target = server_.endpoint();
  }

  void make_agents(int count, const std::optional<EdgeKeys>& keys = {}) {
    for (int i = 0; i < count; ++i) {
      agents_.push_back(std::make_unique<RunningAgent>(AgentOptions{.keys = keys, .limits = limits_}));
      options_.agents.push_back({agents_.back()->endpoint()});
    }
  }

  // In place of the open one: for as long as the test says, or until all requests have been sent.
  void close_loop(std::uint32_t concurrency) {
    plan_.arrivals = Arrivals::kClosed;
    plan_.rate = 0;
    plan_.concurrency = concurrency;
  }

  Result<AgentsOutcome> run(const std::stop_token& stop = {}, const AgentsProgress& on_progress = {}) {
    return run_agents(options_, plan_, mix_, stop, on_progress);
  }

  SumServer server_;
  AgentLimits limits_;
  LoadPlan plan_;
  RequestMix mix_{1, {{{.model = "sums", .input = "tokens"}, {3, LengthSource::built_in(), 1000}}}};
  std::vector<std::unique_ptr<RunningAgent>> agents_;
  CoordinatorOptions options_;
};

TEST_F(Agents, OfferOneLoadTogether) {
  make_agents(3);
  server_.refuse_every = 10;
  plan_.samples = 1000;
  plan_.timeline = true;
  const auto outcome = run();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const LoadTally& tally = outcome->outcome.tally;
  EXPECT_EQ(tally.offered, 600U);
  EXPECT_EQ(tally.completed, 540U);
  EXPECT_EQ(tally.errors, (std::map<std::string, std::uint64_t>{{"OVERLOADED", 60}}));
  EXPECT_EQ(tally.latency.count(), 540U);
  EXPECT_EQ(outcome->outcome.timeline.size(), 600U);
  EXPECT_EQ(outcome->outcome.by_class.at(0).outcomes.at(kAnswered), 540U);
  SumVerifier verifier;
  const auto verified = verify(outcome->outcome.samples, mix_, verifier, {});
  EXPECT_EQ(verified->verified, 540U);
  EXPECT_EQ(verified->wrong, 0U) << verified->first_wrong;
  ASSERT_EQ(outcome->agents.size(), 3U);
  for (const AgentReport& agent : outcome->agents) {
    EXPECT_EQ(agent.state, AgentReport::State::kDone) << agent.why;
    EXPECT_NEAR(agent.share, 1.0 / 3, 1e-9);
    EXPECT_EQ(agent.offered, 200U);
    EXPECT_LE(std::abs(agent.clock.ns), agent.clock.bound_ns) << "it is the same clock";
    EXPECT_GT(agent.clock.bound_ns, 0);
  }
  EXPECT_EQ(missing_share(outcome->agents), 0);
  double completed = 0, failed = 0;
  for (const auto& agent : agents_) {
    ASSERT_TRUE(agent->said.wait_for("the load is over"));
    EXPECT_EQ(agent->counted("volvox_agent_loads_total", "done"), 1);
    EXPECT_EQ(agent->counted("volvox_agent_busy"), 0);
    EXPECT_EQ(agent->counted("volvox_agent_requests_offered_total"), 200);
    completed += agent->counted("volvox_agent_requests_total", "completed");
    failed += agent->counted("volvox_agent_requests_total", "failed");
  }
  EXPECT_EQ(completed, 540);
  EXPECT_EQ(failed, 60);
}

TEST_F(Agents, CountTheRequestsOfOneLoadAfterTheOther) {
  make_agents(1);
  for (const std::uint64_t requests : {40, 10}) {
    plan_.requests = requests;
    ASSERT_TRUE(run().has_value());
  }
  ASSERT_TRUE(agents_[0]->said.wait_for("the load is over", 2));
  EXPECT_EQ(agents_[0]->counted("volvox_agent_loads_total", "done"), 2);
  EXPECT_EQ(agents_[0]->counted("volvox_agent_requests_offered_total"), 50);
  EXPECT_EQ(agents_[0]->counted("volvox_agent_requests_total", "completed"), 50);
}

TEST_F(Agents, CountWhatTheyCannotRead) {
  make_agents(1);
  ZmqContext context;
  ZmqSocket socket(context, ZMQ_DEALER);
  ASSERT_TRUE(socket.connect(agents_[0]->endpoint()).has_value());
  const std::string words = "no load";
  const auto bytes = std::as_bytes(std::span(words));
  ZmqFrame header(bytes), body(bytes), alone(bytes);
  ASSERT_EQ(header.send(socket.handle(), true), 0);
  ASSERT_EQ(body.send(socket.handle(), false), 0);
  ASSERT_EQ(alone.send(socket.handle(), false), 0) << "which is no message: it has one frame";
  const auto until = std::chrono::steady_clock::now() + seconds(20);
  while (agents_[0]->counted("volvox_agent_refused_total", "unreadable") < 2 &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(agents_[0]->counted("volvox_agent_refused_total", "unreadable"), 2);
}

TEST_F(Agents, MergedPercentilesAreThoseOfAllRequests) {
  make_agents(2);
  plan_.timeline = true;
  const auto outcome = run();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  std::vector<double> took;
  for (const TimelineEntry& entry : outcome->outcome.timeline)
    took.push_back(static_cast<double>(entry.took.count()));
  std::sort(took.begin(), took.end());
  ASSERT_EQ(took.size(), 600U);
  for (const auto& [fraction, rank] : {std::pair(0.5, 300), {0.9, 540}, {0.99, 594}}) {
    const double exact = took[static_cast<std::size_t>(rank) - 1];
    EXPECT_NEAR(static_cast<double>(outcome->outcome.tally.latency.percentile(fraction).count()), exact,
                exact * 0.01);
  }
}

TEST_F(Agents, KeepAClosedLoopBelowTheirHighestRate) {
  limits_.highest_rate = 100;
  make_agents(2);
  close_loop(8);
  plan_.requests = 0;
  plan_.measured = seconds(2);
  const auto outcome = run();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_LE(outcome->outcome.tally.offered, 2 * (2 * 100U + 15));
  EXPECT_GE(outcome->outcome.tally.offered, 300U);
}

TEST_F(Agents, RefuseWhatTheyMayNotDoAndNothingIsSent) {
  make_agents(1);
  limits_.targets = {"tcp://127.0.0.1:1"};
  make_agents(1);
  const auto outcome = run();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(outcome.error().message.find(agents_[1]->endpoint()), std::string::npos)
      << outcome.error().message;
  EXPECT_EQ(server_.last_priority, -1) << "no request came";
  EXPECT_EQ(agents_[1]->counted("volvox_agent_refused_total", "limit"), 1);
  options_.agents.pop_back();
  EXPECT_TRUE(run().has_value()) << "and the other one is free again";
}

TEST_F(Agents, AServerThatIsNotThereIsSaidBeforeTheStart) {
  limits_.targets = {"tcp://127.0.0.1:*"};
  make_agents(1);
  options_.target = "tcp://127.0.0.1:1";
  const auto outcome = run();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(agents_[0]->said.wait_for("the load is over"));
  EXPECT_EQ(agents_[0]->counted("volvox_agent_loads_total", "unbegun"), 1);
}

TEST_F(Agents, APlanThatMakesNoSenseIsRefused) {
  EXPECT_FALSE(run().has_value()) << "without agents";
  make_agents(2);
  plan_.requests = 1;
  EXPECT_EQ(run().error().code, ErrorCode::kInvalidArgument) << "fewer requests than agents";
  plan_.requests = 600;
  options_.agents[1] = options_.agents[0];
  EXPECT_EQ(run().error().code, ErrorCode::kInvalidArgument) << "one named twice";
}

TEST_F(Agents, AreStoppedTogether) {
  make_agents(3);
  plan_.requests = 0;
  plan_.measured = seconds(600);
  std::stop_source stop;
  int told = 0;
  const auto outcome = run(stop.get_token(), [&](const ProgressReading& reading, const auto& agents) {
    EXPECT_EQ(agents.size(), 3U);
    if (reading.completed > 100 && ++told > 0) stop.request_stop();
  });
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_GT(told, 0);
  EXPECT_GT(outcome->outcome.tally.completed, 100U);
  EXPECT_EQ(outcome->outcome.tally.failed(), 0U);
  for (const AgentReport& agent : outcome->agents)
    EXPECT_EQ(agent.state, AgentReport::State::kDone) << agent.why;
}

TEST_F(Agents, OneThatItsOperatorStopsIsCut) {
  make_agents(2);
  plan_.requests = 0;
  plan_.measured = seconds(3);
  const auto outcome = run({}, [&](const ProgressReading&, const auto&) { agents_[1]->stop(); });
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->agents[0].state, AgentReport::State::kDone);
  EXPECT_EQ(outcome->agents[1].state, AgentReport::State::kCut);
  EXPECT_EQ(outcome->agents[1].why, "the agent was stopped");
  ASSERT_TRUE(agents_[1]->said.wait_for("the load is over"));
  EXPECT_EQ(agents_[1]->counted("volvox_agent_loads_total", "cut"), 1);
  EXPECT_LT(outcome->agents[1].offered, outcome->agents[0].offered);
  EXPECT_EQ(outcome->outcome.tally.offered, outcome->agents[0].offered + outcome->agents[1].offered);
}

// Does as an agent does until the start; then it says these words, and nothing more.
class ScriptedAgent : public EdgeHandler {
 public:
  explicit ScriptedAgent(std::vector<LoadMessage> words = {}) : words_(std::move(words)) {
    edge_ = std::move(*EdgeSocket::open({.limits = load_limits()}, *this));
    EXPECT_TRUE(edge_->bind("tcp://127.0.0.1:*").has_value());
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) edge_->run_once(milliseconds(20));
    });
  }
  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte> body) override {
    const auto message = decode_load_message(body);
    if (!message || started_) return;
    started_ = std::holds_alternative<JobStart>(*message);
    const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    const auto tell = [&](const LoadMessage& answer) {
      edge_->post_anyway(
          {client, encode_load_header(*decode_load_header(header)), *encode_load_message(answer)});
    };
    if (const auto* question = std::get_if<ClockQuestion>(&*message))
      tell(ClockAnswer{question->asked, now, now});
    if (std::holds_alternative<LoadJob>(*message)) tell(JobReady{});
    if (!started_) return;
    for (const LoadMessage& word : words_) tell(word);
  }
  void on_client_gone(const ClientId&, ClientGone) override {}
  const std::string& endpoint() const { return edge_->endpoint(); }

 private:
  const std::vector<LoadMessage> words_;
  bool started_ = false;
  std::unique_ptr<EdgeSocket> edge_;
  std::jthread thread_;
};

TEST_F(Agents, OneThatFallsSilentIsMissingAndTheOthersGoOn) {
  make_agents(1);
  ScriptedAgent silent;
  options_.agents.push_back({silent.endpoint()});
  options_.patience = seconds(1);
  const auto outcome = run();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->agents[0].state, AgentReport::State::kDone);
  EXPECT_EQ(outcome->agents[1].state, AgentReport::State::kMissing);
  EXPECT_EQ(outcome->agents[1].why, "nothing was heard of it");
  EXPECT_NEAR(missing_share(outcome->agents), 0.5, 1e-9);
  EXPECT_EQ(outcome->outcome.tally.offered, 300U) << "half of the load was the other's";
}

// Of a load whose requests were all answered.
JobResult result_of(std::uint64_t requests) {
  LoadTally tally;
  tally.offered = tally.completed = tally.on_time = requests;
  for (DurationHistogram* times : {&tally.latency, &tally.queue, &tally.compute, &tally.late}) {
    for (std::uint64_t i = 0; i < requests; ++i) times->record(milliseconds(1));
  }
  JobResult result;
  result.outcome.by_class.push_back(std::move(tally));
  return result;
}

JobRecords records_of(std::size_t samples, std::size_t entries) {
  const std::vector<std::uint64_t> values{7};
  const auto body = encode_reply_body(std::vector{wire_tensor("sum", std::span(values))}, load_limits());
  const AnswerSample sample{1, decode_reply_body(body->bytes(), load_limits()).value()};
  const TimelineEntry entry{TimePoint(milliseconds(1)), milliseconds(1), kAnswered};
  return {std::vector<AnswerSample>(samples, sample), Timeline(entries, entry)};
}

class LyingAgents : public Agents {
 protected:
  // What comes of a load whose only agent says this.
  AgentsOutcome told(std::vector<LoadMessage> words) {
    const ScriptedAgent agent(std::move(words));
    options_.agents.clear();
    options_.agents.push_back({agent.endpoint()});
    const auto outcome = run();
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return outcome.value();
  }
  void expect_missing(std::vector<LoadMessage> words, const std::string& why) {
    const AgentsOutcome outcome = told(std::move(words));
    EXPECT_EQ(outcome.agents[0].state, AgentReport::State::kMissing);
    EXPECT_EQ(outcome.agents[0].why, why);
    EXPECT_EQ(outcome.outcome.tally.offered, 0U);
    EXPECT_TRUE(outcome.outcome.samples.empty());
    EXPECT_TRUE(outcome.outcome.timeline.empty());
  }
};

TEST_F(LyingAgents, AreMissingWhenTheySendMoreThanTheyWereAskedFor) {
  const std::string why = "it tells more than it was asked for";
  plan_.samples = 2;
  expect_missing({records_of(3, 0), result_of(600)}, why);
  expect_missing({records_of(2, 0), records_of(1, 0), result_of(600)}, why);
  expect_missing({records_of(0, 1), result_of(600)}, why);
  plan_.timeline = true;
  const AgentsOutcome honest = told({records_of(2, 0), records_of(0, 600), result_of(600), records_of(1, 1)});
  EXPECT_EQ(honest.agents[0].state, AgentReport::State::kDone) << honest.agents[0].why;
  EXPECT_EQ(honest.outcome.samples.size(), 2U) << "what comes behind the result is not looked at";
  EXPECT_EQ(honest.outcome.timeline.size(), 600U);
}

TEST_F(LyingAgents, AreMissingWhenTheirNumbersDoNotAgree) {
  plan_.timeline = true;
  const auto refused = [&](auto change) {
    JobResult result = result_of(600);
    change(result.outcome);
    expect_missing({records_of(0, 600), std::move(result)}, "its numbers do not agree");
  };
  refused([](LoadOutcome& outcome) { outcome.by_class[0].offered = 599; });
  refused([](LoadOutcome& outcome) { outcome.by_class[0].errors["INTERNAL"] = 1; });
  refused([](LoadOutcome& outcome) { outcome.by_class[0].on_time = 601; });
  refused([](LoadOutcome& outcome) { outcome.by_class[0].warmup_completed = 1; });
  refused([](LoadOutcome& outcome) { outcome.by_class[0].latency.record(milliseconds(1)); });
  refused([](LoadOutcome& outcome) { outcome.by_class[0].compute = {}; });
  refused([](LoadOutcome& outcome) { outcome.apart = outcome.by_class[0]; });
  refused([](LoadOutcome& outcome) { outcome.by_class = result_of(599).outcome.by_class; });
}

LoadJob job_of(const LoadPlan& plan, const RequestMix& mix, const std::string& target) {
  return {target, mix, divide(plan)};
}

// The next message of a kind.
template <class Kind>
std::optional<Kind> next(AgentLink& link) {
  const auto until = std::chrono::steady_clock::now() + seconds(20);
  std::vector<LoadMessage> messages;
  while (std::chrono::steady_clock::now() < until) {
    messages.clear();
    if (!link.receive(messages)) return std::nullopt;
    for (LoadMessage& message : messages) {
      if (auto* found = std::get_if<Kind>(&message)) return std::move(*found);
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  return std::nullopt;
}

std::unique_ptr<AgentLink> dial(const auto& agent, std::uint64_t run) {
  auto link = AgentLink::open(agent.endpoint(), run, {});
  EXPECT_TRUE(link.has_value() && (*link)->await(seconds(5)).has_value());
  return std::move(*link);
}

TEST(AgentLink, WhoeverSaysMuchIsHeardALittleAtATime) {
  const ScriptedAgent agent(std::vector<LoadMessage>(1000, JobState{}));
  const auto link = dial(agent, 7);
  ASSERT_TRUE(link->send(JobStart{1}).has_value());
  std::this_thread::sleep_for(milliseconds(300));  // many words wait
  std::size_t most = 0, all = 0;
  for (const auto until = std::chrono::steady_clock::now() + seconds(20);
       all < 1000 && std::chrono::steady_clock::now() < until;) {
    std::vector<LoadMessage> messages;
    ASSERT_TRUE(link->receive(messages).has_value());
    most = std::max(most, messages.size());
    all += messages.size();
  }
  EXPECT_EQ(all, 1000U);
  EXPECT_LT(most, 20U);
}

TEST(AgentLink, WhatWasSaidBeforeTheConnectionBrokeIsHeard) {
  auto agent = std::make_unique<ScriptedAgent>(std::vector<LoadMessage>(30, JobState{}));
  const auto link = dial(*agent, 7);
  ASSERT_TRUE(link->send(JobStart{1}).has_value());
  std::vector<LoadMessage> messages;
  const auto until = std::chrono::steady_clock::now() + seconds(20);
  while (messages.empty() && std::chrono::steady_clock::now() < until)
    ASSERT_TRUE(link->receive(messages).has_value());
  agent.reset();
  std::this_thread::sleep_for(milliseconds(300));  // it is known to have gone
  while (link->receive(messages) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(messages.size(), 30U);
}

TEST_F(Agents, ALoadWhoseCoordinatorIsSilentIsStopped) {
  limits_.patience = milliseconds(500);
  make_agents(1);
  plan_.requests = 0;
  plan_.measured = seconds(600);
  const auto link = dial(*agents_[0], 7);
  ASSERT_TRUE(link->send(job_of(plan_, mix_, options_.target)).has_value());
  ASSERT_TRUE(next<JobReady>(*link).has_value());
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  ASSERT_TRUE(link->send(JobStart{now}).has_value());
  const auto result = next<JobResult>(*link);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->cut, "nothing was heard of the coordinator");
  EXPECT_TRUE(agents_[0]->said.wait_for("the load is over"));
  EXPECT_EQ(agents_[0]->counted("volvox_agent_loads_total", "cut"), 1);
  plan_ = {};
  plan_.rate = 100;
  plan_.requests = 10;
  EXPECT_TRUE(run().has_value()) << "and it takes another one";
}

TEST_F(Agents, ALoadAsLongAsTheyAllowIsWhole) {
  limits_.longest = seconds(1);
  make_agents(1);
  close_loop(2);
  plan_.requests = 0;
  plan_.warmup = milliseconds(500);
  plan_.measured = milliseconds(500);
  const auto outcome = run();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->agents[0].state, AgentReport::State::kDone) << outcome->agents[0].why;
}

TEST_F(Agents, ALoadWithoutAnEndIsCutAtTheLongest) {
  limits_.longest = seconds(1);
  make_agents(1);
  plan_.rate = 50;
  plan_.requests = 100'000;
  const auto outcome = run();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->agents[0].state, AgentReport::State::kCut);
}

TEST_F(Agents, AnswersToBeVerifiedAreMoreThanADoorLeavesUnread) {
  make_agents(1);
  server_.padding_floats = 1 << 18;  // a mebibyte
  plan_.requests = 100;
  plan_.samples = 100;
  close_loop(2);
  ASSERT_GT(plan_.samples << 20, EdgeOptions{}.slow_client_bytes);
  const auto outcome = run();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->agents[0].state, AgentReport::State::kDone) << outcome->agents[0].why;
  EXPECT_EQ(outcome->outcome.samples.size(), 100U);
}

TEST_F(Agents, SayThatTheyGaveUpALoadBeforeItBegan) {
  limits_.patience = milliseconds(300);
  make_agents(1);
  const auto link = dial(*agents_[0], 7);
  ASSERT_TRUE(link->send(job_of(plan_, mix_, options_.target)).has_value());
  ASSERT_TRUE(next<JobReady>(*link).has_value());
  const auto refused = next<JobRefused>(*link);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->why.message, "nothing was heard of the coordinator");
  ASSERT_TRUE(agents_[0]->said.wait_for("the load is over"));
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  ASSERT_TRUE(link->send(JobStart{now}).has_value());
  EXPECT_EQ(next<JobRefused>(*link)->why.code, ErrorCode::kUnavailable);
  EXPECT_EQ(server_.last_priority, -1) << "no request came";
}

TEST_F(Agents, OneLoadAtATime) {
  make_agents(1);
  const auto first = dial(*agents_[0], 7);
  ASSERT_TRUE(first->send(job_of(plan_, mix_, options_.target)).has_value());
  ASSERT_TRUE(next<JobReady>(*first).has_value());
  const auto outcome = run();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(agents_[0]->counted("volvox_agent_refused_total", "busy"), 1);
  EXPECT_EQ(agents_[0]->counted("volvox_agent_busy"), 1);
}

TEST_F(Agents, AStartAtAnyOtherTimeIsNone) {
  make_agents(1);
  for (const std::int64_t at :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    const auto link = dial(*agents_[0], 7);
    ASSERT_TRUE(link->send(job_of(plan_, mix_, options_.target)).has_value());
    ASSERT_TRUE(next<JobReady>(*link).has_value());
    ASSERT_TRUE(link->send(JobStart{at}).has_value());
    const auto refused = next<JobRefused>(*link);
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->why.code, ErrorCode::kInvalidArgument);
    ASSERT_TRUE(agents_[0]->said.wait_for("the load is over"));
  }
  EXPECT_EQ(agents_[0]->counted("volvox_agent_refused_total", "start"), 2);
  EXPECT_EQ(server_.last_priority, -1) << "no request came";
}

// Keys as files, as they are given to the programs.
class AgentsWithKeys : public Agents {
 protected:
  AgentsWithKeys() {
    folder_ = std::filesystem::temp_directory_path() / ("agents_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    EXPECT_TRUE(write_public_key(folder_ / "known.key", known_).has_value());
    make_agents(2, EdgeKeys{agent_, CurveClients::in_folder(folder_).value()});
  }
  ~AgentsWithKeys() override { std::filesystem::remove_all(folder_); }

  ErrorCode code_with(const std::optional<ChannelKeys>& keys) {
    for (AgentAddress& agent : options_.agents) agent.keys = keys;
    const auto outcome = run();
    return outcome ? ErrorCode{} : outcome.error().code;
  }

  const CurveKeys agent_ = new_curve_keys().value(), known_ = new_curve_keys().value();
  std::filesystem::path folder_;
};

TEST_F(AgentsWithKeys, ObeyOnlyThoseTheyKnow) {
  EXPECT_EQ(code_with(ChannelKeys{agent_.public_key, new_curve_keys().value()}), ErrorCode::kUnauthenticated);
  EXPECT_EQ(code_with(std::nullopt), ErrorCode::kUnauthenticated) << "without keys";
  EXPECT_EQ(code_with(ChannelKeys{new_curve_keys()->public_key, known_}), ErrorCode::kUnauthenticated)
      << "and a coordinator obeys only the agents that it knows";
  EXPECT_EQ(server_.last_priority, -1) << "no request came";
  EXPECT_TRUE(agents_[0]->said.wait_for("refused a coordinator"));
  EXPECT_GE(agents_[0]->counted("volvox_agent_refused_total", "connection"), 1);
  EXPECT_EQ(code_with(ChannelKeys{agent_.public_key, known_}), ErrorCode{});
  EXPECT_TRUE(agents_[0]->said.wait_for("by 'known'"));
}

}  // namespace
}  // namespace volvox
