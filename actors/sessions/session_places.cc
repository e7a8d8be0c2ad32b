#include "actors/sessions/session_places.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace volvox {
namespace {

constexpr std::uint32_t kWord = 64;

constexpr std::uint64_t bit(std::uint32_t number) {
  return std::uint64_t{1} << number % kWord;
}

}  // namespace

NumberLender::NumberLender(std::uint32_t count) : count_(count), free_(count / kWord + 1) {
  for (std::uint32_t number = 0; number < count; ++number) free_[number / kWord] |= bit(number);
}

struct NumberLender::Lent {
  explicit Lent(std::shared_ptr<NumberLender> from) : lender(std::move(from)) {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    if (number) lender->give_back(*number);
  }

  const std::shared_ptr<NumberLender> lender;
  std::optional<std::uint32_t> number;
};

LentNumber NumberLender::take(std::uint32_t limit) {
  auto lent = std::make_shared<Lent>(shared_from_this());
  limit = std::min(limit, count_);
  const std::lock_guard lock(mutex_);
  for (std::uint32_t word = limit / kWord + 1; word-- > 0;) {
    std::uint64_t& all = free_[word];
    const std::uint64_t below = word == limit / kWord ? all & (bit(limit) - 1) : all;
    if (below == 0) continue;
    lent->number = word * kWord + static_cast<std::uint32_t>(std::bit_width(below)) - 1;
    all &= ~bit(*lent->number);
    return {lent, &*lent->number};
  }
  return nullptr;
}

void NumberLender::give_back(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  free_[number / kWord] |= bit(number);
}

SessionPlaces::SessionPlaces(std::uint32_t count)
    : count_(count), places_(std::make_shared<NumberLender>(count)) {}

std::shared_ptr<NumberLender> SessionPlaces::slots_of(std::uint64_t serial, std::uint32_t places) {
  const std::lock_guard lock(mutex_);
  std::erase_if(slots_, [](const auto& known) { return known.second.expired(); });
  auto& known = slots_[serial];
  std::shared_ptr<NumberLender> slots = known.lock();
  if (!slots) known = slots = std::make_shared<NumberLender>(2 * places);
  return slots;
}

}  // namespace volvox
