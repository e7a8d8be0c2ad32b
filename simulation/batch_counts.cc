#include "simulation/batch_counts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace volvox {
namespace {

// What is left to run, type by type.
class Agenda {
 public:
  explicit Agenda(const CellDag& dag)
      : dag_(dag), depths_(dag.depths()), open_(dag.size(), 0), successors_(dag.size()), types_(dag.types()) {
    for (std::uint32_t cell = 0; cell < dag.size(); ++cell) {
      dag.for_predecessors(cell, [&](std::uint32_t predecessor) {
        ++open_[cell];
        successors_[predecessor].push_back(cell);
      });
      Type& type = types_[dag.type(cell)];
      ++type.left;
      type.depth_sum += depths_[cell];
      if (open_[cell] == 0) type.ready.push_back(cell);
    }
  }

  std::uint64_t run() {
    std::uint64_t batches = 0;
    for (Type* next = least_deep(); next != nullptr; next = least_deep()) {
      ++batches;
      for (const std::uint32_t cell : std::exchange(next->ready, {})) finish(cell, *next);
    }
    return batches;
  }

 private:
  struct Type {
    std::uint64_t left = 0, depth_sum = 0;  // of those that have not run
    std::vector<std::uint32_t> ready;
    double mean_depth() const { return static_cast<double>(depth_sum) / static_cast<double>(left); }
  };

  Type* least_deep() {
    Type* best = nullptr;
    for (Type& type : types_) {
      if (type.ready.empty()) continue;
      if (best == nullptr || type.mean_depth() < best->mean_depth()) best = &type;
    }
    return best;
  }

  void finish(std::uint32_t cell, Type& type) {
    --type.left;
    type.depth_sum -= depths_[cell];
    for (const std::uint32_t successor : successors_[cell]) {
      if (--open_[successor] == 0) types_[dag_.type(successor)].ready.push_back(successor);
    }
  }

  const CellDag& dag_;
  std::vector<std::uint32_t> depths_, open_;
  std::vector<std::vector<std::uint32_t>> successors_;
  std::vector<Type> types_;
};

}  // namespace

void CellDag::add(const ReferenceOrder& request) {
  const std::uint32_t before = size();
  for (const ReferenceOrder::Node& node : request.nodes) {
    types_.push_back(node.type);
    type_count_ = std::max(type_count_, node.type + 1);
    for (const std::uint32_t from : node.gathers) {
      if (from != ReferenceOrder::kInitial) predecessors_.push_back(before + from);
    }
    for (std::uint32_t i = 0; i < node.listed; ++i)
      predecessors_.push_back(before + request.list[node.first_listed + i]);
    first_.push_back(static_cast<std::uint32_t>(predecessors_.size()));
  }
}

std::vector<std::uint32_t> CellDag::depths() const {
  std::vector<std::uint32_t> depths(size(), 0);
  for (std::uint32_t cell = 0; cell < size(); ++cell) {
    for_predecessors(cell, [&](std::uint32_t p) { depths[cell] = std::max(depths[cell], depths[p] + 1); });
  }
  return depths;
}

std::uint64_t depth_batches(const CellDag& dag) {
  const std::vector<std::uint32_t> depths = dag.depths();
  std::set<std::pair<CellTypeId, std::uint32_t>> batches;
  for (std::uint32_t cell = 0; cell < dag.size(); ++cell) batches.emplace(dag.type(cell), depths[cell]);
  return batches.size();
}

std::uint64_t agenda_batches(const CellDag& dag) {
  return Agenda(dag).run();
}

std::uint64_t fewest_batches(const CellDag& dag) {
  std::uint64_t sum = 0;
  for (CellTypeId type = 0; type < dag.types(); ++type) {
    std::vector<std::uint32_t> on_path(dag.size(),
                                       0);  // of the type, on the way to each cell, itself included
    std::uint32_t most = 0;
    for (std::uint32_t cell = 0; cell < dag.size(); ++cell) {
      dag.for_predecessors(cell,
                           [&](std::uint32_t p) { on_path[cell] = std::max(on_path[cell], on_path[p]); });
      on_path[cell] += dag.type(cell) == type ? 1 : 0;
      most = std::max(most, on_path[cell]);
    }
    sum += most;
  }
  return sum;
}

}  // namespace volvox
