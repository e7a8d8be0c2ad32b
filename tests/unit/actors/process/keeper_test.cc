#include "actors/process/keeper.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "actors/process/liveness.h"
#include "actors/work/messages.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Actors that say they are alive, and a keeper that keeps one of them going.
class Keeper : public testing::Test {
 protected:
  Keeper() {
    KeeperSetup setup{"test actor", spawn(), {}, slot_, [this] { ++restarts_; }};
    setup.restart = [this]() -> Result<caf::actor> {
      if (failures_ > 0) {
        --failures_;
        return fail(ErrorCode::kUnavailable, "not yet");
      }
      return spawn();
    };
    keeper_ = spawn_keeper(system_, std::move(setup));
  }
  ~Keeper() override { caf::anon_send_exit(keeper_, caf::exit_reason::user_shutdown); }

  caf::actor spawn() {
    return system_.spawn([](caf::event_based_actor* self) -> caf::behavior {
      return {[](const AliveQuery& query) { query.answer->set_value({}); },
              [self](TickAtom) { self->quit(caf::sec::runtime_error); }, [self](RetryAtom) { self->quit(); }};
    });
  }
  // Whether there is an actor that is not this one, within the time.
  bool replaced(const caf::actor& last, seconds time = seconds(20)) const {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      const caf::actor next = slot_->get();
      if (next && next != last && ask_alive(*slot_)) return true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  }
  caf::actor current() const {
    while (!slot_->get()) std::this_thread::sleep_for(milliseconds(1));
    return slot_->get();
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::shared_ptr<ActorSlot> slot_ = std::make_shared<ActorSlot>();
  std::atomic<int> failures_{0}, restarts_{0};
  caf::actor keeper_;
};

TEST_F(Keeper, OneThatFailsIsReplaced) {
  const caf::actor first = current();
  ASSERT_TRUE(ask_alive(*slot_));
  caf::anon_send(first, TickAtom::value);
  ASSERT_TRUE(replaced(first));
  const caf::actor second = current();
  caf::anon_send_exit(second, caf::exit_reason::kill);
  EXPECT_TRUE(replaced(second));
  EXPECT_EQ(restarts_, 2);
}

TEST_F(Keeper, ItTriesUntilThereIsAnother) {
  failures_ = 3;
  const caf::actor first = current();
  caf::anon_send(first, TickAtom::value);
  EXPECT_TRUE(replaced(first));
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(restarts_, 1);
}

TEST_F(Keeper, OneThatLeavesIsLetGo) {
  auto gone = std::make_shared<std::promise<void>>();
  keeper_->attach_functor([gone] { gone->set_value(); });
  caf::anon_send(current(), RetryAtom::value);
  ASSERT_EQ(gone->get_future().wait_for(seconds(20)), std::future_status::ready) << "the keeper ends, too";
  EXPECT_FALSE(slot_->get());
  EXPECT_FALSE(ask_alive(*slot_));
  EXPECT_EQ(restarts_, 0);
}

TEST_F(Keeper, ItEndsWithItsActor) {
  const caf::actor kept = current();
  auto gone = std::make_shared<std::promise<void>>();
  kept->attach_functor([gone] { gone->set_value(); });
  caf::anon_send_exit(keeper_, caf::exit_reason::user_shutdown);
  ASSERT_EQ(gone->get_future().wait_for(seconds(20)), std::future_status::ready);
  EXPECT_FALSE(slot_->get());
}

}  // namespace
}  // namespace volvox
