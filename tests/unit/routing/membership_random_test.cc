#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "routing/membership.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using Kind = MemberEvent::Kind;

// Another way to say what Membership must say: from the whole history, worked out anew each time.
class History {
 public:
  explicit History(const MembershipLimits& limits) : limits_(limits) {}

  struct Life {
    std::string name;
    Incarnation incarnation = 0;
    std::vector<Duration> proofs;     // of life: the join, and each ping that came back
    std::optional<std::size_t> lost;  // how many proofs there were when the transport lost it
    bool draining = false, over = false;
  };

  void called(TimePoint now) { calls_.push_back(now); }
  Duration awake() const {
    Duration sum{};
    for (std::size_t i = 1; i < calls_.size(); ++i)
      sum += std::min(calls_[i] - calls_[i - 1], limits_.longest_gap);
    return sum;
  }
  MemberState state(const Life& life) const {
    const Duration silent = awake() - *std::max_element(life.proofs.begin(), life.proofs.end());
    if (life.over || silent >= limits_.dead_after) return MemberState::kDead;
    if (silent >= limits_.suspect_after) return MemberState::kSuspect;
    return life.lost == life.proofs.size() ? MemberState::kSuspect : MemberState::kAlive;
  }

 private:
  MembershipLimits limits_;
  std::vector<TimePoint> calls_;
};

// Nodes, processes that come and go, messages that are late, lost or doubled; all of it at random.
class World {
 public:
  explicit World(std::uint64_t seed) : dice_(seed) {}

  void step() {
    now_ += milliseconds(dice_() % 97 == 0 ? 3000 : dice_() % 60);
    switch (dice_() % 12) {
      case 0:
        return join();
      case 1:
      case 2:
      case 3:
        return ping();
      case 4:
        return one([&](NodeId node, History::Life& life) {
          members_.disconnected(node, now_, out_);
          history_.called(now_);
          if (!life.over && dead_or_gone(life) == false) life.lost = life.proofs.size();
        });
      case 5:
        return rarely([&](NodeId node, History::Life& life) {
          members_.drain(node, out_);
          life.draining = true;
        });
      case 6:
        return rarely([&](NodeId node, History::Life& life) {
          members_.leave(node, out_);
          life.over = true;
        });
      default:
        return report();
    }
  }

  void check() {
    members_.advance(now_, out_);
    history_.called(now_);
    std::size_t there = 0;
    for (auto& [id, life] : lives_) {
      const NodeId node{id.first, id.second};
      const Member* member = members_.find(node);
      if (history_.state(life) == MemberState::kDead) {
        life.over = true;
        ASSERT_EQ(member, nullptr) << life.name;
        continue;
      }
      ++there;
      ASSERT_NE(member, nullptr) << life.name;
      ASSERT_EQ(member->state, history_.state(life)) << life.name;
      ASSERT_EQ(member->draining, life.draining);
      ASSERT_EQ(members_.find(life.name), node);
    }
    ASSERT_EQ(members_.size(), there);
    check_events();
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  bool dead_or_gone(const History::Life& life) { return history_.state(life) == MemberState::kDead; }

  void join() {
    const std::string name(1, static_cast<char>('a' + dice_() % 5));
    const Incarnation incarnation = 1 + dice_() % 6;
    const auto alive = members_.find(name);
    const bool taken = alive && members_.find(*alive)->state == MemberState::kAlive &&
                       members_.find(*alive)->incarnation != incarnation;
    const auto node = members_.join(name, incarnation, now_, out_);
    history_.called(now_);
    auto& last = last_[name];
    const bool replaced = replaced_[name].contains(incarnation) && last != incarnation;
    ASSERT_EQ(node.has_value(), !replaced && !taken);
    if (!node) return;
    if (last != 0 && last != incarnation) replaced_[name].insert(last);
    last = incarnation;
    for (auto& [id, life] : lives_)
      if (life.name == name) life.over = true;
    ASSERT_TRUE(lives_
                    .emplace(Key{node->index, node->generation},
                             History::Life{name, incarnation, {history_.awake()}, {}, false, false})
                    .second);
  }

  void ping() {
    const Ping ping = members_.ping(now_);
    history_.called(now_);
    ASSERT_EQ(ping, history_.awake().count());
    pings_.push_back(ping);
  }

  void report() {
    one([&](NodeId node, History::Life& life) {
      Ping echo =
          pings_.empty() ? -1 : pings_[pings_.size() - 1 - dice_() % std::min<std::size_t>(6, pings_.size())];
      if (dice_() % 20 == 0) echo += 100'000'000'000;  // nobody sent that
      const bool known = members_.report(node, echo, now_, out_);
      history_.called(now_);
      const bool sent = std::find(pings_.begin(), pings_.end(), echo) != pings_.end();
      const bool newer = Duration(echo) > *std::max_element(life.proofs.begin(), life.proofs.end());
      if (!life.over && sent && newer) life.proofs.push_back(Duration(echo));
      ASSERT_EQ(known, !dead_or_gone(life));
      if (!known) life.over = true;
    });
  }

  template <class What>
  void one(What what) {
    if (lives_.empty()) return;
    auto it = lives_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(dice_() % lives_.size()));
    check();  // deaths that are due come first
    what(NodeId{it->first.first, it->first.second}, it->second);
  }
  template <class What>
  void rarely(What what) {
    if (dice_() % 6 == 0) one(what);
  }

  // Each life is told once from its beginning to its end, and alternates between suspicion and recovery.
  void check_events() {
    for (; told_ < out_.size(); ++told_) {
      const MemberEvent& event = out_[told_];
      auto& last = told_kind_[{event.node.index, event.node.generation}];
      const bool begins = event.kind == Kind::kJoined;
      ASSERT_EQ(last.empty(), begins);
      const auto count = [&](Kind kind) { return std::count(last.begin(), last.end(), kind); };
      ASSERT_EQ(count(Kind::kDied) + count(Kind::kLeft), 0);
      last.push_back(event.kind);
      const auto doubts = count(Kind::kSuspected) - count(Kind::kRecovered);
      ASSERT_TRUE(doubts == 0 || doubts == 1);
    }
  }

  static MembershipLimits limits() { return {}; }

  std::mt19937_64 dice_;
  TimePoint now_{};
  Membership members_{limits()};
  History history_{limits()};
  MemberEvents out_;
  std::map<Key, History::Life> lives_;
  std::map<std::string, Incarnation> last_;
  std::map<std::string, std::set<Incarnation>> replaced_;
  std::vector<Ping> pings_;
  std::size_t told_ = 0;
  std::map<Key, std::vector<Kind>> told_kind_;
};

TEST(MembershipWorlds, AgreeWithTheirHistory) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    World world(seed);
    for (int i = 0; i < 150; ++i) {
      ASSERT_NO_FATAL_FAILURE(world.step()) << "seed " << seed << " step " << i;
      ASSERT_NO_FATAL_FAILURE(world.check()) << "seed " << seed << " step " << i;
    }
  }
}

}  // namespace
}  // namespace volvox
