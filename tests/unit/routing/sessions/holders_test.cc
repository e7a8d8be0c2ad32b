#include "routing/sessions/holders.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(Holders, KeepTheirNumberAsLongAsSomebodyRefersToThem) {
  Holders holders;
  const std::uint32_t alice = holders.refer({"alice", 0});
  EXPECT_EQ(holders.refer({std::string("alice"), 0}), alice);
  const std::uint32_t bob = holders.refer({"bob", 0}), nobody = holders.refer({});
  EXPECT_NE(bob, alice);
  EXPECT_EQ(holders[alice].account, "alice");
  EXPECT_TRUE(holders[nobody].unknown());
  EXPECT_EQ(holders.count(), 3U);
  holders.release(alice);
  EXPECT_EQ(holders.find({"alice", 0}), alice);
  holders.release(alice);
  EXPECT_EQ(holders.find({"alice", 0}), kNoIndex);
  EXPECT_EQ(holders.find({"bob", 0}), bob);
  EXPECT_EQ(holders.count(), 2U);
}

TEST(Holders, AnAccountAndAConnectionAreNeverTheSame) {
  Holders holders;
  const std::uint32_t connection = holders.refer({"", 7}), other = holders.refer({"", 8});
  EXPECT_NE(connection, other);
  EXPECT_NE(holders.refer({"7", 0}), connection);
  EXPECT_EQ(holders[connection].connection, 7U);
}

TEST(Holdings, SayWhoHoldsMost) {
  Holdings held;
  EXPECT_EQ(held.biggest(), kNoIndex);
  EXPECT_EQ(held.most(), 0U);
  held.add(3, 10);
  held.add(1, 10);
  EXPECT_EQ(held.biggest(), 1U) << "of equals, the lowest number";
  held.add(3, 1);
  EXPECT_EQ(held.biggest(), 3U);
  held.remove(3, 11);
  EXPECT_EQ(held.biggest(), 1U);
  EXPECT_EQ(held.count(), 1U);
  held.remove(1, 10);
  EXPECT_EQ(held.biggest(), kNoIndex);
  held.add(1, 0);
  EXPECT_EQ(held.count(), 0U);
}

TEST(Holdings, AreWhatASlowCountSays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    Holdings held;
    std::map<std::uint32_t, std::uint64_t> slow;
    for (int i = 0; i < 2000; ++i) {
      const auto holder = static_cast<std::uint32_t>(random() % 40);
      const std::uint64_t amount = random() % 5;
      if (random() % 2 == 0) {
        held.add(holder, amount);
        slow[holder] += amount;
      } else {
        const std::uint64_t less = random() % 4 == 0 ? slow[holder] : std::min(slow[holder], amount);
        held.remove(holder, less);
        slow[holder] -= less;
      }
      std::uint32_t biggest = kNoIndex;
      std::uint64_t most = 0, total = 0;
      std::size_t count = 0;
      for (const auto& [one, its] : slow) {
        if (its > most) biggest = one;
        most = std::max(most, its);
        total += its;
        count += its > 0 ? 1 : 0;
        ASSERT_EQ(held.of(one), its) << "seed " << seed;
      }
      ASSERT_EQ(held.biggest(), biggest) << "seed " << seed;
      ASSERT_EQ(held.most(), most);
      ASSERT_EQ(held.total(), total);
      ASSERT_EQ(held.count(), count);
    }
  }
}

}  // namespace
}  // namespace volvox
