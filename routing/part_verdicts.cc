#include "routing/part_verdicts.h"

#include <utility>

namespace volvox {

Error nobody_knows() {
  return {
      ErrorCode::kUnavailable,
      "nobody knows whether this part of the session was done; repeat it unchanged, with the same sequence"};
}

void PartVerdicts::begin(std::uint32_t part) {
  parts_[part] = {false, std::nullopt, ++serial_};
}

void PartVerdicts::lost(std::uint32_t part) {
  const auto found = parts_.find(part);
  if (found != parts_.end()) found->second.lost = true;
}

bool PartVerdicts::stop(std::uint32_t part, ErrorCode why, TimePoint now) {
  const auto found = parts_.find(part);
  if (found == parts_.end()) return false;
  if (!found->second.stopped) {
    found->second.stopped = why;
    waiting_.push_back({now + patience_, part, found->second.serial});
  }
  return true;
}

bool PartVerdicts::stopped(std::uint32_t part) const {
  const auto found = parts_.find(part);
  return found != parts_.end() && found->second.stopped;
}

PartVerdict PartVerdicts::failed(std::uint32_t part, Error error) {
  const auto found = parts_.find(part);
  if (found == parts_.end()) return {std::move(error), false};
  const Part known = found->second;
  parts_.erase(found);
  // Nobody goes on with such a session, whatever the part has done to it.
  if (error.code == ErrorCode::kSessionLost || error.code == ErrorCode::kSessionExpired)
    return {std::move(error), false};
  if (known.lost) return {nobody_knows(), true};
  // A home that speaks an older protocol does not hear why.
  if (error.code == ErrorCode::kCancelled && known.stopped == ErrorCode::kDeadlineExceeded)
    error = {ErrorCode::kDeadlineExceeded, "the deadline passed; allow more time or send less at once"};
  return {std::move(error), false};
}

void PartVerdicts::overdue(TimePoint now, std::vector<std::uint32_t>& out) {
  for (; !waiting_.empty() && waiting_.front().until <= now; waiting_.pop_front()) {
    const auto found = parts_.find(waiting_.front().part);
    if (found == parts_.end() || found->second.serial != waiting_.front().serial) continue;
    found->second.lost = true;
    out.push_back(waiting_.front().part);
  }
}

}  // namespace volvox
