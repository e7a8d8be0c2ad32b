#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/catalog.h"
#include "cells/model.h"

namespace volvox {

// A model that a node offers to routers, and what the node has measured of it.
struct Offered {
  std::string model;
  std::uint32_t version = 0;
  std::uint64_t digest = 0;
  std::uint32_t max_batch = 1;
  double cell_ns = 0, cells = 1;

  bool same(const Offered& other) const {
    return model == other.model && version == other.version && digest == other.digest;
  }
  void measured(std::uint32_t run, std::uint64_t compute_us) {
    const double ns = 1e3 * static_cast<double>(std::max<std::uint64_t>(compute_us, 1)) / run;
    const double weight = cell_ns == 0 ? 1 : 0.125;
    cell_ns += weight * (ns - cell_ns);
    cells += weight * (run - cells);
  }
};

// What the catalog shows now, with nothing measured yet.
inline std::vector<Offered> offers_of(const Catalog& catalog) {
  std::vector<Offered> offers;
  for (const ModelPtr& installed : catalog.all()) {
    const Model& model = *installed->model;
    Offered& offer = offers.emplace_back(Offered{model.name, model.version, model.digest});
    for (const CellTypeSpec& type : model.types) offer.max_batch = std::max(offer.max_batch, type.max_batch);
  }
  return offers;
}

}  // namespace volvox
