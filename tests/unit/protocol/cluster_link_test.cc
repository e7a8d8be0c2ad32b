#include "protocol/cluster/cluster_link.h"

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "tests/unit/protocol/small_flow.h"

namespace volvox {
namespace {

using test::result;

ClusterFlowLimits link_limits() {
  ClusterFlowLimits limits = test::small_limits();
  limits.max_join_bytes = 4000;
  return limits;
}

constexpr std::size_t kLarge = 12'000;

ClusterJoin join_of(std::uint32_t number) {
  ClusterJoin join;
  join.cluster = "c";
  join.name = "n";
  join.incarnation = number + 1;
  return join;
}

// A router and a node with one connection between them, which keeps the order and loses nothing as long as it
// stands.
struct Connection {
  ClusterLink node{LinkEnd::kDials, link_limits()}, router{LinkEnd::kAnswers, link_limits()};
  std::deque<ClusterPieces> to_router, to_node;
  std::vector<ClusterMessage> at_router, at_node;
  LinkGeneration generation = 0;
  bool listens = true;  // the node: else it has given the link up
  std::string trouble;

  void join() {
    listens = true;
    node.begin(++generation);
    EXPECT_TRUE(node.push(join_of(generation)));
    flush();
  }
  void flush() {
    while (listens) {
      auto bytes = node.next();
      if (!bytes) break;
      to_router.push_back(std::move(*bytes));
    }
    while (auto bytes = router.next()) to_node.push_back(std::move(*bytes));
  }
  void hear(ClusterLink& link, std::deque<ClusterPieces>& from, std::vector<ClusterMessage>& said) {
    const ClusterPieces bytes = std::move(from.front());
    from.pop_front();
    auto message = link.take(bytes.whole());
    if (!message) {
      trouble = message.error().message;
      return;
    }
    if (*message && std::holds_alternative<ClusterJoin>(**message)) link.let_in();
    if (*message) said.push_back(std::move(**message));
    flush();
  }
  // What a router does not understand of somebody who is not in makes it forget that one.
  void router_hears() {
    hear(router, to_router, at_router);
    if (!trouble.empty() && !router.is_in()) forget();
  }
  void forget() {
    router = ClusterLink(LinkEnd::kAnswers, link_limits());
    trouble.clear();
  }
  void node_hears() {
    if (listens) return hear(node, to_node, at_node);
    to_node.pop_front();
  }
  void run() {
    for (flush(); !to_router.empty() || !to_node.empty();) {
      if (!to_router.empty()) router_hears();
      if (!to_node.empty()) node_hears();
    }
  }
};

std::vector<std::uint32_t> results_in(const std::vector<ClusterMessage>& messages) {
  std::vector<std::uint32_t> numbers;
  for (const ClusterMessage& message : messages)
    if (const auto* one = std::get_if<ClusterResult>(&message)) numbers.push_back(one->attempt.index);
  return numbers;
}

// The node takes the router for dead, while fragments of it are under way, and finds it again.
TEST(ClusterLink, AnEndThatWasForgottenByTheOtherDoesNotWaitForEver) {
  Connection link;
  link.join();
  link.run();
  EXPECT_TRUE(link.router.is_in());
  link.listens = false;
  ASSERT_TRUE(link.router.push(result(1, kLarge)));
  link.run();
  EXPECT_FALSE(link.router.is_idle()) << "what is under way is acknowledged by nobody";
  link.join();
  link.run();
  EXPECT_EQ(link.trouble, "");
  EXPECT_TRUE(link.router.is_idle());
  ASSERT_TRUE(link.router.push(result(2, kLarge)));
  ASSERT_TRUE(link.node.push(result(3, kLarge)));
  link.run();
  EXPECT_EQ(results_in(link.at_node), std::vector<std::uint32_t>{2});
  EXPECT_EQ(results_in(link.at_router), std::vector<std::uint32_t>{3});
}

// It had put half of a message together.
TEST(ClusterLink, WhatComesAfterAJoinIsNotTakenForTheRestOfWhatCameBefore) {
  Connection link;
  link.join();
  link.run();
  ASSERT_TRUE(link.node.push(result(1, kLarge)));
  link.flush();
  link.router_hears();
  link.to_router.clear();
  link.join();
  link.run();
  ASSERT_TRUE(link.node.push(result(2, kLarge)));
  link.run();
  EXPECT_EQ(link.trouble, "");
  EXPECT_EQ(results_in(link.at_router), std::vector<std::uint32_t>{2});
}

TEST(ClusterLink, WhatIsOfAnEarlierLifeIsDropped) {
  Connection link;
  link.join();
  link.run();
  ASSERT_TRUE(link.router.push(result(1, 10)));
  link.flush();  // on its way
  link.join();
  link.run();
  EXPECT_EQ(results_in(link.at_node), std::vector<std::uint32_t>{});
  EXPECT_EQ(link.trouble, "");
}

TEST(ClusterLink, ANewLifeIsNotInBeforeItHasJoined) {
  Connection link;
  link.join();
  link.run();
  ASSERT_TRUE(link.router.is_in());
  link.node.begin(++link.generation);
  ASSERT_TRUE(link.node.push(ClusterReport{}));
  link.run();
  EXPECT_FALSE(link.router.is_in());
  ASSERT_TRUE(link.node.push(result(1, kLarge)));
  link.flush();
  while (!link.to_router.empty()) {
    const auto said = link.router.take(link.to_router.front().whole());
    ASSERT_TRUE(said) << "it may be of a life that is forgotten: " << to_string(said.error());
    EXPECT_FALSE(*said) << "larger than a join";
    link.to_router.pop_front();
  }
  EXPECT_EQ(results_in(link.at_router), std::vector<std::uint32_t>{});
}

TEST(ClusterLink, AMessageLargerThanOneMayBeIsRefused) {
  ClusterLink link(LinkEnd::kDials, link_limits());
  const auto bytes = encode_cluster_message(result(1, 2000), {});
  EXPECT_FALSE(link.take(bytes->whole()));
}

// Both ends say in the join what they take; in the next life they say it anew.
TEST(ClusterLink, LargeMessagesComeInLargerPiecesFromThoseWhoHaveMet) {
  ClusterFlowLimits limits;
  ClusterLink node(LinkEnd::kDials, limits), router(LinkEnd::kAnswers, limits);
  const auto pass = [](ClusterLink& from, ClusterLink& to) {
    std::size_t most = 0;
    while (auto bytes = from.next()) {
      most = std::max(most, bytes->size());
      const auto taken = to.take(bytes->whole());
      EXPECT_TRUE(taken);
      if (taken && *taken && std::holds_alternative<ClusterJoin>(**taken)) to.let_in();
    }
    return most;
  };
  const auto largest = [&](ClusterLink& from, ClusterLink& to) {
    std::size_t most = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {  // the window grows as the link carries
      EXPECT_TRUE(from.push(result(i, 4U << 20)));
      for (int round = 0; !from.is_idle() && round < 1000; ++round) {
        most = std::max(most, pass(from, to));
        pass(to, from);
      }
      from.tick();
    }
    return most;
  };
  for (LinkGeneration life = 1; life <= 2; ++life) {
    node.begin(life);
    ASSERT_TRUE(node.push(join_of(0)));
    pass(node, router);
    EXPECT_LE(largest(node, router), 64U << 10) << "the router has not answered";
    ASSERT_TRUE(router.push(ClusterJoinReply{true, {}, "router", 1}));
    pass(router, node);
    EXPECT_GT(largest(node, router), 250U << 10);
    EXPECT_GT(largest(router, node), 250U << 10);
  }
}

// Version 1 says no generation, and does not look at any.
TEST(ClusterLink, AnEndThatKnowsNoGenerationsIsUnderstood) {
  Connection link;
  const auto without = [](std::deque<ClusterPieces>& queue) {
    for (ClusterPieces& bytes : queue) {
      auto opened = open_cluster_message(bytes.whole(), {});
      bytes = encode_cluster_message(opened->message, {}, 0).value();
    }
  };
  for (const bool old_router : {false, true}) {
    link = Connection();
    link.join();
    ASSERT_TRUE(link.node.push(result(1, kLarge)));
    for (link.flush(); !link.to_router.empty() || !link.to_node.empty(); link.flush()) {
      old_router ? without(link.to_node) : without(link.to_router);
      if (old_router) without(link.to_router);
      if (!old_router) without(link.to_node);
      if (!link.to_router.empty()) link.router_hears();
      if (!link.to_node.empty()) link.node_hears();
    }
    EXPECT_EQ(link.trouble, "");
    EXPECT_EQ(results_in(link.at_router), std::vector<std::uint32_t>{1});
  }
}

// Whatever happened, a link that joins works: what is said after the join arrives whole and once.
TEST(ClusterLink, AnyMixOfEndsAndJoinsLeavesALinkThatWorks) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 dice(seed);
    Connection link;
    link.join();
    std::uint32_t number = 0;
    std::set<std::uint32_t> since;  // what the node said in this life
    for (int step = 0; step < 600; ++step) {
      const std::size_t size = dice() % 3 == 0 ? dice() % 15'000 : dice() % 500;
      switch (dice() % 12) {
        case 0:
        case 1:
          if (link.listens && link.node.push(result(++number, size))) since.insert(number);
          break;
        case 2:
        case 3:
          if (link.router.is_in()) static_cast<void>(link.router.push(result(++number, size)));
          break;
        case 4:
          if (dice() % 10 == 0) link.listens = false;
          break;
        case 5:
          if (!link.listens || dice() % 20 == 0) {
            since.clear();
            link.join();
          }
          break;
        case 6:  // the connection itself broke: what was on it is lost, and its other end is a new one
          if (dice() % 30 != 0) break;
          link.to_router.clear();
          link.to_node.clear();
          link.forget();
          link.listens = false;
          break;
        case 7:
          if (dice() % 30 != 0) break;
          link.forget();
          since.clear();
          break;
        default:
          link.flush();
          if (dice() % 2 == 0 && !link.to_router.empty()) link.router_hears();
          if (dice() % 2 == 0 && !link.to_node.empty()) link.node_hears();
      }
      ASSERT_EQ(link.trouble, "") << "seed " << seed << " step " << step;
    }
    link.run();
    if (!link.listens || !link.router.is_in()) {  // it says so, when the node reports
      since.clear();
      link.join();
    }
    link.run();
    const auto heard = results_in(link.at_router);
    for (const std::uint32_t one : since)
      ASSERT_EQ(std::count(heard.begin(), heard.end(), one), 1) << "seed " << seed;
    ASSERT_TRUE(link.node.push(result(++number, kLarge)));
    ASSERT_TRUE(link.router.push(result(++number, kLarge)));
    link.run();
    ASSERT_EQ(link.trouble, "") << "seed " << seed;
    ASSERT_EQ(results_in(link.at_node).back(), number) << "seed " << seed;
    ASSERT_EQ(results_in(link.at_router).back(), number - 1) << "seed " << seed;
    ASSERT_TRUE(link.node.is_idle() && link.router.is_idle());
  }
}

}  // namespace
}  // namespace volvox
