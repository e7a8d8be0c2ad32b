#include "actors/cluster/router_seats.h"

#include <functional>
#include <future>

#include <gtest/gtest.h>

#include "actors/system/system_config.h"

namespace volvox {
namespace {

const std::string kOne = "127.0.0.1:1", kTwo = "127.0.0.1:2", kThree = "127.0.0.1:3";

class RouterSeatsTest : public testing::Test {
 protected:
  // Runs inside an actor, as seats have to.
  void with_seats(std::uint32_t most, const std::function<void(RouterSeats&)>& test) {
    std::promise<void> done;
    system_.spawn([&](caf::event_based_actor* self) {
      RouterSeats seats({self, *transport_, &metrics_, {}, most});
      test(seats);
      seats.close();
      done.set_value();
    });
    done.get_future().wait();
  }
  caf::actor router() {
    return system_.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  }

 private:
  prometheus::Registry registry_;
  ClusterMetrics metrics_{registry_};
  Result<std::shared_ptr<const ClusterTransport>> transport_ = ClusterTransport::open({}, metrics_);
  SystemConfig config_{1, transport_->get()};
  caf::actor_system system_{config_};
};

TEST_F(RouterSeatsTest, AreForAllThatIsListed) {
  with_seats(4, [](RouterSeats& seats) {
    seats.list({kOne, kTwo});
    ASSERT_EQ(seats.size(), 2U);
    EXPECT_EQ(seats[0].address, kOne);
    EXPECT_EQ(seats[1].address, kTwo);
    seats.list({kOne, kTwo});
    EXPECT_EQ(seats.size(), 2U);
  });
}

TEST_F(RouterSeatsTest, AreNoMoreThanTheBound) {
  with_seats(2, [](RouterSeats& seats) {
    seats.list({kOne, kTwo, kThree});
    ASSERT_EQ(seats.size(), 2U);
    seats.list({kTwo, kThree});
    EXPECT_EQ(seats[0].address, kThree) << "one was free again";
  });
}

TEST_F(RouterSeatsTest, AreTakenAnewInAnotherEpoch) {
  with_seats(4, [](RouterSeats& seats) {
    seats.list({kOne});
    const std::uint32_t before = seats[0].epoch;
    seats.list({kTwo});
    ASSERT_EQ(seats.size(), 1U);
    EXPECT_EQ(seats[0].address, kTwo);
    EXPECT_NE(seats[0].epoch, before) << "an answer for the one before would be taken for its own";
    EXPECT_FALSE(seats.link({0, kOne, {}})) << "its dialer was too late";
  });
}

TEST_F(RouterSeatsTest, KeepALinkWhoseAddressIsNotListedAnyMore) {
  const caf::actor there = router();
  with_seats(4, [&](RouterSeats& seats) {
    seats.list({kOne});
    ASSERT_TRUE(seats.link({0, kOne, there}));
    seats.list({kTwo});
    EXPECT_EQ(seats[0].address, kOne);
    EXPECT_EQ(seats.find(there.address()), 0U);
    seats.unlink(0);
    EXPECT_TRUE(seats[0].address.empty());
    EXPECT_EQ(seats.find(there.address()), std::nullopt);
  });
}

TEST_F(RouterSeatsTest, LinkARouterWithTwoAddressesOnce) {
  const caf::actor there = router();
  with_seats(4, [&](RouterSeats& seats) {
    seats.list({kOne, kTwo});
    ASSERT_TRUE(seats.link({0, kOne, there}));
    EXPECT_FALSE(seats.link({1, kTwo, there}));
    EXPECT_TRUE(seats[1].twin);
    seats.list({kOne, kTwo});
    EXPECT_FALSE(seats[1].twin) << "its other way is tried again";
    seats.unlink(0);
    EXPECT_TRUE(seats.link({1, kTwo, there}));
  });
}

}  // namespace
}  // namespace volvox
