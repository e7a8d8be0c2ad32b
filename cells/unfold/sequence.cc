#include "cells/unfold/sequence.h"

#include <cstdint>
#include <string>
#include <variant>

#include "cells/model/model.h"
#include "cells/unfold/plan_lanes.h"

namespace volvox {
namespace {

class Sequence final : public Unfolding {
 public:
  std::string_view takes() const override { return "chain"; }
  std::string_view row_name() const override { return "step"; }
  std::string_view last_row_name() const override { return "from the last step"; }

  Status validate(const Model& model) const override { return check_lanes(model); }

  Result<Extent> check(const Structure& structure, const Model& model) const override {
    const auto* chain = std::get_if<ChainStructure>(&structure);
    if (chain == nullptr) return invalid("this model unfolds along a chain; send a chain with its length");
    if (chain->length == 0 || chain->length > model.max_length) {
      return invalid("the chain's length must be between 1 and " + std::to_string(model.max_length) +
                     " (the model's max_length), not " + std::to_string(chain->length));
    }
    return Extent{.length = chain->length};
  }

  Result<std::shared_ptr<const NodeGraph>> nodes(const Structure&, const ModelNumbers&) const override {
    return nullptr;
  }
  std::uint64_t cells(const Model& model, std::uint32_t length) const override {
    return std::uint64_t{length} * model.plan.lanes.size();
  }
  std::uint64_t slots(const Model& model, PoolId pool, std::uint32_t length) const override {
    return lane_slots(model, pool, length);
  }
  ReferenceOrder reference_order(const Structure& structure, const Model& model) const override {
    return lane_reference_order(model, std::get<ChainStructure>(structure).length);
  }
};

}  // namespace

std::shared_ptr<const Unfolding> sequence_unfolding() {
  return std::make_shared<const Sequence>();
}

}  // namespace volvox
