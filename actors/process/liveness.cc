#include "actors/process/liveness.h"

#include <chrono>
#include <utility>

#include "actors/system/handoff.h"
#include "actors/system/shared_answer.h"
#include "actors/work/work.h"
#include "base/clock.h"

namespace volvox {
namespace {

constexpr Duration kAnswerPatience = std::chrono::seconds(1);

}  // namespace

std::optional<Liveness> ask_alive(const ActorSlot& slot) {
  const caf::actor actor = slot.get();
  if (!actor) return std::nullopt;
  AliveQuery query{std::make_shared<std::promise<Liveness>>()};
  auto answer = query.answer->get_future();
  hand_over();
  caf::anon_send(actor, std::move(query));
  if (answer.wait_for(kAnswerPatience) != std::future_status::ready) return std::nullopt;
  try {
    return answer.get();
  } catch (const std::future_error&) {  // the actor failed with the question in its mailbox
    return std::nullopt;
  }
}

std::function<std::optional<Liveness>()> shared_alive(std::shared_ptr<ActorSlot> slot) {
  auto shared = std::make_shared<SharedAnswer<std::optional<Liveness>>>(
      [slot = std::move(slot)] { return ask_alive(*slot); }, kAnswerIsFresh, steady_now);
  return [shared = std::move(shared)] { return shared->get(); };
}

std::function<std::string()> watch_alive(std::string name, std::function<std::optional<Liveness>()> alive) {
  return [name = std::move(name), alive = std::move(alive)] {
    return alive() ? std::string() : "the " + name + " does not answer";
  };
}

}  // namespace volvox
