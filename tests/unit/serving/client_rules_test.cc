// What the configuration says of clients.

#include <gtest/gtest.h>

#include "serving/priority_rights.h"
#include "serving/session_limits.h"

namespace volvox {
namespace {

constexpr PriorityChoice kHigh = PriorityChoice::kHigh, kNormal = PriorityChoice::kNormal,
                         kLow = PriorityChoice::kLow;

ClientSection client(std::string name, PriorityChoice highest) {
  ClientSection section;
  section.name = std::move(name);
  section.max_priority = highest;
  return section;
}

TEST(PriorityRights, WithoutKeysEverybodyMayAskForAnything) {
  const PriorityRights rights(ServeConfig{});
  for (const PriorityChoice wanted : {kHigh, kNormal, kLow}) EXPECT_EQ(rights.allowed("", wanted), wanted);
}

TEST(PriorityRights, WithKeysHighIsForThoseWhoMay) {
  ServeConfig config;
  config.security.server_key = "server.key";
  config.client = {client("alice", kHigh), client("bob", kLow)};
  const PriorityRights rights(config);
  EXPECT_EQ(rights.allowed("alice", kHigh), kHigh);
  EXPECT_EQ(rights.allowed("alice", kLow), kLow);
  EXPECT_EQ(rights.allowed("bob", kHigh), kLow);
  EXPECT_EQ(rights.allowed("bob", kNormal), kLow);
  EXPECT_EQ(rights.allowed("carol", kHigh), kNormal);
  EXPECT_EQ(rights.allowed("carol", kLow), kLow);
  EXPECT_EQ(rights.allowed("", kHigh), kNormal) << "who has shown no key";
}

TEST(ConfiguredSessionLimits, OneClientLeavesATenthToOthers) {
  ServeConfig config;
  EXPECT_EQ(session_limits(config, 5).share.sessions, 9000U);
  EXPECT_EQ(session_limits(config, 5).max_resident, 5U);
  EXPECT_EQ(session_limits(config, 0).max_resident, 1U);
  config.sessions.max_sessions = 3;
  EXPECT_EQ(session_limits(config, 5).share.sessions, 3U) << "of so few, all";
  config.sessions.max_sessions_per_client = 2;
  EXPECT_EQ(session_limits(config, 5).share.sessions, 2U);
  EXPECT_TRUE(check(session_limits(config, 5)));
}

TEST(ConfiguredSessionLimits, AClientMayHaveAShareOfItsOwn) {
  ServeConfig config;
  config.sessions.max_kept_mib_per_client = 7;
  ClientSection alice = client("alice", kNormal);
  alice.max_sessions = 11;
  alice.spill_mib = 3;
  config.client = {alice};
  const SessionLimits limits = session_limits(config, 5);
  EXPECT_EQ(limits.share.kept_bytes, 7U << 20);
  EXPECT_EQ(limits.share.spilled_bytes, ~std::uint64_t{0});
  EXPECT_EQ(limits.max_spilled_bytes, 1024ULL << 20);
  const SessionShare& share = limits.shares.at("alice");
  EXPECT_EQ(share.sessions, 11U);
  EXPECT_EQ(share.kept_bytes, 7U << 20) << "as all";
  EXPECT_EQ(share.spilled_bytes, 3U << 20);
}

}  // namespace
}  // namespace volvox
