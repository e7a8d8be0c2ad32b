#include "actors/system/coordinator.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "actors/system/actor_system.h"

namespace volvox {
namespace {

struct House {
  SystemConfig config{1};
  ActorSystem system{config};
  QuietClock& clock = dynamic_cast<Coordinator&>(system.scheduler()).clock();
};

// An actor counts as done a moment before its clock hears of it.
void await_ends(const QuietClock& clock, std::uint64_t count) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (clock.ends() < count && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(clock.ends(), count);
}

TEST(Coordinator, TellsTheClockNothingOfActorsWithoutTimeouts) {
  House house;
  for (int i = 0; i < 100; ++i) {
    house.system.spawn([](caf::event_based_actor* self) { self->quit(); });
  }
  house.system.await_all_actors_done();
  house.system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {caf::after(std::chrono::milliseconds(1)) >> [self] { self->quit(); }};
  });
  house.system.await_all_actors_done();
  await_ends(house.clock, 1);  // that of the last, behind all others
}

TEST(Coordinator, TimeoutsComeAndAreForgottenWithTheirActors) {
  House house;
  house.system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {caf::after(std::chrono::milliseconds(1)) >> [self] { self->quit(); }};
  });
  house.system.await_all_actors_done();  // for ever, if it never came
  await_ends(house.clock, 1);
  const caf::actor patient = house.system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int) { self->quit(); }, caf::after(std::chrono::seconds(3600)) >> [] {}};
  });
  caf::anon_send(patient, 1);
  house.system.await_all_actors_done();
  await_ends(house.clock, 2);
}

TEST(Coordinator, DelaysMessagesAndEndsRequests) {
  House house;
  const caf::actor silent = house.system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int) { return self->make_response_promise(); }};
  });
  const caf::scoped_actor self(house.system);
  self->delayed_send(self, std::chrono::milliseconds(1), 7);
  int got = 0;
  self->receive([&got](int value) { got = value; });
  EXPECT_EQ(got, 7);
  caf::error error;
  self->request(silent, std::chrono::milliseconds(1), 1)
      .receive([] {}, [&error](caf::error& timeout) { error = std::move(timeout); });
  EXPECT_EQ(error, caf::sec::request_timeout);
  self->send_exit(silent, caf::exit_reason::user_shutdown);
}

}  // namespace
}  // namespace volvox
