#include "loadgen/agents/load_codec.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "loadgen/plan/plan.h"
#include "protocol/codec/capnp_message.h"
#include "protocol/codec/codec.h"
#include "protocol/load.capnp.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class Kind>
Kind travelled(const Kind& message) {
  const auto bytes = encode_load_message(message);
  if (!bytes) throw std::runtime_error(bytes.error().message);
  auto read = decode_load_message(bytes->bytes());
  if (!read) throw std::runtime_error(read.error().message);
  return std::get<Kind>(std::move(*read));
}

// A class of each shape that requests have.
std::vector<RequestClass> all_shapes() {
  const LengthSource table = LengthSource::from_table({3, 9, 27}, "a file (3 lines)").value();
  const TreeSource trees = TreeSource::from_table({{2, 2, -1}, {-1}, {1, 4, 3, 4, -1}},
                                                  LengthSource::fixed(1), 2, "trees (3 lines)")
                               .value();
  const LatticeSource lattices =
      LatticeSource::from_table({{5, {0, 3}, {2, 5}}, {4, {}, {}}}, LengthSource::fixed(1), "lattices")
          .value();
  const GraphSource graphs = GraphSource::make(TreeSource::random(table, 4),
                                               {{"leaf", true, false, false}, {"any", false, true, true}})
                                 .value();
  const GraphSource texts =
      GraphSource::make(TreeSource::random(table), {{.name = "character", .is_step = true},
                                                    {.name = "ahead", .is_inner = true},
                                                    {.name = "back", .is_inner = true},
                                                    {.name = "label", .is_inner = true, .keeps_none = true}})
          .value();
  const SequencesSource sequences{table, {"a", "b"}, {1, 0}};
  RequestTemplate common{.model = "m",
                         .model_version = 3,
                         .input = "tokens,more",
                         .priorities = {1, 2, 3},
                         .deadline = milliseconds(20),
                         .cancel_fraction = 0.25,
                         .cancel_after = milliseconds(3)};
  std::vector<RequestClass> classes;
  const auto add = [&](RequestSource::Shapes shapes) {
    classes.push_back({common, {classes.size() + 5, std::move(shapes), 100, {7, 9}}, 1.5});
  };
  add(LengthSource::built_in());
  add(table);
  add(trees);
  add(TreeSource::random(table, 3));
  add(lattices);
  add(LatticeSource::random(table));
  add(graphs);
  add(texts);
  add(sequences);
  add(SequencesSource{table, {"a", "b"}, {0, 1}, {4, 10, 28}});
  classes.push_back({common, {9, table, 100, {}, {2, 3}}, 1.5});
  return classes;
}

LoadJob example_job() {
  LoadPlan plan;
  plan.rate = 100;
  plan.connections = 3;
  plan.warmup = seconds(1);
  plan.measured = seconds(9);
  plan.requests = 50;
  plan.samples = 12;
  plan.timeline = true;
  return {"tcp://10.0.0.1:7100,tcp://10.0.0.2:7100", RequestMix(77, all_shapes()), divide(plan)};
}

// What an agent sends is what the coordinator would have sent, request by request.
TEST(LoadCodec, AJobMakesTheSameRequestsElsewhere) {
  const LoadJob job = example_job();
  const LoadJob read = travelled(job);
  EXPECT_EQ(read.endpoint, job.endpoint);
  EXPECT_EQ(read.mix.description(), job.mix.description());
  RequestContent here, there;
  std::vector<int> seen(job.mix.classes().size());
  for (std::uint64_t i = 0; i < 2000; ++i) {
    job.mix.make(i, here);
    read.mix.make(i, there);
    ASSERT_EQ(here, there) << i;
    ++seen[here.of_class];
  }
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_GT(seen[i], 100) << i;
  const RequestTemplate& common = read.mix.classes()[2].common;
  EXPECT_EQ(common.model, "m");
  EXPECT_EQ(common.model_version, 3U);
  EXPECT_EQ(common.input, "tokens,more");
  EXPECT_EQ(common.priorities.low, 3);
  EXPECT_EQ(common.deadline, milliseconds(20));
  EXPECT_EQ(common.cancel_fraction, 0.25);
  EXPECT_EQ(common.cancel_after, milliseconds(3));
}

TEST(LoadCodec, AJobKeepsItsSchedule) {
  const LoadJob job = example_job();
  const LoadJob read = travelled(job);
  ASSERT_EQ(read.parts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const ConnectionPlan &a = job.parts[i], &b = read.parts[i];
    EXPECT_EQ(std::tie(a.arrivals, a.rate, a.first, a.concurrency, a.first_index, a.index_step, a.seed),
              std::tie(b.arrivals, b.rate, b.first, b.concurrency, b.first_index, b.index_step, b.seed));
    EXPECT_EQ(std::tie(a.warmup, a.measured, a.requests, a.timeout, a.samples, a.timeline),
              std::tie(b.warmup, b.measured, b.requests, b.timeout, b.samples, b.timeline));
  }
}

TEST(LoadCodec, ACurveAndATraceTravel) {
  LoadJob job = example_job();
  const auto curve = std::make_shared<const RateCurve>(RateCurve::bursts(100, 1, 10, 4).value());
  for (ConnectionPlan& part : job.parts) {
    part.arrivals = Arrivals::kCurve;
    part.curve = curve;
  }
  const LoadJob read = travelled(job);
  for (const ConnectionPlan& part : read.parts) EXPECT_EQ(part.curve->points(), curve->points());
  for (ConnectionPlan& part : job.parts) part.arrivals = Arrivals::kTrace;
  const auto trace = std::make_shared<const Trace>(Trace{{milliseconds(3), 1, 4}, {milliseconds(5), 0, 9}});
  EXPECT_FALSE(decode_load_message(encode_load_message(job)->bytes()).has_value())
      << "a trace without entries";
  job.mix = RequestMix(1, all_shapes(), trace);
  EXPECT_EQ(*travelled(job).mix.trace(), *trace);
}

TEST(LoadCodec, AResultKeepsAllThatWasCounted) {
  LoadTally tally;
  std::uint64_t n = 1;
  for (std::uint64_t* count :
       {&tally.offered, &tally.completed, &tally.on_time, &tally.duplicates, &tally.resent,
        &tally.late_answers, &tally.warmup_offered, &tally.warmup_completed})
    *count = n++;
  tally.errors = {{"OVERLOADED", 4}, {kLost, 5}};
  tally.outcomes = {{kAnswered, 90}, {"OVERLOADED", 8}};
  tally.first_error = {{"OVERLOADED", "come back later"}};
  DurationHistogram* histograms[] = {&tally.latency, &tally.queue,       &tally.compute,
                                     &tally.refused, &tally.retry_after, &tally.late};
  for (DurationHistogram* histogram : histograms) histogram->record(milliseconds(n++));
  tally.gaps = SendGaps(7, {1.5, 2.5, 3.5, 4.5});
  JobResult result;
  result.outcome.by_class = {tally, LoadTally()};
  result.outcome.apart.duplicates = 6;
  result.outcome.seconds = 12.5;
  result.cut = "it was enough";
  const JobResult read = travelled(result);
  ASSERT_EQ(read.outcome.by_class.size(), 2U);
  const LoadTally& back = read.outcome.by_class[0];
  EXPECT_EQ(std::tie(back.offered, back.completed, back.on_time, back.duplicates, back.resent),
            std::make_tuple(1U, 2U, 3U, 4U, 5U));
  EXPECT_EQ(std::tie(back.late_answers, back.warmup_offered, back.warmup_completed),
            std::make_tuple(6U, 7U, 8U));
  EXPECT_EQ(std::tie(back.errors, back.outcomes, back.first_error),
            std::tie(tally.errors, tally.outcomes, tally.first_error));
  EXPECT_EQ(back.latency.image(), tally.latency.image());
  EXPECT_EQ(back.queue.image(), tally.queue.image());
  EXPECT_EQ(back.compute.image(), tally.compute.image());
  EXPECT_EQ(back.refused.image(), tally.refused.image());
  EXPECT_EQ(back.retry_after.image(), tally.retry_after.image());
  EXPECT_EQ(back.late.image(), tally.late.image());
  EXPECT_EQ(back.gaps.count(), 7U);
  EXPECT_EQ(back.gaps.sums(), tally.gaps.sums());
  EXPECT_EQ(read.outcome.apart.duplicates, 6U);
  EXPECT_EQ(read.outcome.seconds, 12.5);
  EXPECT_EQ(read.cut, "it was enough");
}

TEST(LoadCodec, RefusesMoreClassesThanALoadHas) {
  JobResult result;
  result.outcome.by_class.resize(kMostClasses);
  EXPECT_TRUE(decode_load_message(encode_load_message(result)->bytes()).has_value());
  result.outcome.by_class.resize(kMostClasses + 1);
  EXPECT_FALSE(decode_load_message(encode_load_message(result)->bytes()).has_value());
}

TEST(LoadCodec, RefusesGapsThatAreNoNumbers) {
  JobResult result;
  result.outcome.apart.gaps = SendGaps(1, {1, 1, std::numeric_limits<double>::quiet_NaN(), 1});
  EXPECT_FALSE(decode_load_message(encode_load_message(result)->bytes()).has_value());
}

TEST(LoadCodec, RecordsKeepAnswersAndTimes) {
  const std::vector<float> values{1, 2, 3};
  const auto body = encode_reply_body(std::vector{wire_tensor("h", std::span(values))}, load_limits());
  JobRecords records;
  records.samples.push_back({9, decode_reply_body(body->bytes(), load_limits()).value()});
  records.timeline = {{TimePoint(milliseconds(5)), milliseconds(7), "OK"},
                      {TimePoint(milliseconds(6)), milliseconds(8), "LOST"},
                      {TimePoint(milliseconds(7)), milliseconds(9), "OK"}};
  const JobRecords read = travelled(records);
  ASSERT_EQ(read.samples.size(), 1U);
  EXPECT_EQ(read.samples[0].index, 9U);
  EXPECT_EQ(read.samples[0].body.find("h")->values<float>().value()[2], 3.0F);
  ASSERT_EQ(read.timeline.size(), 3U);
  EXPECT_EQ(read.timeline[1].scheduled, TimePoint(milliseconds(6)));
  EXPECT_EQ(read.timeline[1].took, milliseconds(8));
  EXPECT_EQ(read.timeline[1].outcome, "LOST");
  EXPECT_EQ(read.timeline[2].outcome, "OK");
}

TEST(LoadCodec, RefusesEntriesAtNoTime) {
  for (const std::int64_t at : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    JobRecords records;
    records.timeline.push_back({TimePoint(Duration(at)), milliseconds(7), "OK"});
    EXPECT_FALSE(decode_load_message(encode_load_message(records)->bytes()).has_value()) << at;
  }
}

TEST(LoadCodec, SmallOnesTravelToo) {
  EXPECT_EQ(travelled(ClockQuestion{-5}).asked, -5);
  const ClockAnswer answer = travelled(ClockAnswer{1, 2, 3});
  EXPECT_EQ(std::tie(answer.asked, answer.received, answer.answered), std::make_tuple(1, 2, 3));
  EXPECT_EQ(travelled(JobStart{8}).at, 8);
  EXPECT_EQ(travelled(JobRefused{{ErrorCode::kOverloaded, "busy"}}).why,
            (Error{ErrorCode::kOverloaded, "busy"}));
  const JobState state = travelled(JobState{1, 2, 3, 4, 5});
  EXPECT_EQ(std::tie(state.offered, state.completed, state.failed, state.latency_ns, state.worst_late_ns),
            std::make_tuple(1U, 2U, 3U, 4U, 5U));
  travelled(JobReady{});
  travelled(JobStop{});
  travelled(LoadUnknown{});
}

TEST(LoadCodec, AnotherVersionIsRefusedByName) {
  EXPECT_EQ(decode_load_header(encode_load_header(5).bytes()), 5U);
  MessageWriter writer(8);
  writer.initRoot<wire::LoadHeader>().setProtocolVersion(9);
  const auto read = decode_load_header(writer.finish().bytes());
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_NE(read.error().message.find("version 9"), std::string::npos) << read.error().message;
}

// Whatever comes is read or refused, and what is read as a job can be run.
TEST(LoadCodec, DamagedMessagesDoNoHarm) {
  const auto good = encode_load_message(example_job());
  ASSERT_TRUE(good.has_value());
  SeededRandom random(3);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> bytes(good->bytes().begin(), good->bytes().end());
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    const auto message = decode_load_message(bytes);
    const auto* job = message ? std::get_if<LoadJob>(&*message) : nullptr;
    if (job == nullptr) continue;
    ++read;
    EXPECT_TRUE(check_mix(job->mix).has_value());
    EXPECT_TRUE(check_parts(job->parts).has_value());
    RequestContent content;
    for (std::uint64_t k = 0; k < 5; ++k) job->mix.make(k, content);
  }
  EXPECT_GT(read, 100);
}

TEST(LoadCodec, WhatCannotBeRunIsNoJob) {
  const auto refused = [](auto change) {
    LoadJob job = example_job();
    change(job);
    const auto bytes = encode_load_message(job);
    const auto read = decode_load_message(bytes.value().bytes());
    return !read && read.error().code == ErrorCode::kInvalidArgument;
  };
  const auto with_class = [&](auto change) {
    return refused([&](LoadJob& job) {
      std::vector<RequestClass> classes = job.mix.classes();
      change(classes[0]);
      job.mix = RequestMix(1, std::move(classes));
    });
  };
  EXPECT_FALSE(refused([](LoadJob&) {}));
  EXPECT_TRUE(refused([](LoadJob& job) { job.parts.clear(); }));
  EXPECT_TRUE(refused([](LoadJob& job) { job.endpoint.clear(); }));
  EXPECT_TRUE(refused([](LoadJob& job) { job.endpoint = std::string(5000, 'x'); }));
  EXPECT_TRUE(refused([](LoadJob& job) { job.parts[0].rate = 0; }));
  EXPECT_TRUE(refused([](LoadJob& job) { job.parts[0].measured = Duration::max(); }));
  EXPECT_TRUE(refused([](LoadJob& job) { job.parts[0].warmup = Duration(-1); }));
  EXPECT_TRUE(refused([](LoadJob& job) { job.mix = RequestMix(1, {}); }));
  EXPECT_TRUE(with_class([](RequestClass& one) { one.common.model = "two\nlines"; }));
  EXPECT_TRUE(with_class([](RequestClass& one) { one.common.input = std::string(200, 'i'); }));
  EXPECT_TRUE(with_class([](RequestClass& one) { one.common.priorities = {0, 0, 0}; }));
  EXPECT_TRUE(with_class([](RequestClass& one) { one.source = {1, LengthSource::built_in(), 0}; }));
  EXPECT_TRUE(with_class([](RequestClass& one) { one.source = {1, LengthSource::built_in(), 9, {0}}; }));
  EXPECT_TRUE(with_class([](RequestClass& one) {
    one.source = {1, SequencesSource{LengthSource::built_in(), {"a"}, {1}}, 9};
  }));
  EXPECT_TRUE(with_class([](RequestClass& one) {
    one.source = {1, SequencesSource{LengthSource::built_in(), {"a"}, {}}, 9};
  }));
  EXPECT_TRUE(with_class([](RequestClass& one) {
    one.source = {1, LengthSource::fixed(1U << 20), 9, {}, {1U << 24}};
  })) << "requests of 64 TiB";
  EXPECT_TRUE(refused([](LoadJob& job) {
    const RequestClass numbers{{.model = "m"}, {1, LengthSource::fixed(1), 9, {}, {1U << 12}}};
    job.mix = RequestMix(1, {numbers}, std::make_shared<const Trace>(Trace{{milliseconds(1), 0, 1U << 20}}));
  })) << "by a trace";
  const auto with_partners = [&](std::vector<std::string> names, std::vector<std::uint32_t> partners) {
    return with_class([&](RequestClass& one) {
      const LengthSource table = LengthSource::from_table({3, 9}, "a file").value();
      one.source = {1, SequencesSource{table, names, {0}, partners}, 9};
    });
  };
  EXPECT_FALSE(with_partners({"a", "b"}, {1, 2}));
  EXPECT_TRUE(with_partners({"a", "b"}, {1}));
  EXPECT_TRUE(with_partners({"a", "b"}, {1, 2, 3}));
  EXPECT_TRUE(with_partners({"a", "b"}, {1, 0}));
  EXPECT_TRUE(with_partners({"a"}, {1, 2}));
  EXPECT_TRUE(with_partners({"a", "b", "c"}, {1, 2}));
}

}  // namespace
}  // namespace volvox
