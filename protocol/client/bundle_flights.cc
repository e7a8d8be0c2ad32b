#include "protocol/client/bundle_flights.h"

namespace volvox {

void BundleFlights::add(std::uint64_t first_id, std::size_t parts) {
  flights_[first_id] = {std::vector<bool>(parts), parts};
}

bool BundleFlights::take(std::uint64_t first_id, const ReplyBundle& reply, bool& last) {
  const auto found = flights_.find(first_id);
  if (found == flights_.end()) return false;
  Flight& flight = found->second;
  std::size_t noted = 0;
  const auto note = [&](std::uint32_t part) {
    if (part >= flight.answered.size() || flight.answered[part]) return false;
    flight.answered[part] = true;
    ++noted;
    return true;
  };
  bool fits = true;
  for (std::size_t i = 0; i < reply.done.size() && fits; ++i) fits = note(reply.done[i]);
  const std::size_t done = noted;
  for (std::size_t i = 0; i < reply.errors.size() && fits; ++i) fits = note(reply.errors[i].part);
  if (!fits) {  // as if it had not come
    for (std::size_t i = 0; i < done; ++i) flight.answered[reply.done[i]] = false;
    for (std::size_t i = 0; i + done < noted; ++i) flight.answered[reply.errors[i].part] = false;
    return false;
  }
  flight.left -= noted;
  last = flight.left == 0;
  if (last) flights_.erase(found);
  return true;
}

std::vector<std::uint32_t> BundleFlights::unanswered(std::uint64_t first_id) const {
  std::vector<std::uint32_t> parts;
  const auto found = flights_.find(first_id);
  if (found == flights_.end()) return parts;
  const std::vector<bool>& answered = found->second.answered;
  for (std::size_t i = 0; i < answered.size(); ++i) {
    if (!answered[i]) parts.push_back(static_cast<std::uint32_t>(i));
  }
  return parts;
}

std::vector<std::uint32_t> BundleFlights::give_up(std::uint64_t first_id) {
  std::vector<std::uint32_t> parts = unanswered(first_id);
  flights_.erase(first_id);
  return parts;
}

std::size_t BundleFlights::parts_of(std::uint64_t first_id) const {
  const auto found = flights_.find(first_id);
  return found == flights_.end() ? 0 : found->second.answered.size();
}

BundleReply local_bundle_reply(std::uint64_t first_id, const std::vector<std::uint32_t>& parts,
                               const Error& error, bool undecided, Duration elapsed) {
  BundleReply reply;
  reply.first_id = first_id;
  reply.final = reply.local = true;
  reply.elapsed = elapsed;
  reply.body.errors.reserve(parts.size());
  for (const std::uint32_t part : parts) reply.body.errors.push_back({part, error, undecided, 0});
  return reply;
}

}  // namespace volvox
