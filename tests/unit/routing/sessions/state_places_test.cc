#include "routing/sessions/state_places.h"

#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

using Where = StatePlaces::Where;

// Sessions by their numbers; states of 10 bytes. Every call returns the text of what it wants done.
class Places : public ::testing::Test {
 protected:
  void enter(std::uint32_t session, std::uint32_t holder = 0, std::uint64_t share = 1000) {
    places_.enter({{session, 0}, {0, session}, 7}, holder, share, 10);
  }
  // One that has committed a part and is idle.
  void make(std::uint32_t session, std::uint32_t holder = 0) {
    enter(session, holder);
    EXPECT_EQ(line(session), "run " + std::to_string(session));
    places_.advance(session);
    idle(session);
  }
  std::string idle(std::uint32_t session) {
    places_.become_idle(session, out_);
    return told();
  }
  std::string line(std::uint32_t session) {
    places_.leave_idle(session);
    places_.stand_in_line(session);
    return serve();
  }
  std::string serve() { return told(places_.serve(out_)); }
  std::string spill(std::uint32_t session) { return told(places_.spill(session, out_)); }
  std::string spilled(std::uint32_t session, bool ok = true) {
    places_.spilled(session, ok, out_);
    return told();
  }
  std::string let_go(std::uint32_t session) {
    places_.leave_idle(session);
    places_.let_go(session, out_);
    return told();
  }
  void set_aside(std::uint32_t place) {
    places_.set_aside([place](StateSlot slot) { return slot / 2 == place; });
  }
  std::string told(StatePlaces::Step step = {}) {
    using Kind = StatePlaces::Step::Kind;
    std::string all = text(std::exchange(out_, {}));
    if (step.kind == Kind::kNone) return all;
    if (!all.empty()) all += "; ";
    if (step.kind == Kind::kFull) return all + "full";
    return all + (step.kind == Kind::kRun ? "run " : "evict ") + std::to_string(step.session);
  }
  SessionStats stats() const {
    SessionStats stats;
    places_.count(stats);
    return stats;
  }

  StatePlaces places_{2, 20};
  SessionActions out_;
};

TEST_F(Places, AreForThoseInLineTheFirstOneFirst) {
  for (const std::uint32_t session : {1U, 2U, 3U, 4U}) enter(session);
  EXPECT_EQ(line(1), "run 1");
  EXPECT_EQ(line(2), "run 2");
  EXPECT_EQ(line(3), "");
  EXPECT_EQ(line(4), "");
  EXPECT_EQ(places_.first_in_line(), 3U);
  EXPECT_TRUE(places_.line_is_stuck()) << "nobody is idle";
  EXPECT_EQ(idle(2), "free 2") << "it has no state";
  EXPECT_EQ(serve(), "run 3");
  places_.leave_line(4);
  EXPECT_EQ(places_.first_in_line(), kNoIndex);
  EXPECT_EQ(stats().resident, 2U);
}

TEST_F(Places, APartReadsOneSlotAndWritesTheOther) {
  enter(1);
  EXPECT_EQ(places_.slot(1), std::nullopt);
  EXPECT_EQ(line(1), "run 1");
  EXPECT_EQ(places_.slot(1), 0U);
  EXPECT_EQ(places_.read(1), kInitialState);
  EXPECT_EQ(places_.write(1), 0U);
  places_.advance(1);
  EXPECT_EQ(places_.read(1), 0U);
  EXPECT_EQ(places_.write(1), 1U);
}

TEST_F(Places, TheLeastRecentlyActiveGivesUpItsSlots) {
  make(1);
  make(2);
  places_.touch(1);
  enter(3);
  EXPECT_EQ(line(3), "spill 2 2");
  EXPECT_EQ(places_.where(2), Where::kSpilling);
  EXPECT_FALSE(places_.line_is_stuck());
  EXPECT_EQ(serve(), "") << "one spill for one in line";
  EXPECT_EQ(spilled(2), "free 2");
  EXPECT_EQ(serve(), "run 3");
  EXPECT_EQ(line(2), "spill 1 0");
  EXPECT_EQ(spilled(1), "free 1");
  EXPECT_EQ(serve(), "restore 2 0");
  EXPECT_TRUE(places_.copying(2));
  places_.restored(2, true);
  EXPECT_EQ(places_.where(2), Where::kResident);
  EXPECT_EQ(stats().spilled_bytes, 10U) << "of 1";
}

TEST_F(Places, WhoseSpillFailedKeepsItsSlots) {
  make(1);
  make(2);
  enter(3);
  EXPECT_EQ(line(3), "spill 1 0");
  EXPECT_EQ(spilled(1, false), "");
  EXPECT_EQ(places_.where(1), Where::kResident);
  places_.spare(1);
  EXPECT_EQ(serve(), "spill 2 2") << "the other one first";
  EXPECT_EQ(stats().failed_spills, 1U);
}

TEST_F(Places, HostMemoryIsGivenUpByWhoHoldsMost) {
  for (const std::uint32_t session : {1U, 2U}) {
    make(session);
    EXPECT_EQ(spill(session).substr(0, 5), "spill");
    spilled(session);
  }
  EXPECT_EQ(stats().spilled_bytes, 20U) << "all that there is";
  make(3);
  make(4);
  enter(5, 1);
  EXPECT_EQ(line(5), "evict 1") << "its holder has more than that of 5";
  EXPECT_EQ(let_go(1), "forget 1");
  EXPECT_EQ(serve(), "spill 3 0");
}

TEST_F(Places, NobodyGivesUpHostMemoryForItself) {
  for (const std::uint32_t session : {1U, 2U}) {
    make(session);
    spill(session);
    spilled(session);
  }
  make(3);
  make(4);
  enter(5);
  EXPECT_EQ(line(5), "full");
  EXPECT_EQ(stats().failed_spills, 1U);
}

TEST_F(Places, WhoHasNothingElseToGiveUpIsEvictedItself) {
  enter(1, 0, 5);
  EXPECT_EQ(line(1), "run 1");
  places_.advance(1);
  idle(1);
  make(2, 2);
  enter(3, 1);
  EXPECT_EQ(line(3), "evict 1") << "its state is more than its holder's share";
  EXPECT_EQ(let_go(1), "free 1");
  EXPECT_EQ(serve(), "run 3");
}

TEST_F(Places, WhoHasNoStateGoesBehind) {
  for (const std::uint32_t session : {1U, 2U, 3U}) {
    enter(session);
    line(session);
  }
  places_.go_behind(1, out_);
  EXPECT_EQ(told(), "free 1");
  EXPECT_EQ(serve(), "run 3");
  EXPECT_EQ(places_.first_in_line(), 1U);
}

TEST_F(Places, FewerMayBeAllowed) {
  places_.allow(1);
  make(1);
  enter(2);
  EXPECT_EQ(line(2), "spill 1 0");
  places_.allow(2);
  EXPECT_EQ(serve(), "run 2");
}

TEST_F(Places, ThoseSetAsideDoNotCountAndAreTakenFromNobody) {
  make(1);
  places_.allow(1);
  set_aside(0);
  EXPECT_TRUE(places_.aside(1));
  enter(2);
  EXPECT_EQ(line(2), "run 2");
  places_.advance(2);
  EXPECT_EQ(idle(2), "");
  enter(3);
  EXPECT_EQ(line(3), "spill 2 2") << "that of 1 would be of no use";
  EXPECT_EQ(spilled(2), "free 2");
  EXPECT_EQ(serve(), "run 3");
  EXPECT_EQ(let_go(1), "free 1");
  enter(4);
  EXPECT_EQ(line(4), "") << "what was set aside leaves no room for others";
  EXPECT_TRUE(places_.line_is_stuck());
}

TEST_F(Places, NobodyInLineHopesForSlotsThatAreSetAside) {
  make(1);
  make(2);
  enter(3);
  EXPECT_EQ(line(3), "spill 1 0");
  places_.allow(1);
  set_aside(0);
  EXPECT_EQ(serve(), "spill 2 2");
  EXPECT_EQ(stats().copying, 2U);
  EXPECT_EQ(spilled(2), "free 2");
  EXPECT_EQ(serve(), "run 3");
  EXPECT_EQ(spilled(1), "free 1");
  EXPECT_EQ(stats().copying, 0U);
  EXPECT_EQ(stats().resident, 1U);
}

TEST_F(Places, ThatAreNoLongerAsideAreAsTheyWere) {
  make(1);
  make(2);
  set_aside(0);
  enter(3);
  EXPECT_EQ(line(3), "spill 2 2");
  set_aside(1);
  EXPECT_EQ(serve(), "spill 1 0");
  set_aside(kNoIndex);
  EXPECT_EQ(serve(), "") << "two spills for one in line";
  EXPECT_EQ(spilled(1), "free 1");
  EXPECT_EQ(serve(), "run 3");
}

}  // namespace
}  // namespace volvox::desk
