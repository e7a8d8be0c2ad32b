#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "protocol/bundle.h"

namespace volvox {

// Bundles that a client has sent, by the id of their first part, and which parts have no answer yet: each is
// to have exactly one, whatever the server says. A plain class; one thread.
class BundleFlights {
 public:
  void add(std::uint64_t first_id, std::size_t parts);
  bool contains(std::uint64_t first_id) const { return flights_.contains(first_id); }

  // Notes the answers of a reply to a bundle that is here; `last`: all its parts are answered now, and it is
  // forgotten. False, and nothing is noted: it names a part that there is not, or that was answered before.
  bool take(std::uint64_t first_id, const ReplyBundle& reply, bool& last);
  // The numbers of its parts that have no answer; none if it is not here.
  std::vector<std::uint32_t> unanswered(std::uint64_t first_id) const;
  // The same, and forgets the bundle.
  std::vector<std::uint32_t> give_up(std::uint64_t first_id);
  std::size_t parts_of(std::uint64_t first_id) const;  // those with an answer included; 0: it is not here

 private:
  struct Flight {
    std::vector<bool> answered;
    std::size_t left = 0;
  };

  std::unordered_map<std::uint64_t, Flight> flights_;
};

// The error of these parts, from the client library itself.
BundleReply local_bundle_reply(std::uint64_t first_id, const std::vector<std::uint32_t>& parts,
                               const Error& error, bool undecided, Duration elapsed);

}  // namespace volvox
