#include "routing/credits.h"

#include <algorithm>
#include <cmath>

namespace volvox {
namespace {

constexpr double kMemory = 0.75;     // of the demand, from one split to the next
constexpr std::uint64_t kMuch = 16;  // such a part of the total

std::uint64_t part(std::uint64_t whole, double share) {
  return std::min(whole, static_cast<std::uint64_t>(static_cast<double>(whole) * share));
}

}  // namespace

CreditSplit::CreditSplit(std::uint64_t total, double floor_share)
    : total_(total), floor_share_(std::clamp(floor_share, 0.0, 1.0)) {}

void CreditSplit::add(Router router) {
  shares_[router] = {};
}

void CreditSplit::remove(Router router) {
  shares_.erase(router);
}

Status CreditSplit::take(Router router, std::uint64_t amount) {
  const auto share = shares_.find(router);
  if (share == shares_.end()) return fail(ErrorCode::kUnavailable, "the router has not joined; join first");
  const std::uint64_t left = share->second.limit - share->second.given_back - share->second.taken;
  if (amount > left)
    return fail(ErrorCode::kOverloaded, "the router has no credit left for this; wait for more");
  share->second.taken += amount;
  return {};
}

void CreditSplit::finish(Router router, std::uint64_t amount) {
  const auto share = shares_.find(router);
  if (share == shares_.end()) return;
  const std::uint64_t ended = std::min(amount, share->second.taken - share->second.finished);
  share->second.finished += ended;
  ended_ += ended;
}

void CreditSplit::heard(Router router, std::uint64_t wanted, std::uint64_t given_back) {
  const auto found = shares_.find(router);
  if (found == shares_.end()) return;
  Share& share = found->second;
  share.wanted = std::max(share.wanted, wanted);
  // Only what was not spent can be given back.
  share.given_back = std::clamp(given_back, share.given_back, share.limit - share.taken);
}

void CreditSplit::set_windows() {
  double all = 0;
  for (auto& [router, share] : shares_) {
    const auto lately = static_cast<double>(share.wanted - share.seen);
    share.seen = share.wanted;
    share.demand = kMemory * share.demand + (1 - kMemory) * lately;
    all += share.demand;
  }
  const auto count = static_cast<double>(shares_.size());
  for (auto& [router, share] : shares_) {
    const double by_demand = all > 0 ? share.demand / all : 1 / count;
    // One share of the floor stays free: a router that comes has credit at once, before others give any back.
    share.window = part(total_, floor_share_ / (count + 1) + (1 - floor_share_) * by_demand);
  }
}

bool CreditSplit::is_due() const {
  return ended_ * kMuch >= total_ && ended_ > 0;
}

void CreditSplit::split() {
  ended_ = 0;
  set_windows();
  std::uint64_t missing = 0;
  for (const auto& [router, share] : shares_)
    if (share.window > share.held()) missing += share.window - share.held();
  const std::uint64_t free = total_ - out();
  std::uint64_t left = free;
  for (auto& [router, share] : shares_) {
    if (share.window <= share.held() || left == 0) continue;
    const std::uint64_t needed = share.window - share.held();
    const double scarcity = std::min(1.0, static_cast<double>(free) / static_cast<double>(missing));
    const auto fair = static_cast<std::uint64_t>(std::ceil(static_cast<double>(needed) * scarcity));
    const std::uint64_t more = std::min({needed, fair, left});
    share.limit += more;
    left -= more;
  }
}

CreditGrant CreditSplit::grant(Router router) const {
  const auto share = shares_.find(router);
  if (share == shares_.end()) return {};
  return {share->second.limit, share->second.window};
}

std::uint64_t CreditSplit::out() const {
  std::uint64_t held = 0;
  for (const auto& [router, share] : shares_) held += share.held();
  return held;
}

bool CreditLine::may_send(std::uint64_t amount, bool urgent) const {
  const std::uint64_t reserved = urgent ? 0 : part(window_, reserved_share_);
  return available() >= reserved && available() - reserved >= amount;
}

void CreditLine::granted(const CreditGrant& grant) {
  limit_ = std::max(limit_, grant.limit);
  window_ = grant.window;
  const std::uint64_t in_flight = sent_ - finished_;
  const std::uint64_t wanted = window_ > in_flight ? window_ - in_flight : 0;
  if (available() > wanted) given_back_ += available() - wanted;
}

}  // namespace volvox
