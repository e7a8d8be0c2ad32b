#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include <caf/all.hpp>

#include "actors/system/actor_slot.h"

namespace volvox {

// What an actor that serves says of itself, when it is asked whether it still does.
struct Liveness {
  std::size_t nodes = 0;  // of a router: those that take requests
};

// monitoring → anyone who serves; router → manager. Dropped unanswered, it breaks its promise.
struct AliveQuery {
  std::shared_ptr<std::promise<Liveness>> answer;
};

// Asks the actor of the moment; nothing when there is none, or it says nothing in time. Any thread; blocks.
std::optional<Liveness> ask_alive(const ActorSlot& slot);

// ask_alive(), but at most one question is under way, and an answer is good for a moment, however many ask.
std::function<std::optional<Liveness>()> shared_alive(std::shared_ptr<ActorSlot> slot);

// For Monitor: "the NAME does not answer", or nothing.
std::function<std::string()> watch_alive(std::string name, std::function<std::optional<Liveness>()> alive);

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::AliveQuery)
