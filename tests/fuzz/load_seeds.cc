#include "tests/fuzz/load_seeds.h"

#include "loadgen/agents/load_codec.h"
#include "loadgen/plan/plan.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

std::string text(const WireBuffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

LoadJob job() {
  const LengthSource table = *LengthSource::from_table({3, 9}, "a file");
  std::vector<RequestClass> classes;
  const auto add = [&](RequestSource::Shapes shapes) {
    classes.push_back({{.model = "m", .input = "a,b"}, {classes.size(), std::move(shapes), 100, {7}}});
  };
  add(table);
  add(*TreeSource::from_table({{2, 2, -1}, {-1}}, table, 2, "trees"));
  add(*LatticeSource::from_table({{5, {0, 3}, {2, 5}}}, table, "lattices"));
  add(*GraphSource::make(TreeSource::random(table, 4),
                         {{"leaf", true, false, false}, {"any", false, true, true}}));
  add(*GraphSource::make(TreeSource::random(table),
                         {{.name = "character", .is_step = true},
                          {.name = "ahead", .is_inner = true},
                          {.name = "back", .is_inner = true},
                          {.name = "label", .is_inner = true, .keeps_none = true}}));
  add(SequencesSource{table, {"a", "b"}, {1, 0}});
  add(SequencesSource{table, {"a", "b"}, {0, 0}, {4, 10}});
  classes.push_back({{.model = "rows", .input = "x"}, {9, table, 100, {}, {2, 3}}});
  LoadPlan plan;
  plan.rate = 100;
  plan.connections = 2;
  plan.requests = 50;
  return {"tcp://10.0.0.1:7100", RequestMix(7, std::move(classes)), divide(plan)};
}

JobResult result() {
  LoadTally tally;
  tally.outcomes = {{kAnswered, 3}};
  tally.first_error = {{kLost, "no reply"}};
  tally.latency.record(std::chrono::milliseconds(3));
  JobResult result;
  result.outcome.by_class = {tally};
  return result;
}

}  // namespace

std::vector<std::string> load_seeds() {
  JobRecords records;
  records.timeline = {{TimePoint(Duration(5)), Duration(7), "OK"}};
  std::vector<std::string> seeds;
  for (const LoadMessage& message :
       {LoadMessage(ClockQuestion{1}), LoadMessage(ClockAnswer{1, 2, 3}), LoadMessage(job()),
        LoadMessage(JobReady{}), LoadMessage(JobRefused{{ErrorCode::kOverloaded, "busy"}}),
        LoadMessage(JobStart{9}), LoadMessage(JobStop{}), LoadMessage(JobState{1, 2, 3, 4, 5}),
        LoadMessage(records), LoadMessage(result())})
    seeds.push_back(join(text(encode_load_header(5)), text(*encode_load_message(message))));
  return seeds;
}

}  // namespace volvox::fuzz
