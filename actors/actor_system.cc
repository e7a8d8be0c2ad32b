#include "actors/actor_system.h"

#include <chrono>
#include <string>

#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>

namespace volvox {
namespace {

// Who dials does so in its own thread, and answers when it is through.
constexpr std::chrono::seconds kPatience{10};

void await_turn(caf::actor_system& system, const caf::io::middleman_actor& dialer) {
  const caf::scoped_actor self(system);
  self->request(dialer, kPatience, caf::get_atom::value, system.node())
      .receive([](const caf::node_id&, const std::string&, std::uint16_t) {}, [](const caf::error&) {});
}

}  // namespace

ActorSystem::~ActorSystem() {
  await_all_actors_done();
  if (has_middleman()) await_turn(*this, middleman().actor_handle());
  if (has_openssl_manager()) await_turn(*this, openssl_manager().actor_handle());
}

}  // namespace volvox
