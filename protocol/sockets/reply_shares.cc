#include "protocol/sockets/reply_shares.h"

#include <algorithm>

namespace volvox {

std::optional<std::uint64_t> ReplyShares::hold(const ClientId& client, std::size_t bytes) {
  auto known = numbers_.find(client);
  if (known == numbers_.end()) {
    // In this order, so that where memory is short nothing stays but a holder of nothing, which the next one
    // takes over.
    holders_.insert_or_assign(last_ + 1, Holder{client});
    known = numbers_.emplace(client, last_ + 1).first;
    ++last_;
  }
  Holder& holder = holders_.at(known->second);
  const std::size_t largest = std::max(holder.largest, bytes);
  const std::size_t held = holder.bytes + bytes;
  if (held - std::min(held, largest) > of_one_) return std::nullopt;
  holder.largest = largest;
  holder.bytes = held;
  ++holder.replies;
  bytes_ += bytes;
  ++replies_;
  return known->second;
}

void ReplyShares::give_back(std::uint64_t holder, std::size_t bytes) {
  const auto at = holders_.find(holder);
  if (at == holders_.end()) return;  // forgotten
  bytes_ -= bytes;
  --replies_;
  at->second.bytes -= bytes;
  if (--at->second.replies > 0) return;
  numbers_.erase(at->second.client);
  holders_.erase(at);
}

std::optional<ClientId> ReplyShares::must_go() const {
  if (bytes_ <= of_all_) return std::nullopt;
  const Holder* biggest = nullptr;
  for (const auto& [number, holder] : holders_) {
    if (biggest == nullptr || holder.bytes > biggest->bytes) biggest = &holder;
  }
  if (bytes_ - std::min(bytes_, biggest->largest) <= of_all_) return std::nullopt;
  return biggest->client;
}

std::size_t ReplyShares::forget(const ClientId& client) {
  const auto known = numbers_.find(client);
  if (known == numbers_.end()) return 0;
  const auto at = holders_.find(known->second);
  const std::size_t replies = at->second.replies;
  bytes_ -= at->second.bytes;
  replies_ -= replies;
  holders_.erase(at);
  numbers_.erase(known);
  return replies;
}

}  // namespace volvox
