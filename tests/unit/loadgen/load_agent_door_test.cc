#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "loadgen/agents/load_agent.h"
#include "loadgen/server/http_get.h"

namespace volvox {
namespace {

using std::chrono::seconds;

TEST(LoadAgentDoor, WithoutKeysItListensOnLoopbackOnly) {
  AgentOptions options{.limits = {.targets = {"tcp://127.0.0.1:7100"}}};
  for (const char* address : {"tcp://0.0.0.0:*", "tcp://*:*", "tcp://10.0.0.1:7300", "tcp://[::]:*"}) {
    options.listen = address;
    const auto agent = LoadAgent::open(options);
    ASSERT_FALSE(agent.has_value()) << address;
    EXPECT_EQ(agent.error().code, ErrorCode::kPermissionDenied) << address;
  }
}

TEST(LoadAgentDoor, MetricsBeyondLoopbackAskForAToken) {
  AgentOptions options{.listen = "tcp://127.0.0.1:*", .limits = {.targets = {"tcp://127.0.0.1:7100"}}};
  options.metrics.address = "0.0.0.0:0";
  const auto open = LoadAgent::open(options);
  ASSERT_FALSE(open.has_value());
  EXPECT_EQ(open.error().code, ErrorCode::kPermissionDenied);
  options.metrics.address = "nowhere";
  const auto lost = LoadAgent::open(options);
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(lost.error().message.find("--metrics"), std::string::npos) << lost.error().message;
}

TEST(LoadAgentDoor, ItsMetricsAreForWhoeverMayReadThem) {
  AgentOptions options{.listen = "tcp://127.0.0.1:*", .limits = {.targets = {"tcp://127.0.0.1:7100"}}};
  options.metrics.address = "127.0.0.1:0";
  const auto page = [&options] {
    const auto agent = LoadAgent::open(options);
    EXPECT_TRUE(agent.has_value()) << agent.error().message;
    const std::string url = "http://127.0.0.1:" + std::to_string((*agent)->monitor().port()) + "/metrics";
    return http_get(url, seconds(10)).value();
  };
  const HttpResponse open = page();
  EXPECT_EQ(open.status, 200);
  EXPECT_NE(open.body.find("volvox_agent_busy 0"), std::string::npos) << open.body;
  const auto file = std::filesystem::temp_directory_path() / ("agents_tokens." + std::to_string(::getpid()));
  std::ofstream(file) << "one-of-sixteen-characters-or-more\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  options.metrics.token_file = file;
  const HttpResponse closed = page();
  std::filesystem::remove(file);
  EXPECT_EQ(closed.status, 401);
  EXPECT_EQ(closed.body.find("volvox_agent_busy"), std::string::npos);
}

}  // namespace
}  // namespace volvox
