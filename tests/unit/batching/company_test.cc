#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

using Tags = std::vector<std::uint64_t>;

Driver one_at_a_time(std::uint32_t max_batch) {
  const SchedulerConfig config = scheduler_config(max_batch, 1, 1, {4096, 4096, 4096});
  return {config, make_cellular_policy(config), max_batch};
}

// Who came into each task and who left after it, once each.
std::pair<Tags, Tags> company(Driver& driver, TaskSeq seq) {
  TaskCompany company = driver.scheduler().company(0, seq);
  for (Tags* tags : {&company.joined, &company.left}) {
    std::sort(tags->begin(), tags->end());
    tags->erase(std::unique(tags->begin(), tags->end()), tags->end());
  }
  return {company.joined, company.left};
}

TEST(TaskCompany, TellsWhoJoinsATaskAndWhoLeavesAfterIt) {
  Driver driver = one_at_a_time(2);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    Request request = lanes_request(tag, chain_plan(), tag == 1 ? 1 : 3);
    request.traced = true;
    driver.admit(std::move(request));
  }
  std::vector<std::pair<Tags, Tags>> seen;
  for (TaskSeq seq = 1; !driver.scheduler().idle() && seq < 10; ++seq) {
    driver.schedule(0);
    seen.push_back(company(driver, seq));
    driver.complete(0, driver.in_flight(0));
  }
  const std::vector<std::pair<Tags, Tags>> expected{{{1, 2}, {1}}, {{3}, {}}, {{}, {2}}, {{}, {3}}};
  EXPECT_EQ(seen, expected);
  driver.check();
}

TEST(TaskCompany, LeavesOutWhomNobodyTraces) {
  Driver driver = one_at_a_time(4);
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    Request request = lanes_request(tag, chain_plan(), 1);
    request.traced = tag == 3;
    driver.admit(std::move(request));
  }
  driver.schedule(0);
  EXPECT_EQ(company(driver, 1), (std::pair<Tags, Tags>{{3}, {3}}));
  driver.complete(0, 1);
  driver.check();
}

TEST(TaskCompany, OneThatIsCancelledLeaves) {
  Driver driver = one_at_a_time(4);
  Request request = lanes_request(7, chain_plan(), 100);
  request.traced = true;
  driver.admit(std::move(request));
  driver.schedule(0);
  EXPECT_EQ(company(driver, 1), (std::pair<Tags, Tags>{{7}, {}}));
  driver.cancel(7);
  EXPECT_EQ(company(driver, 1), (std::pair<Tags, Tags>{{7}, {7}}));
  driver.complete(0, 1);
  driver.check();
}

}  // namespace
}  // namespace volvox::toy
