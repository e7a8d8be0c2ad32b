#include "tests/unit/simulation/bench_fixture.h"

namespace volvox {

void Bench::expect_to_run_without_a_gpu(const std::string& kind) {
  const auto json =
      report(std::string("engine --device null --precision bfloat16 --hidden 64 --seconds 0.2 ") +
             "--warm-up 0.05 --repeat 1 --policy cellular:64 --backlog --kind " + kind);
  ASSERT_EQ(json["runs"].size(), 1U);
  const auto& run = json["runs"][0];
  for (const char* key : {"throughput_rps", "cpu_share"}) expect_measured(run[key], key);
  for (const char* part : {"engine", "waiting", "making", "others"})
    expect_measured(run["host_us_per_request"][part], part);
  EXPECT_GT(run["host_us_per_request"]["making"]["median"], 0) << "each request brings its inputs";
  EXPECT_GT(run["completed"], 0) << kind;
  EXPECT_EQ(run["failed"], 0);
  EXPECT_EQ(run["mismatched"], 0) << "there are no results to look at";
}

// docs/evaluation.md: of requests that come together.
void Bench::expect_no_more_batches_than_the_agenda(const std::string& kind) {
  const std::string model = (folder_ / kind).string();
  ASSERT_TRUE(write_new_model({.path = model}, kind, {.hidden = 8, .vocabulary = 50}));
  const auto json = report("batches --model " + model + " --requests 24");
  EXPECT_LE(json["cellular"], json["agenda"]) << kind << json;
  EXPECT_GE(json["cellular"], json["lower_bound"]) << kind << json;
}

}  // namespace volvox
