#include <algorithm>

#include "base/mixing.h"
#include "routing/router.h"

namespace volvox {
namespace {

constexpr std::size_t kMostLooks = 64;  // candidates that are looked at for one request

tl::unexpected<Error> no_credit() {
  return fail(ErrorCode::kOverloaded, "every node has as many requests as it takes; try again later");
}

tl::unexpected<Error> unsettled() {
  return fail(ErrorCode::kUnavailable, "this router does not know its nodes yet; try again soon");
}

tl::unexpected<Error> too_early() {
  return fail(ErrorCode::kUnavailable,
              "the nodes that serve the model have only just joined; try again at once, here or elsewhere");
}

tl::unexpected<Error> too_late() {
  return fail(ErrorCode::kDeadlineExceeded,
              "no node could begin the request before its deadline; allow more time or send less at once");
}

}  // namespace

Result<Router::Choice> Router::choose(const Question& question) {
  if (question.now >= question.info.deadline) return too_late();
  if (!question.info.home.empty()) return at_home(question);
  if (members_.size() == 0)
    return fail(ErrorCode::kUnavailable, "no node has joined this router yet; try again soon");
  const auto candidates = models_.candidates(question.info.model, question.info.model_version);
  if (!candidates && candidates.error().code == ErrorCode::kModelNotFound && !settled()) return unsettled();
  if (!candidates) return tl::unexpected(candidates.error());
  const Candidate* chosen = pick(*candidates, question);
  if (chosen == nullptr) {
    const bool heard = std::any_of(candidates->begin(), candidates->end(), [this](const Candidate& one) {
      return nodes_[one.node.index].requests.heard();
    });
    return heard ? no_credit() : too_early();
  }
  if (!begins_in_time(*chosen, question)) {
    chosen = in_time(*candidates, question);
    if (chosen == nullptr) return too_late();
  }
  return Choice{chosen->node, {cost(*chosen, question), question.info.bytes, 1}, models_.version(*chosen)};
}

Result<Router::Choice> Router::at_home(const Question& question) {
  const auto home = members_.find(question.info.home);
  if (!home) return tl::unexpected(homeless(question.info.home));
  if (members_.find(*home)->state != MemberState::kAlive)
    return fail(ErrorCode::kUnavailable, "the node that holds the session is silent; try again soon");
  if (!nodes_[home->index].requests.heard()) return too_early();
  if (!may_take(*home, question)) {
    nodes_[home->index].requests.missed(1);
    nodes_[home->index].bytes.missed(question.info.bytes);
    return no_credit();
  }
  return Choice{*home, {{}, question.info.bytes, 1}};
}

Error Router::homeless(std::string_view home) const {
  const auto ended = members_.ended(home);
  if (ended == MemberState::kLeft)
    return {ErrorCode::kSessionExpired,
            "the node that held the session was told to stop; begin a new session"};
  if (!ended && !settled()) return unsettled().value();
  return {ErrorCode::kSessionLost,
          "the node that held the session is gone, and its state with it; begin a new session"};
}

const Router::Candidate* Router::pick(Candidates candidates, const Question& question) {
  const std::size_t first = dice_() % candidates.size();
  const Candidate* chosen = nullptr;
  if (candidates.size() == 1 && !question.strictly) {
    chosen = next_free(candidates, first, {question.info, question.now, {}});
  } else if (question.info.affinity != 0) {
    chosen = nearest(candidates, question);
  } else if (limits_.placement == PlacementKind::kPack) {
    chosen = fullest(candidates, first, question);
  } else if (limits_.placement == PlacementKind::kBalance && candidates.size() > 1) {
    const std::size_t other = dice_() % (candidates.size() - 1);
    chosen = better(candidates[first], candidates[other + (other >= first ? 1 : 0)], question);
  }
  if (chosen == nullptr) chosen = next_free(candidates, first, question);
  if (chosen == nullptr) {
    nodes_[candidates[first].node.index].requests.missed(1);
    nodes_[candidates[first].node.index].bytes.missed(question.info.bytes);
  }
  return chosen;
}

// All routers that know the same nodes choose the same one, without a word between them (rendezvous hashing).
const Router::Candidate* Router::nearest(Candidates candidates, const Question& question) const {
  const Candidate* chosen = nullptr;
  std::uint64_t highest = 0;
  for (const Candidate& candidate : candidates) {
    const std::uint64_t weight = scattered(nodes_[candidate.node.index].name_hash ^ question.info.affinity);
    if (chosen != nullptr && weight <= highest) continue;
    if (!may_take(candidate.node, question)) continue;
    highest = weight;
    chosen = &candidate;
  }
  return chosen;
}

const Router::Candidate* Router::better(const Candidate& one, const Candidate& other,
                                        const Question& question) const {
  const bool may = may_take(one.node, question);
  if (!may_take(other.node, question)) return may ? &one : nullptr;
  if (!may) return &other;
  const Duration here = estimate(one.node) + cost(one, question);
  return estimate(other.node) + cost(other, question) < here ? &other : &one;
}

const Router::Candidate* Router::fullest(Candidates candidates, std::size_t first,
                                         const Question& question) const {
  const Candidate* chosen = nullptr;
  double most = -1;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostLooks); ++i) {
    const Candidate& candidate = candidates[(first + i) % candidates.size()];
    const Node& node = nodes_[candidate.node.index];
    const auto rows = static_cast<double>(node.rows) + static_cast<double>(attempts_.on(candidate.node));
    if (rows >= node.full_rows || rows / node.full_rows <= most) continue;
    if (!may_take(candidate.node, question)) continue;
    most = rows / node.full_rows;
    chosen = &candidate;
  }
  if (chosen != nullptr) return chosen;
  return better(candidates[first], candidates[(first + 1) % candidates.size()], question);
}

const Router::Candidate* Router::next_free(Candidates candidates, std::size_t first,
                                           const Question& question) const {
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostLooks); ++i) {
    const Candidate& candidate = candidates[(first + i) % candidates.size()];
    if (may_take(candidate.node, question)) return &candidate;
  }
  return nullptr;
}

// Urgent requests pass those that wait, so that nobody knows how soon they begin.
bool Router::begins_in_time(const Candidate& candidate, const Question& question) const {
  const Duration wait = std::max(nodes_[candidate.node.index].wait,
                                 question.info.urgent ? Duration::zero() : models_.wait(candidate));
  // The difference, not the sum: a deadline may be the end of time.
  return wait <= question.info.deadline - question.now;
}

const Router::Candidate* Router::in_time(Candidates candidates, const Question& question) {
  const std::size_t first = dice_() % candidates.size();
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostLooks); ++i) {
    const Candidate& candidate = candidates[(first + i) % candidates.size()];
    if (begins_in_time(candidate, question) && may_take(candidate.node, question)) return &candidate;
  }
  return nullptr;
}

bool Router::may_take(NodeId id, const Question& question) const {
  const Node& node = nodes_[id.index];
  return id != question.not_on && node.requests.may_send(1, question.info.urgent) &&
         node.bytes.may_send(question.info.bytes, question.info.urgent);
}

Duration Router::cost(const Candidate& candidate, const Question& question) const {
  return models_.cost(candidate, question.info.cells_hint);
}

}  // namespace volvox
