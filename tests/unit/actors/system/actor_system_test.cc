#include "actors/system/actor_system.h"

#include <chrono>
#include <thread>

#include <caf/io/all.hpp>
#include <caf/io/basp_broker.hpp>
#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(ActorSystem, SaysThatItsConnectionsHaveFailed) {
  SystemConfig config(1, nullptr);
  config.load<caf::io::middleman>();
  ActorSystem system(config);
  const auto trouble = watch_connections(system);
  EXPECT_EQ(trouble(), "");
  const auto broker = system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
  caf::anon_send_exit(broker, caf::exit_reason::kill);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (trouble().empty() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(trouble().find("connections have failed"), std::string::npos) << trouble();
}

}  // namespace
}  // namespace volvox
