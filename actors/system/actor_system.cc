#include "actors/system/actor_system.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <caf/io/all.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/openssl/all.hpp>

#include "actors/system/shared_answer.h"
#include "actors/work/work.h"
#include "base/clock.h"

namespace volvox {
namespace {

// Who dials does so in its own thread, and answers when it is through.
constexpr std::chrono::seconds kDialerPatience{10};

void await_turn(caf::actor_system& system, const caf::io::middleman_actor& dialer) {
  const caf::scoped_actor self(system);
  self->request(dialer, kDialerPatience, caf::get_atom::value, system.node())
      .receive([](const caf::node_id&, const std::string&, std::uint16_t) {}, [](const caf::error&) {});
}

caf::actor_addr broker_of(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP")).address();
}

// Whoever watches one that has ended is told at once.
bool has_ended(caf::actor_system& system, const caf::actor_addr& address) {
  const auto broker = caf::actor_cast<caf::actor>(address);
  if (!broker) return true;
  const caf::scoped_actor self(system);
  bool ended = false;
  self->monitor(broker);
  self->receive([&ended](const caf::down_msg&) { ended = true; },
                caf::after(std::chrono::milliseconds(0)) >> [] {});
  self->demonitor(broker);
  return ended;
}

}  // namespace

bool connections_have_failed(caf::actor_system& system) {
  return has_ended(system, broker_of(system));
}

std::function<std::string()> watch_connections(caf::actor_system& system) {
  // No more than its address: an actor must not outlive its system.
  const caf::actor_addr broker = broker_of(system);
  auto shared = std::make_shared<SharedAnswer<bool>>([&system, broker] { return has_ended(system, broker); },
                                                     kAnswerIsFresh, steady_now);
  return [shared = std::move(shared)]() -> std::string {
    return shared->get() ? "the cluster's connections have failed; start this process again" : "";
  };
}

ActorSystem::~ActorSystem() {
  await_all_actors_done();
  // One that has failed would never answer.
  if (has_middleman() && connections_have_failed(*this)) return;
  if (has_middleman()) await_turn(*this, middleman().actor_handle());
  if (has_openssl_manager()) await_turn(*this, openssl_manager().actor_handle());
}

}  // namespace volvox
