#include "actors/cluster/router_finder.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/system/system_config.h"

namespace volvox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using Addresses = std::vector<std::string>;

TEST(RouterAddresses, AreAllThatANameStandsFor) {
  EXPECT_EQ(look_up_routers("127.0.0.1:7110"), (Addresses{"127.0.0.1:7110"}));
  EXPECT_EQ(look_up_routers("[::1]:7110"), (Addresses{"[::1]:7110"}));
  const auto local = look_up_routers("localhost:1");
  ASSERT_TRUE(local) << local.error().message;
  EXPECT_THAT(*local, Contains("127.0.0.1:1"));
  EXPECT_EQ(look_up_routers("127.0.0.1").error().code, ErrorCode::kInvalidArgument);
}

TEST(RouterFinder, LooksAgainAndKeepsWhatItCannotLookUp) {
  SystemConfig config(1);
  caf::actor_system system(config);
  caf::scoped_actor owner(system);
  // By name, what each look finds; nothing: it fails. The last is found from then on.
  std::map<std::string, std::vector<Addresses>> world{
      {"one:1", {{}, {"10.0.0.1:1"}, {"10.0.0.1:1"}}},
      {"many:2", {{"10.0.0.2:2", "10.0.0.3:2"}, {}, {"10.0.0.3:2", "10.0.0.4:2", "10.0.0.1:1"}}}};
  FinderSetup setup{
      {"one:1", "many:2"}, caf::actor_cast<caf::actor>(owner.ptr()), {}, std::chrono::milliseconds(1)};
  setup.look_up = [&world](const std::string& name) -> Result<Addresses> {
    auto& looks = world.at(name);
    Addresses found = looks.front();
    if (looks.size() > 1) looks.erase(looks.begin());
    if (found.empty()) return fail(ErrorCode::kUnavailable, "nobody knows it");
    return found;
  };
  const caf::actor finder = spawn_router_finder(system, std::move(setup));
  const auto next = [&] {
    Addresses addresses;
    owner->receive([&](const RoutersFound& found) { addresses = found.addresses; });
    return addresses;
  };
  caf::anon_send(finder, FindAtom::value);
  EXPECT_THAT(next(), ElementsAre("10.0.0.2:2", "10.0.0.3:2"));
  EXPECT_THAT(next(), ElementsAre("10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:2"));
  EXPECT_THAT(next(), ElementsAre("10.0.0.1:1", "10.0.0.3:2", "10.0.0.4:2"));
  owner->monitor(finder);
  caf::anon_send_exit(finder, caf::exit_reason::user_shutdown);
  bool ended = false;
  owner->receive_while([&] { return !ended; })([](const RoutersFound&) {},
                                               [&](const caf::down_msg&) { ended = true; });
}

}  // namespace
}  // namespace volvox
