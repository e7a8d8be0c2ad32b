#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "cells/ir/lane_plan.h"
#include "cells/ir/node_graph.h"
#include "cells/ir/types.h"
#include "cells/unfold/reference_order.h"

namespace volvox {

class Assembly;
struct Model;

// What a structure that its model can run comes to.
struct Extent {
  Lengths
      lengths{};  // by InputSpec::sequence: rows of each input, and of outputs that have one for each step
  // Whose ids are looked at, of the inputs' rows; empty: all. (A tree's inner nodes may read none.)
  std::vector<bool> read{};
  std::size_t host_bytes = 0;  // of memory that its unfolded form takes, besides
};

// A model's own numbers become a process's own when these are added.
struct ModelNumbers {
  ModelId id = 0;
  CellTypeId first_type = 0;
  PoolId first_pool = 0;
};

// How the structures of one model's requests become cell graphs (BatchMaker §4.1). Everything that depends on
// the shape of requests is here: nobody else looks into a structure, or asks which unfolding it is. Made at
// load by a kind of unfolding (below), immutable, shared by all requests; any thread.
//
// A cell graph is either lanes of the model's plan (Model::plan), or nodes of the request's own.
class Unfolding {
 public:
  virtual ~Unfolding() = default;

  // The structures it takes: "chain", "sequences", "tree", "binary tree". For messages, and for those who
  // make requests.
  virtual std::string_view takes(const Model& model) const = 0;
  // What a row of an input stands for, and whose row an output has that has only one: "step", "from the last
  // step".
  virtual std::string_view row_name() const = 0;
  virtual std::string_view last_row_name() const = 0;

  // What everybody relies on: its plan agrees with the model's cells, pools, inputs and outputs. The error
  // names the model.
  virtual Status validate(const Model& model) const = 0;

  // Whether the model can run this. INVALID_ARGUMENT says what to send. Linear time.
  virtual Result<Extent> check(const Structure& structure, const Model& model) const = 0;

  // Of a structure that has passed check(): null where requests run in the plan's lanes, of the extent's
  // lengths.
  virtual Result<std::shared_ptr<const NodeGraph>> nodes(const Structure& structure,
                                                         const ModelNumbers& numbers) const = 0;
  // Of a graph of nodes: which of the model's inputs a cell's pull i reads, and which of its outputs a push i
  // writes. Nothing for lanes, which each have their own.
  virtual std::span<const std::uint8_t> pulls() const { return {}; }
  virtual std::span<const LanePush> pushes() const { return {}; }

  // Cells of a request of these lengths.
  virtual std::uint64_t cells(const Model& model, const Lengths& lengths) const = 0;
  // State slots in one pool that a request of these lengths holds at once, at most.
  virtual std::uint64_t slots(const Model& model, PoolId pool, const Lengths& lengths) const = 0;

  // The request's cells one by one, in an order in which they can be computed: for the reference, so without
  // anything that runs on devices. Of a structure that has passed check().
  virtual ReferenceOrder reference_order(const Structure& structure, const Model& model) const = 0;
};

// What a lane or all nodes of a graph read of a request and write to it agrees with the model's inputs and
// outputs. `whose` stands in errors. For Unfolding::validate().
Status check_bindings(const Model& model, CellTypeId type, std::span<const std::uint8_t> pulls,
                      std::span<const LanePush> pushes, const std::string& whose);

// "model 'm': what".
tl::unexpected<Error> model_error(const Model& model, const std::string& what);

// What `unfolding` in model.toml may say. Each folder beside this file defines one, and nothing else names
// it: the build collects them (unfold/CMakeLists.txt).
struct UnfoldingKind {
  std::string_view name{};
  // Fills the model's types, pools, plan and unfolding, with the assembly's help. Errors name a line.
  Status (*build)(Assembly& assembly) = nullptr;
};

// All there are, by name. Null when there is none of this name.
std::span<const UnfoldingKind* const> unfolding_kinds();
const UnfoldingKind* find_unfolding_kind(std::string_view name);

}  // namespace volvox
