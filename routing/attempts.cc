#include "routing/attempts.h"

#include <utility>

namespace volvox {

AttemptId AttemptTable::id(std::uint32_t index) const {
  return {index, records_.generation(index), records_[index].number};
}

bool AttemptTable::newest(AttemptId attempt) const {
  return records_.valid(attempt.index, attempt.generation) &&
         records_[attempt.index].number == attempt.number;
}

void AttemptTable::put(std::uint32_t index, NodeId node, const Charge& charge) {
  if (node.index >= places_.size()) places_.resize(node.index + 1);
  Place& place = places_[node.index];
  if (place.node != node) {
    take_from(place.node);
    place.node = node;
  }
  records_[index].node = node;
  records_[index].charge = charge;
  place.requests.push_back(records_, index);
}

void AttemptTable::take_off(std::uint32_t index) {
  Record& record = records_[index];
  if (record.node == NodeId{}) return;
  places_[record.node.index].requests.erase(records_, index);
  record.node = {};
}

AttemptId AttemptTable::begin(std::uint64_t request, NodeId node, const Charge& charge) {
  const std::uint32_t index = records_.take();
  records_[index].request = request;
  records_[index].number = 1;
  put(index, node, charge);
  return id(index);
}

AttemptId AttemptTable::again(AttemptId last, NodeId node, const Charge& charge) {
  take_off(last.index);
  ++records_[last.index].number;
  put(last.index, node, charge);
  return id(last.index);
}

std::optional<std::uint64_t> AttemptTable::end(AttemptId attempt) {
  if (!newest(attempt)) return std::nullopt;
  const std::uint64_t request = records_[attempt.index].request;
  take_off(attempt.index);
  records_.give_back(attempt.index);
  return request;
}

std::vector<AttemptId> AttemptTable::take_from(NodeId node) {
  std::vector<AttemptId> taken;
  if (node.index >= places_.size() || places_[node.index].node != node) return taken;
  auto& requests = places_[node.index].requests;
  while (!requests.empty()) {
    const std::uint32_t index = requests.front();
    take_off(index);
    taken.push_back(id(index));
  }
  places_[node.index].node = {};
  return taken;
}

std::optional<NodeId> AttemptTable::node(AttemptId attempt) const {
  if (!newest(attempt) || records_[attempt.index].node == NodeId{}) return std::nullopt;
  return records_[attempt.index].node;
}

std::optional<std::uint64_t> AttemptTable::request(AttemptId attempt) const {
  if (!newest(attempt)) return std::nullopt;
  return records_[attempt.index].request;
}

Charge AttemptTable::take_charge(AttemptId attempt) {
  return newest(attempt) ? std::exchange(records_[attempt.index].charge, {}) : Charge{};
}

std::size_t AttemptTable::on(NodeId node) const {
  const bool known = node.index < places_.size() && places_[node.index].node == node;
  return known ? places_[node.index].requests.size() : 0;
}

}  // namespace volvox
