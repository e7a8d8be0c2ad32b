// Models that come and go while a whole server runs.

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "actors/admin/admin_commands.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::int32_t> kOneToken{1};

// A house whose models come and go.
struct ChangingHouse : House {
  explicit ChangingHouse(const std::shared_ptr<Device>& device = std::make_shared<TimedDevice>(TimedCost{0,
                                                                                                         0}),
                         FaultHooks faults = {})
      : House(loopback(), device, std::move(faults)) {}

  json ask_admin(const json& command) const { return answer_to(command.dump()); }
  json answer_to(const std::string& line) const {
    const AdminCommands commands(
        "test", server->models(), monitor,
        TraceCommands("test", std::make_shared<TraceRecorder>(RecorderOptions{}), std::chrono::seconds(1)));
    std::promise<std::string> answer;
    commands.handle(line, [&](std::string text) { answer.set_value(std::move(text)); });
    auto future = answer.get_future();
    EXPECT_EQ(future.wait_for(kLongEnough), std::future_status::ready);
    return json::parse(future.get());
  }
  json model_command(const char* command, const std::string& model, std::uint32_t version = 0) const {
    return ask_admin({{"command", command}, {"model", model}, {"version", version}});
  }
  // The versions of the check model: "check/1 serving", sorted.
  std::vector<std::string> models_now() const {
    std::vector<std::string> models;
    const json answer = ask_admin({{"command", "models.list"}});
    for (const json& model : answer["models"]) {
      if (model["name"] != "check") continue;
      models.push_back(model["name"].get<std::string>() + "/" + std::to_string(model["version"].get<int>()) +
                       " " + model["state"].get<std::string>());
    }
    std::sort(models.begin(), models.end());
    return models;
  }
  void wait_until_drained() const {
    const auto until = std::chrono::steady_clock::now() + kLongEnough;
    const auto is_draining = [](const std::string& model) { return model.ends_with("draining"); };
    for (auto models = models_now(); std::any_of(models.begin(), models.end(), is_draining);
         models = models_now()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "a version never goes";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // Version `number` of the check model, as a copy of the first.
  void add_version(std::uint32_t number) const {
    std::filesystem::copy(scratch.path() / "check" / "1", scratch.path() / "check" / std::to_string(number));
  }
};

TEST(ModelHost, LoadsListsAndUnloads) {
  const ChangingHouse house;
  EXPECT_THAT(house.models_now(), testing::ElementsAre("check/1 serving"));
  house.add_version(2);
  EXPECT_EQ(house.model_command("models.load", "check")["ok"], true);
  EXPECT_THAT(house.models_now(), testing::ElementsAre("check/1 serving", "check/2 serving"));
  EXPECT_EQ(state_in(house.ask({1, 2, 3})), check_answer({1, 2, 3}));
  EXPECT_EQ(house.model_command("models.load", "check", 2)["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(house.model_command("models.load", "check", 3)["error"]["code"], "MODEL_NOT_FOUND");
  EXPECT_EQ(house.model_command("models.load", "nobody")["error"]["code"], "MODEL_NOT_FOUND");
  EXPECT_EQ(house.model_command("models.unload", "check", 1)["ok"], true);
  house.wait_until_drained();
  EXPECT_THAT(house.models_now(), testing::ElementsAre("check/2 serving"));
  EXPECT_EQ(house.model_command("models.unload", "check", 1)["error"]["code"], "MODEL_NOT_FOUND");
  EXPECT_EQ(house.model_command("models.unload", "check")["ok"], true);
  EXPECT_EQ(code_of(house.ask({1, 2, 3})), ErrorCode::kModelNotFound);
  EXPECT_TRUE(house.ask({1}, "noop").status()) << "the other model is served on";
  EXPECT_EQ(house.model_command("models.load", "check", 1)["ok"], true);
  EXPECT_EQ(state_in(house.ask({4, 5})), check_answer({4, 5}));
}

TEST(ModelHost, AVersionInUseEndsItsRequestsBeforeItGoes) {
  const auto device = held_device();
  const ChangingHouse house(device);
  auto running = house.submit({1, 2, 3, 4, 5});
  house.wait_for_live(1);
  EXPECT_EQ(house.model_command("models.unload", "check")["ok"], true);
  EXPECT_EQ(code_of(house.ask({1, 2, 3})), ErrorCode::kModelNotFound) << "at once";
  EXPECT_THAT(house.models_now(), testing::Contains("check/1 draining"));
  const LetRun let_run(device);
  EXPECT_EQ(state_in(running.get()), check_answer({1, 2, 3, 4, 5}));
  house.wait_until_drained();
  EXPECT_THAT(house.models_now(), testing::IsEmpty());
  EXPECT_THAT(device->errors(), testing::IsEmpty());
}

// However long it takes.
TEST(ModelHost, ASchedulerThatIsBusyHoldsUpNoOtherCommand) {
  std::promise<void> begun, release;
  std::shared_future<void> released = release.get_future().share();
  FaultHooks faults;
  faults.scheduler = [&](const IncomingRequest& request) {
    if (request.header.trace_hi != kPoison) return;
    begun.set_value();
    released.wait();
  };
  const ChangingHouse house(std::make_shared<TimedDevice>(TimedCost{0, 0}), faults);
  house.add_version(2);
  ClientRequest blocking = chain_request("noop", "tokens", std::span(kOneToken));
  blocking.header.trace_hi = kPoison;
  auto blocked = house.client->submit(blocking);
  ASSERT_EQ(begun.get_future().wait_for(kLongEnough), std::future_status::ready);
  EXPECT_EQ(house.model_command("models.unload", "check")["ok"], true);
  EXPECT_EQ(house.model_command("models.load", "check", 2)["ok"], true);
  EXPECT_THAT(house.models_now(), testing::ElementsAre("check/1 draining", "check/2 serving"));
  release.set_value();
  house.wait_until_drained();
  EXPECT_THAT(house.models_now(), testing::ElementsAre("check/2 serving"));
  EXPECT_EQ(state_in(house.ask({1, 2, 3})), check_answer({1, 2, 3}));
  EXPECT_TRUE(blocked.get().status());
}

TEST(ModelHost, ReloadsWithoutAnyRequestNoticing) {
  const ChangingHouse house;
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, wrong{0};
  std::thread asking([&] {
    for (int i = 0; !stop; ++i) {
      const std::vector<std::int32_t> tokens{i % 100, 7, 8, 9};
      ++answered;
      if (state_in(house.ask(tokens)) != check_answer(tokens)) ++wrong;
    }
  });
  for (std::uint32_t version = 2; version < 40; ++version) {
    house.add_version(version);
    EXPECT_EQ(house.model_command("models.reload", "check")["ok"], true);
  }
  stop = true;
  asking.join();
  EXPECT_GT(answered, 0);
  EXPECT_EQ(wrong, 0);
  house.wait_until_drained();
  EXPECT_THAT(house.models_now(), testing::ElementsAre("check/39 serving"));
  EXPECT_EQ(house.model_command("models.reload", "check")["ok"], true) << "nothing to do";
  EXPECT_THAT(house.monitor.metrics_page().body, HasSubstr("volvox_model_loads_total{outcome=\"ok\"} " +
                                                           std::to_string(house.models.size() + 38) + "\n"));
}

TEST(ModelHost, ABrokenVersionLeavesWhatIsServed) {
  const ChangingHouse house;
  std::filesystem::create_directories(house.scratch.path() / "check" / "2");
  std::ofstream(house.scratch.path() / "check" / "2" / "weights.safetensors") << "not weights";
  EXPECT_EQ(house.model_command("models.reload", "check")["ok"], false);
  EXPECT_EQ(house.model_command("models.load", "check", 2)["ok"], false);
  EXPECT_EQ(state_in(house.ask({1, 2, 3})), check_answer({1, 2, 3}));
}

TEST(AdminCommands, AnyBytesGetAnAnswer) {
  const ChangingHouse house;
  for (const std::string& line :
       std::vector<std::string>{"",
                                "{",
                                "[]",
                                "null",
                                "7",
                                "\"status\"",
                                "{}",
                                "{\"command\": 3}",
                                "{\"command\": \"dance\"}",
                                "{\"command\": \"models.load\"}",
                                "{\"command\": \"models.load\", \"model\": 3}",
                                "{\"command\": \"models.load\", \"model\": \"check\", \"version\": -1}",
                                "{\"command\": \"models.load\", \"model\": \"check\", \"version\": \"1\"}",
                                "{\"command\": \"models.load\", \"model\": \"../check\"}",
                                "{\"command\": \"log.level\"}",
                                "{\"command\": \"log.level\", \"level\": \"loud\"}",
                                std::string(3, '\0'),
                                "\xff\xfe{\"command\"",
                                "{\"command\": \"\xff\"}",
                                std::string(60'000, '[')}) {
    const json answer = house.answer_to(line);
    EXPECT_EQ(answer["ok"], false) << line;
    EXPECT_FALSE(answer["error"]["message"].get<std::string>().empty()) << line;
  }
  const json status = house.answer_to("{\"command\": \"status\"}");
  EXPECT_EQ(status["ok"], true);
  EXPECT_EQ(status["readiness"], "ready");
  EXPECT_EQ(status["models"], house.models.size());
}

TEST(AdminCommands, TheLogLevelChangesWhileRunning) {
  const ChangingHouse house;
  const std::string before = house.ask_admin({{"command", "status"}})["log_level"];
  EXPECT_EQ(house.ask_admin({{"command", "log.level"}, {"level", "error"}})["ok"], true);
  EXPECT_EQ(house.ask_admin({{"command", "status"}})["log_level"], "error");
  EXPECT_EQ(house.ask_admin({{"command", "log.level"}, {"level", before}})["ok"], true);
}

}  // namespace
}  // namespace volvox
