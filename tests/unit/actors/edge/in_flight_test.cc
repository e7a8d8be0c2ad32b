#include "actors/edge/in_flight.h"

#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "actors/edge/client_shares.h"

namespace volvox {
namespace {

constexpr Duration kNow{0};
constexpr Duration kLong = std::chrono::seconds(60);

TEST(InFlightGauge, BoundsRequestsAndBytes) {
  const auto gauge = std::make_shared<InFlightGauge>(InFlightLimits{2, 100});
  auto a = InFlightGauge::enter(gauge, 60);
  EXPECT_TRUE(a);
  EXPECT_FALSE(InFlightGauge::enter(gauge, 41));  // too many bytes
  auto b = InFlightGauge::enter(gauge, 40);
  EXPECT_TRUE(b);
  EXPECT_FALSE(InFlightGauge::enter(gauge, 0));  // too many requests
  EXPECT_EQ(gauge->requests(), 2U);
  EXPECT_EQ(gauge->bytes(), 100U);
  a.reset();
  EXPECT_EQ(gauge->bytes(), 40U);
  EXPECT_TRUE(InFlightGauge::enter(gauge, 60));
  b.reset();
  EXPECT_EQ(gauge->requests(), 0U);
}

TEST(ClientShares, BoundsEachClientByItself) {
  ServeConfig config;
  config.limits.max_requests_per_client = 2;
  config.limits.max_request_mib_per_client = 1;
  const auto shares = std::make_shared<ClientShares>(config);
  const std::size_t most = std::size_t{1} << 20;
  auto a = ClientShares::enter(shares, {"x", ""}, most - 1);
  ASSERT_TRUE(a);
  EXPECT_EQ(ClientShares::enter(shares, {"x", ""}, 2).error().code, ErrorCode::kOverloaded);
  EXPECT_TRUE(ClientShares::enter(shares, {"y", ""}, most));  // and given back at once
  EXPECT_FALSE(ClientShares::enter(shares, {"y", ""}, most + 1));
  auto b = ClientShares::enter(shares, {"x", ""}, 1);
  ASSERT_TRUE(b);
  EXPECT_FALSE(ClientShares::enter(shares, {"x", ""}, 0));  // too many requests
  EXPECT_EQ(shares->clients(), 1U);
  b->reset();
  EXPECT_TRUE(ClientShares::enter(shares, {"x", ""}, 1));
  a->reset();
  EXPECT_EQ(shares->clients(), 0U);
}

TEST(ClientShares, AreSharedByTheConnectionsOfOneKey) {
  ServeConfig config;
  config.limits.max_requests_per_client = 1;
  config.client = {{.name = "alice", .max_requests = 3, .max_request_mib = 1}};
  const auto shares = std::make_shared<ClientShares>(config);
  const std::size_t most = std::size_t{1} << 20;
  auto one = ClientShares::enter(shares, {"x", "alice"}, most - 2),
       two = ClientShares::enter(shares, {"y", "alice"}, 1);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(shares->clients(), 1U);
  const auto large = ClientShares::enter(shares, {"z", "alice"}, 2);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kOverloaded);
  EXPECT_THAT(large.error().message, testing::HasSubstr("'alice' would have more MiB"));
  const auto three = ClientShares::enter(shares, {"z", "alice"}, 1);
  ASSERT_TRUE(three);
  EXPECT_THAT(ClientShares::enter(shares, {"u", "alice"}, 0).error().message,
              testing::HasSubstr("'alice' has as many requests"));
  const auto other = ClientShares::enter(shares, {"x", "bob"}, most);
  EXPECT_TRUE(other) << "has no table";
  EXPECT_FALSE(ClientShares::enter(shares, {"v", "bob"}, 0)) << "the usual bound is one";
  two->reset();
  EXPECT_TRUE(ClientShares::enter(shares, {"u", "alice"}, 1));
}

TEST(InFlightTable, KnowsWhoHasBeenSilent) {
  const auto at = [](int ms) { return TimePoint{} + std::chrono::milliseconds(ms); };
  InFlightTable table;
  table.hear("nobody", at(1));  // has nothing in flight
  ASSERT_TRUE(table.add("x", 1, at(10)));
  ASSERT_TRUE(table.add("y", 1, at(20)));
  EXPECT_TRUE(table.silent(at(10)).empty());
  EXPECT_EQ(table.silent(at(15)), (std::vector<ClientId>{"x"}));
  table.hear("x", at(30));
  EXPECT_EQ(table.silent(at(25)), (std::vector<ClientId>{"y"}));
  EXPECT_EQ(table.give_up("y").size(), 1U);
  EXPECT_TRUE(table.silent(at(25)).empty()) << "it was told once";
  EXPECT_EQ(table.unanswered(), 2U) << "its request is still answered";
  table.hear("y", at(31));
  EXPECT_EQ(table.silent(at(32)).size(), 2U);
  table.hear_all(at(40));
  EXPECT_TRUE(table.silent(at(40)).empty());
}

TEST(InFlightTable, AnAnswerIsForTheKeyThatAsked) {
  const auto at = [](int ms) { return TimePoint{} + std::chrono::milliseconds(ms); };
  InFlightTable table;
  ASSERT_TRUE(table.add("x", 1, at(10), "alice"));
  EXPECT_TRUE(table.hear("x", at(20), "alice"));
  EXPECT_FALSE(table.hear("x", at(30), "bob"));
  EXPECT_FALSE(table.hear("x", at(30)));
  EXPECT_EQ(table.silent(at(25)).size(), 1U) << "a stranger's words are no sign of life of hers";
  // What the gateway does then.
  EXPECT_EQ(table.take_client("x").size(), 1U);
  ASSERT_TRUE(table.add("x", 1, at(30), "bob"));
  EXPECT_FALSE(table.remove("x", 1, "alice")) << "her late answer is not for him";
  EXPECT_TRUE(table.remove("x", 1, "bob"));
}

// The memory of clients that had none left is used again, and nothing but the memory.
TEST(InFlightTable, AClientThatComesIsNew) {
  const auto at = [](int ms) { return TimePoint{} + std::chrono::milliseconds(ms); };
  constexpr int kClients = 40;  // more than are kept
  const auto name = [](const char* who, int number) { return who + std::to_string(number); };
  InFlightTable table;
  for (int i = 0; i < kClients; ++i) {
    ASSERT_TRUE(table.add(name("old", i), 1, at(10), "alice"));
    ASSERT_TRUE(table.add(name("old", i), 2, at(10), "alice"));
  }
  for (int i = 0; i < kClients; ++i) {
    EXPECT_TRUE(table.remove(name("old", i), 1, "alice"));
    EXPECT_TRUE(table.remove(name("old", i), 2, "alice"));
    EXPECT_FALSE(table.remove(name("old", i), 2, "alice"));
  }
  EXPECT_TRUE(table.silent(at(100)).empty());
  for (int i = 0; i < kClients; ++i) {
    ASSERT_TRUE(table.add(name("new", i), 1, at(20), "bob"));
    EXPECT_FALSE(table.hear(name("new", i), at(30), "alice"));
    EXPECT_FALSE(table.remove(name("old", i), 1, "bob"));
  }
  EXPECT_EQ(table.all().size(), std::size_t{kClients});
  EXPECT_EQ(table.silent(at(15)).size(), 0U);
  EXPECT_EQ(table.silent(at(25)).size(), std::size_t{kClients});
}

TEST(InFlightTable, KnowsEachRequestOfEachClientOnce) {
  InFlightTable table;
  EXPECT_TRUE(table.add("x", 1));
  EXPECT_FALSE(table.add("x", 1));
  EXPECT_TRUE(table.add("x", 2));
  EXPECT_TRUE(table.add("y", 1));
  EXPECT_EQ(table.all().size(), 3U);
  EXPECT_TRUE(table.remove("x", 1));
  EXPECT_FALSE(table.remove("x", 1));
  EXPECT_FALSE(table.remove("z", 1));
  EXPECT_TRUE(table.add("x", 1));
}

TEST(InFlightTable, IsEmptyWhenTheLastAnswerIsOnItsWay) {
  InFlightTable table;
  EXPECT_TRUE(table.wait_until_empty(kNow));
  ASSERT_TRUE(table.add("x", 1));
  EXPECT_FALSE(table.wait_until_empty(kNow));
  ASSERT_TRUE(table.remove("x", 1));
  EXPECT_FALSE(table.wait_until_empty(kNow));
  std::thread answering([&] { table.answered(); });
  EXPECT_TRUE(table.wait_until_empty(kLong));
  answering.join();
}

TEST(InFlightTable, ForgetsAClientThatIsGone) {
  InFlightTable table;
  ASSERT_TRUE(table.add("x", 1));
  ASSERT_TRUE(table.add("x", 2));
  ASSERT_TRUE(table.add("y", 1));
  EXPECT_EQ(table.take_client("x").size(), 2U);
  EXPECT_TRUE(table.take_client("x").empty());
  EXPECT_FALSE(table.remove("x", 1));  // so nobody answers it
  EXPECT_TRUE(table.remove("y", 1));
  table.answered();
  EXPECT_TRUE(table.wait_until_empty(kNow));
}

TEST(InFlightTable, CountsPartsOfBundlesByClient) {
  InFlightTable table;
  const std::vector<std::uint64_t> ids = {1, 2, 3, 4};
  ASSERT_TRUE(table.add("x", 2));
  EXPECT_EQ(table.bundled(), 0U);
  EXPECT_EQ(table.add_all("x", ids, {}, {}), (std::vector<bool>{true, false, true, true}));
  table.add_all("y", ids, {}, {});
  EXPECT_EQ(table.bundled(), 7U);
  EXPECT_EQ(table.bundled_of("x"), 3U);
  EXPECT_EQ(table.bundled_of("z"), 0U);
  table.remove_all("x", std::vector<std::uint64_t>{1, 3, 9}, {});
  EXPECT_TRUE(table.remove("x", 2));
  EXPECT_EQ(table.bundled_of("x"), 1U);
  table.take_client("y");
  EXPECT_EQ(table.bundled(), 1U);
  table.remove_all("x", ids, {});
  EXPECT_EQ(table.bundled(), 0U);
  table.answered(4);
  EXPECT_EQ(table.unanswered(), 0U);
}

TEST(InFlightTable, WaitsForWhatIsExpected) {
  const auto at = [](int ms) { return TimePoint{} + std::chrono::milliseconds(ms); };
  InFlightTable table;
  table.expect("x", 3, at(10), "alice");
  EXPECT_EQ(table.unanswered(), 3U);
  EXPECT_FALSE(table.wait_until_empty(kNow));
  EXPECT_TRUE(table.all().empty());
  EXPECT_FALSE(table.hear("x", at(20), "bob"));
  EXPECT_EQ(table.silent(at(15)).size(), 1U) << "it is known while its message waits";
  ASSERT_TRUE(table.hear("x", at(30), "alice"));
  ASSERT_TRUE(table.add("x", 1, at(10), "alice"));
  EXPECT_TRUE(table.silent(at(25)).empty()) << "what waited is older than the last word";
  table.met("x", 3);
  EXPECT_EQ(table.unanswered(), 1U);
  EXPECT_TRUE(table.remove("x", 1, "alice"));
  table.answered();
  EXPECT_TRUE(table.wait_until_empty(kNow));
  table.expect("x", 2, at(40), "bob");
  table.met("x", 2);
  EXPECT_TRUE(table.hear("x", at(50), "alice")) << "nothing is left of it";
  EXPECT_TRUE(table.wait_until_empty(kNow));
}

// A client that is gone may be taken for one that comes, and is then answered once more.
TEST(InFlightTable, CountsOfBundlesAreRightWhateverIsAnswered) {
  InFlightTable table;
  ASSERT_TRUE(table.add("x", 1));
  table.take_client("x");
  table.add_all("x", std::vector<std::uint64_t>{1, 2}, {}, {});
  EXPECT_TRUE(table.remove("x", 1)) << "by the actor of the first";
  EXPECT_EQ(table.bundled(), 1U);
  table.take_client("x");
  EXPECT_EQ(table.bundled(), 0U);
  ASSERT_TRUE(table.add("x", 7));
  table.remove_all("x", std::vector<std::uint64_t>{7}, {});
  EXPECT_EQ(table.bundled(), 0U);
  EXPECT_EQ(table.bundled_of("x"), 0U);
}

TEST(InFlightTable, ManyIdsMayBeAskedForWhereFewAreInFlight) {
  InFlightTable table;
  for (const std::uint64_t id : {5, 9, 20}) ASSERT_TRUE(table.add("c", id));
  EXPECT_EQ(table.find_all("c", 4, 8192).size(), 3U);
  EXPECT_EQ(table.find_all("c", 6, 8192).size(), 2U);
  EXPECT_EQ(table.find_all("c", 6, 13).size(), 1U) << "9, and not 20";
  EXPECT_EQ(table.find_all("c", 6, 14).size(), 1U);
  EXPECT_EQ(table.find_all("c", 6, 15).size(), 2U);
  EXPECT_EQ(table.find_all("c", 20, 1).size(), 1U);
  EXPECT_TRUE(table.find_all("d", 4, 8192).empty());
}

}  // namespace
}  // namespace volvox
