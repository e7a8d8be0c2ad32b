#include <atomic>
#include <new>
#include <stdexcept>

#include <gmock/gmock.h>

#include "actors/node/dispatcher.h"
#include "device/fake_device.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

using testing::HasSubstr;

void hurt_if_poisoned(const IncomingRequest& request) {
  if (request.header.trace_hi == kPoison) throw std::runtime_error("poisoned");
}

// Requests around a poisoned one: each is answered once, with the right answer, or with an error that admits
// the failure.
void survive(const House& house) {
  const std::vector<std::int32_t> tokens{1, 2, 3, 4};
  std::vector<std::future<Reply>> answers;
  std::future<Reply> victim;
  for (int i = 0; i < 200; ++i) {
    if (i == 100) victim = house.client->submit(poisoned(tokens));
    answers.push_back(house.client->submit(chain_request("check", "tokens", std::span(tokens))));
  }
  ASSERT_EQ(victim.wait_for(kLongEnough), std::future_status::ready);
  const Reply hurt = victim.get();
  EXPECT_EQ(code_of(hurt), ErrorCode::kInternal) << hurt.header.error.message;
  EXPECT_FALSE(hurt.local);
  for (auto& answer : answers) {
    ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
    const Reply reply = answer.get();
    if (reply.status()) {
      EXPECT_EQ(state_in(reply), check_answer(tokens));
    } else {
      EXPECT_THAT((std::vector{ErrorCode::kInternal, ErrorCode::kUnavailable}),
                  testing::Contains(code_of(reply)));
    }
  }
  EXPECT_TRUE(house.recovers());
  EXPECT_EQ(house.client->stats().duplicates, 0U);
}

std::string restarts(const House& house) {
  const std::string page = house.monitor.metrics_page().body;
  const std::size_t at = page.find("\nvolvox_actor_restarts_total ");
  return page.substr(at + 29, page.find('\n', at + 1) - at - 29);
}

TEST(Supervision, AManagerThatFailsIsReplaced) {
  FaultHooks faults;
  faults.manager = hurt_if_poisoned;
  const House house(loopback(), {100, 0}, faults);
  survive(house);
  EXPECT_EQ(restarts(house), "1");
}

TEST(Supervision, AReaderOfLargeBodiesThatFailsIsReplaced) {
  FaultHooks faults;
  faults.reader = hurt_if_poisoned;
  const House house(loopback(), TimedCost{0, 0}, faults);
  const std::vector<std::int32_t> large(Dispatcher::kSmallBody / sizeof(std::int32_t), 3);
  EXPECT_EQ(state_in(house.ask(large)), check_answer(large));
  EXPECT_EQ(code_of(house.ask(poisoned(large))), ErrorCode::kInternal);
  EXPECT_EQ(state_in(house.ask({1, 2})), check_answer({1, 2})) << "what is small does not need it";
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (state_in(house.ask(large)) != check_answer(large))
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "nobody reads large bodies any more";
  EXPECT_EQ(house.client->stats().duplicates, 0U);
  wait_for_metric(house, "volvox_actor_restarts_total", 1);
}

TEST(Supervision, ASchedulerThatFailsIsReplacedWithItsWorkers) {
  FaultHooks faults;
  faults.scheduler = hurt_if_poisoned;
  ServeConfig config = loopback();
  config.device.queues = 2;
  const House house(config, {100, 0}, faults);
  survive(house);
  EXPECT_EQ(restarts(house), "1");
}

TEST(Supervision, AWorkerThatFailsIsReplacedWithItsScheduler) {
  std::atomic<bool> armed{false};
  FaultHooks faults;
  faults.worker = [&](const Task&) {
    if (armed.exchange(false)) throw std::runtime_error("broken worker");
  };
  const House house(loopback(), {100, 0}, faults);
  ASSERT_TRUE(house.ask({1, 2}).status());
  armed = true;
  const Reply reply = house.ask({1, 2});
  EXPECT_EQ(code_of(reply), ErrorCode::kInternal) << reply.header.error.message;
  EXPECT_TRUE(house.recovers());
  EXPECT_EQ(restarts(house), "1");
}

TEST(Supervision, AManagerForWhichThereIsNoMemoryComesLater) {
  std::atomic<int> failures{0};
  FaultHooks faults;
  faults.manager = hurt_if_poisoned;
  faults.new_manager = [&] {
    if (failures.fetch_add(1) < 2) throw std::bad_alloc();
  };
  const House house(loopback(), {100, 0}, faults);
  const std::vector<std::int32_t> tokens{1, 2};
  EXPECT_EQ(code_of(house.ask(poisoned(tokens))), ErrorCode::kInternal);
  EXPECT_TRUE(house.recovers());
  EXPECT_EQ(failures, 3);
  survive(house);
}

TEST(Supervision, ASchedulerForWhichThereIsNoMemoryComesLater) {
  std::atomic<int> starts{0};
  FaultHooks faults;
  faults.scheduler = hurt_if_poisoned;
  faults.engine = [&] {
    const int before = starts.fetch_add(1);
    if (before == 1 || before == 2) throw std::bad_alloc();
  };
  const House house(loopback(), {100, 0}, faults);
  const std::vector<std::int32_t> tokens{1, 2};
  EXPECT_EQ(code_of(house.ask(poisoned(tokens))), ErrorCode::kInternal);
  EXPECT_TRUE(house.recovers());
  EXPECT_EQ(starts, 4);
  survive(house);
}

TEST(Supervision, AServerWhoseSupervisorCannotStartSaysSo) {
  const Scratch scratch;
  const Models models = write_models(scratch);
  const Devices devices{std::make_shared<TimedDevice>(TimedCost{0, 0})};
  FaultHooks faults;
  faults.supervisor = [] { throw std::runtime_error("no memory"); };
  Monitor monitor("test");
  const auto started = Server::start(loopback(), devices, models, monitor, faults);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("supervisor"));
  EXPECT_NE(monitor.readiness_page().status, 200);
}

// What was started before it failed ends with it.
TEST(Supervision, AServerOfWhichOneDeviceCannotStartSaysSo) {
  const Scratch scratch;
  const Models models = write_models(scratch);
  const Devices devices{std::make_shared<TimedDevice>(TimedCost{0, 0}),
                        std::make_shared<TimedDevice>(TimedCost{0, 0})};
  std::atomic<int> engines{0};
  FaultHooks faults;
  faults.engine = [&] {
    if (engines.fetch_add(1) == 1) throw std::bad_alloc();
  };
  Monitor monitor("test");
  const auto started = Server::start(loopback(), devices, models, monitor, faults);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("supervisor"));
}

TEST(Supervision, FailuresInARowAreSurvived) {
  FaultHooks faults;
  faults.manager = faults.scheduler = [](const IncomingRequest& request) {
    if (request.header.trace_lo == kPoison) throw 42;  // not even a std::exception
    hurt_if_poisoned(request);
  };
  const House house(loopback(), TimedCost{0, 0}, faults);
  const std::vector<std::int32_t> tokens{1};
  for (int i = 0; i < 20; ++i) {
    ClientRequest request = poisoned(tokens);
    if (i % 2 == 1) request.header.trace_lo = kPoison;
    EXPECT_EQ(code_of(house.ask(request)), ErrorCode::kInternal);
  }
  EXPECT_TRUE(house.recovers());
}

TEST(Supervision, ADeviceTaskThatFailsIsATypedError) {
  FakeDevice::Options options;
  options.check_addresses = true;
  auto device = std::make_shared<FakeDevice>(options);
  const House house(loopback(), device);
  ASSERT_TRUE(house.ask({1, 2}).status());
  device->fail_task(0, 4);  // two are done
  const Reply reply = house.ask({1, 2, 3, 4});
  EXPECT_EQ(code_of(reply), ErrorCode::kInternal);
  EXPECT_THAT(reply.header.error.message, HasSubstr("the device failed: "));
  EXPECT_TRUE(house.recovers());
  EXPECT_EQ(restarts(house), "0");
  EXPECT_THAT(device->errors(), testing::IsEmpty());
}

TEST(Supervision, ARequestWaitsForInputsThatAreOnTheirWay) {
  FakeDevice::Options options;
  options.hold_inputs = true;
  auto device = std::make_shared<FakeDevice>(options);
  const House house(loopback(), device);
  const std::vector<std::int32_t> tokens{1, 2};
  auto answer = house.client->submit(chain_request("check", "tokens", std::span(tokens)));
  house.wait_for_live(1);
  // Whoever asks once more asks after the scheduler has decided.
  EXPECT_EQ(metric(house, "volvox_cells_total{device=\"fake\"}"), 0);
  EXPECT_EQ(metric(house, "volvox_waiting_requests{device=\"fake\"}"), 0) << "it takes nobody's turn";
  device->land_inputs();
  ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
  EXPECT_EQ(state_in(answer.get()), check_answer(tokens));
  EXPECT_THAT(device->errors(), testing::IsEmpty());
}

}  // namespace
}  // namespace volvox
