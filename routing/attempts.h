#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/index_pool.h"
#include "base/time.h"
#include "routing/node_id.h"

namespace volvox {

// Names one attempt to run a request on a node; it travels with it and comes back with the answer.
struct AttemptId {
  std::uint32_t index = kNoIndex;
  std::uint32_t generation = 0;
  std::uint32_t number = 0;  // of the attempts at this request, from 1
  bool operator==(const AttemptId&) const = default;
};

// What an attempt means to its node, and is given back when it ends.
struct Charge {
  Duration work{};
  std::uint64_t bytes = 0, requests = 0;
};

// Which requests are where? A node that dies takes them along, and nobody else knows which; and a node that
// was given up may answer after all. This table knows each request's newest attempt. Only that one's answer
// counts, and it counts once. O(1) each. Pure; one thread at a time.
class AttemptTable {
 public:
  // `request` is the caller's number for it.
  AttemptId begin(std::uint64_t request, NodeId node, const Charge& charge);
  // Another attempt takes the place of this one, which must be the newest.
  AttemptId again(AttemptId last, NodeId node, const Charge& charge);
  // The request needs nothing any more: answered, refused or cancelled. What its number was; nothing when
  // this was not its newest attempt, or it has ended before.
  std::optional<std::uint64_t> end(AttemptId attempt);

  // Takes the requests from a node; each waits for again() or end(). In the order in which they were sent.
  std::vector<AttemptId> take_from(NodeId node);

  bool newest(AttemptId attempt) const;
  // Nothing when it is not the newest, or waits for the next.
  std::optional<NodeId> node(AttemptId attempt) const;
  std::optional<std::uint64_t> request(AttemptId attempt) const;
  // What it costs its node; from then on nothing.
  Charge take_charge(AttemptId attempt);
  std::size_t on(NodeId node) const;  // requests there
  std::size_t size() const { return records_.used(); }

 private:
  struct Record {
    std::uint64_t request = 0;
    Charge charge;
    std::uint32_t number = 0;
    NodeId node;  // of nobody: waits
    ListLinks links;
  };
  struct Place {
    NodeId node;
    IndexList<Record, &Record::links> requests;
  };

  AttemptId id(std::uint32_t index) const;
  void put(std::uint32_t index, NodeId node, const Charge& charge);
  void take_off(std::uint32_t index);

  IndexPool<Record> records_;
  std::vector<Place> places_;  // by the node's index
};

}  // namespace volvox
