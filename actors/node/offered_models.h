#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/node/catalog.h"
#include "actors/node/request_check.h"
#include "cells/model/model.h"
#include "protocol/cluster/cluster_messages.h"

namespace volvox {

// A model that a node offers to routers, and what the node has measured of it.
struct Offered {
  std::string model;
  std::uint32_t version = 0;
  std::uint64_t digest = 0;
  ModelId id = 0;  // as it is installed
  std::uint32_t max_batch = 1;
  double cell_ns = 0, cells = 1;
  std::uint32_t max_cells = 1;  // of a request, at most
  std::vector<ClusterTensor> inputs{}, outputs{};

  bool same(const Offered& other) const {
    return model == other.model && version == other.version && digest == other.digest;
  }
  // What a request means: as it says of itself, within what is possible.
  double believed(std::uint32_t hint) const { return hint == 0 ? cells : std::min(hint, max_cells); }
  void measured(std::uint32_t run, std::uint64_t compute_us) {
    const double ns = 1e3 * static_cast<double>(std::max<std::uint64_t>(compute_us, 1)) / run;
    const double weight = cell_ns == 0 ? 1 : 0.125;
    cell_ns += weight * (ns - cell_ns);
    cells += weight * (run - cells);
  }
};

inline ClusterTensor tensor_of(const std::string& name, DType dtype, const Shape& row, bool every_step) {
  ClusterTensor tensor{name, wire_type(dtype), {}};
  if (every_step) tensor.shape.push_back(-1);
  tensor.shape.insert(tensor.shape.end(), row.begin(), row.end());
  return tensor;
}

// Every input has a row for each step; an output has one, too, or is the last step's alone.
inline std::vector<ClusterTensor> inputs_of(const Model& model) {
  std::vector<ClusterTensor> inputs;
  for (const InputSpec& input : model.inputs)
    inputs.push_back(tensor_of(input.name, input.dtype, input.shape, true));
  return inputs;
}
inline std::vector<ClusterTensor> outputs_of(const Model& model) {
  std::vector<ClusterTensor> outputs;
  for (const OutputSpec& output : model.outputs)
    outputs.push_back(
        tensor_of(output.name, output.dtype, output.path ? Shape{} : output.shape, output.every));
  return outputs;
}

// Shared with the requests that run, which may outlive the offer.
using OfferedPtr = std::shared_ptr<Offered>;

inline std::vector<ClusterOffer> offers_on_wire(const std::vector<OfferedPtr>& offers) {
  std::vector<ClusterOffer> written;
  for (const OfferedPtr& offer : offers) {
    written.push_back({offer->model, offer->version, offer->digest,
                       static_cast<std::uint64_t>(offer->cell_ns),
                       static_cast<std::uint32_t>(std::max(1.0, offer->cells)), offer->inputs, offer->outputs,
                       offer->max_cells});
  }
  return written;
}

// What the catalog shows now, with nothing measured yet.
inline std::vector<OfferedPtr> offers_of(const Catalog& catalog) {
  std::vector<OfferedPtr> offers;
  for (const ModelPtr& installed : catalog.all()) {
    const Model& model = *installed->model;
    Offered& offer = *offers.emplace_back(
        std::make_shared<Offered>(Offered{model.name, model.version, model.digest, installed->id}));
    const std::uint64_t most = cells_of(*installed, longest_lengths(model));
    offer.max_cells = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, 1, UINT32_MAX));
    offer.inputs = inputs_of(model);
    offer.outputs = outputs_of(model);
    for (const CellTypeSpec& type : model.types) offer.max_batch = std::max(offer.max_batch, type.max_batch);
  }
  return offers;
}

}  // namespace volvox
