#include "import/onnx/sequence/written_lanes.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "base/text.h"

namespace volvox::onnx_import {
namespace {

constexpr std::uint32_t kMaxBatch = 256;

std::vector<std::size_t> read_by(const LaneDraft& draft) {
  std::vector<std::size_t> lanes;
  for (const auto& [from, last] : draft.from) lanes.push_back(from);
  if (draft.all != LaneDraft::kNoLane) lanes.push_back(draft.all);
  if (draft.initial != LaneDraft::kNoLane) lanes.push_back(draft.initial);
  return lanes;
}

// Lanes that emit something, and those that they read, in an order in which each comes after what it reads.
class LaneOrderer {
 public:
  explicit LaneOrderer(const std::vector<std::unique_ptr<LaneDraft>>& drafts) : drafts_(drafts) {}

  std::vector<std::size_t> run() {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      if (!drafts_[i]->pushes.empty()) visit(i);
    }
    return std::move(order_);
  }

 private:
  void visit(std::size_t lane) {
    if (!done_.insert(lane).second) return;
    for (const std::size_t from : read_by(*drafts_[lane])) visit(from);
    order_.push_back(lane);
  }

  const std::vector<std::unique_ptr<LaneDraft>>& drafts_;
  std::set<std::size_t> done_;
  std::vector<std::size_t> order_;
};

}  // namespace

WrittenLanes write_lanes(const std::vector<std::unique_ptr<LaneDraft>>& drafts,
                         const std::vector<std::string>& inputs) {
  WrittenLanes written;
  std::string once = "once";
  while (std::find(inputs.begin(), inputs.end(), once) != inputs.end()) once += '_';
  std::set<std::string> used;
  bool any_once = false;
  for (const std::size_t number : LaneOrderer(drafts).run()) {
    const LaneDraft& draft = *drafts[number];
    CellWriter::Written cell = draft.cell.finish();
    for (CellWriter::Weight& weight : cell.weights) {
      if (used.insert(weight.name).second) written.weights.push_back(std::move(weight));
    }
    LaneDefinition lane{
        .cell = draft.name, .over = draft.once ? once : inputs.front(), .reverse = draft.reverse};
    for (const auto& [from, last] : draft.from)
      lane.from.push_back(drafts[from]->name + (last ? ":last" : ""));
    if (draft.all != LaneDraft::kNoLane) lane.from.push_back(drafts[draft.all]->name + ":all");
    if (draft.initial != LaneDraft::kNoLane) lane.initial = drafts[draft.initial]->name;
    for (const std::uint32_t input : draft.pulls) lane.pull.push_back(inputs[input]);
    for (const LaneDraft::Push& push : draft.pushes) lane.push.push_back(push.output);
    std::vector<std::string> reads = lane.pull;
    reads.insert(reads.end(), lane.from.begin(), lane.from.end());
    written.report += "lane " + draft.name +
                      (draft.reverse ? ", in reverse"
                       : draft.once  ? ", once"
                                     : "") +
                      ": " + std::to_string(cell.cell.operators.size()) + " operators" +
                      (reads.empty() ? "" : " over " + listed(reads)) + '\n';
    any_once = any_once || draft.once;
    written.cells.push_back({.name = draft.name, .kind = std::string(kFileCell), .max_batch = kMaxBatch});
    written.cells.back().given = std::make_shared<const Cell>(std::move(cell.cell));
    written.lanes.push_back(std::move(lane));
  }
  if (any_once) written.sequences.push_back({.name = once, .once = true});
  return written;
}

}  // namespace volvox::onnx_import
