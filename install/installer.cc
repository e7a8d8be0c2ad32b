#include "install/installer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cells/unfold/unfolding.h"
#include "install/model_cost.h"

namespace volvox {
namespace {

constexpr std::uint64_t kMostSlots = 1ULL << 30;

std::uint32_t max_batch_of(const CellTypeSpec& type, const InstallOptions& options) {
  if (options.max_batch == 0) return type.max_batch;
  return type.independent ? std::max(type.max_batch, options.max_batch) : options.max_batch;
}

// Slots that a typical request of the model holds in one of its pools: one of this length.
constexpr std::uint32_t kTypicalLength = 64;
std::uint64_t slots_per_request(const Model& model, PoolId pool) {
  return model.unfolding->slots(model, pool, lengths_for(model, kTypicalLength));
}

// How many requests of the model the pools are made for: as many as the budget buys, but a whole batch. A
// slot of pool p takes slot_bytes[p].
std::uint64_t requests_within(const Model& model, const std::vector<std::uint64_t>& slot_bytes,
                              std::uint64_t budget_bytes, const InstallOptions& options) {
  std::uint64_t bytes = 0;
  for (PoolId p = 0; p < model.pools.size(); ++p) bytes += slots_per_request(model, p) * slot_bytes[p];
  std::uint32_t batch = 1;
  for (const CellTypeSpec& type : model.types) {
    if (!type.independent) batch = std::max(batch, max_batch_of(type, options));
  }
  const std::uint64_t affordable = bytes == 0 ? options.live_requests : budget_bytes / bytes;
  const std::uint64_t wanted = std::max<std::uint64_t>(options.live_requests, 4ULL * batch);
  return std::max<std::uint64_t>(std::min(affordable, wanted), batch);
}

// The longest request must fit, whatever the budget says.
std::uint64_t least_slots(const Model& model, PoolId pool) {
  return model.unfolding->slots(model, pool, longest_lengths(model));
}

// Rows of one session in one pool.
std::uint64_t rows_per_session(const LanePlan& plan, const std::vector<LaneId>& carried, PoolId pool) {
  std::uint64_t rows = 0;
  for (const LaneId lane : carried) {
    if (plan.lanes[lane].pool == pool) rows += rows_per_place(plan.lanes[lane].ring);
  }
  return rows;
}

std::uint64_t bytes_per_session(const Model& model, const std::vector<LaneId>& carried,
                                const std::vector<std::uint64_t>& slot_bytes) {
  std::uint64_t bytes = 0;
  for (PoolId p = 0; p < model.pools.size(); ++p)
    bytes += rows_per_session(model.plan, carried, p) * slot_bytes[p];
  return bytes;
}

Error in_model(const Model& model, const Error& error) {
  return {error.code, "model '" + model.name + "': " + error.message};
}

TypeConfig type_config(const InstalledModel& installed, CellTypeId t, std::uint32_t max_batch,
                       const CompiledCell& cell) {
  const CellTypeSpec& spec = installed.model->types[t];
  TypeConfig config;
  config.id = installed.first_type + t;
  config.model = installed.id;
  config.priority = spec.priority;
  config.min_batch = std::min(spec.min_batch, max_batch);
  config.max_batch = max_batch;
  config.max_edges = spec.max_edges;
  config.independent = spec.independent;
  config.is_read = !spec.cell.states.empty();
  config.sizes = cell.sizes;
  config.costs = cell.costs;
  config.pulls = spec.cell.pulls;
  config.pushes = spec.cell.pushes;
  return config;
}

std::string mib(std::uint64_t bytes) {
  return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB";
}

}  // namespace

Installer::Installer(std::vector<Device*> devices, const InstallOptions& options)
    : devices_(std::move(devices)), options_(options) {}

Result<std::unique_ptr<InstalledModel>> Installer::add(const std::shared_ptr<const Model>& model,
                                                       const ModelShare& share) {
  auto installed = std::make_unique<InstalledModel>();
  installed->model = model;
  Status status = number(*installed);
  if (!status) return tl::unexpected(in_model(*model, status.error()));
  try {
    status = place(*installed, share);
  } catch (...) {
    remove(*installed);
    throw;
  }
  if (status) return installed;
  remove(*installed);
  return tl::unexpected(in_model(*model, status.error()));
}

Status Installer::number(InstalledModel& installed) {
  const Model& model = *installed.model;
  installed.serial = ++last_serial_;
  TakenIds id(model_ids_, 1), types(type_ids_, static_cast<std::uint32_t>(model.types.size())),
      pools(pool_ids_, static_cast<std::uint32_t>(model.pools.size()));
  if (id.first() >= options_.max_models || types.first() + model.types.size() > options_.max_types) {
    return fail(ErrorCode::kOverloaded,
                "as many model versions as fit are loaded (" + std::to_string(options_.max_models) +
                    ", with up to " + std::to_string(options_.max_types) + " cell types); unload one first");
  }
  installed.id = id.keep();
  installed.first_type = types.keep();
  installed.first_pool = pools.keep();
  return {};
}

Status Installer::place(InstalledModel& installed, const ModelShare& share) {
  const Model& model = *installed.model;
  installed.plan = rebased_plan(model, installed.id, installed.first_type, installed.first_pool);
  installed.parts.config = {.id = installed.id, .weight = share.weight, .max_waiting = share.max_waiting};
  if (Status ok = choose_slots(installed, share); !ok) return ok;
  if (Status ok = add_pools(installed); !ok) return ok;
  if (Status ok = add_types(installed); !ok) return ok;
  installed.step_us = model_cost(installed.plan, installed.parts.types, 1).unit_us();
  return installed.plan.lanes.empty() ? Status{} : installed.plan.validate();
}

Status Installer::choose_slots(InstalledModel& installed, const ModelShare& share) {
  if (options_.slots != 0 && options_.slots <= kReservedSlots)
    return invalid("slots must be more than " + std::to_string(kReservedSlots));
  const Model& model = *installed.model;
  const std::uint64_t left = options_.pool_bytes - pool_bytes_;
  const std::vector<std::uint64_t> slot_bytes = slot_bytes_of(model);
  std::uint64_t reserved = 0;
  for (const std::uint64_t bytes : slot_bytes) reserved += kReservedSlots * bytes;
  const std::uint64_t budget = std::min(share.pool_bytes, left);
  std::uint64_t needed = choose_places(installed, budget);
  reserved += needed;
  const std::uint64_t requests =
      requests_within(model, slot_bytes, budget - std::min(budget, reserved), options_);
  for (PoolId p = 0; p < model.pools.size(); ++p) {
    std::uint64_t slots =
        std::max(requests * slots_per_request(model, p), least_slots(model, p)) + kReservedSlots;
    if (options_.slots != 0) slots = options_.slots;
    slots = std::min(slots, kMostSlots);
    installed.parts.pools.push_back({installed.first_pool + p, static_cast<std::uint32_t>(slots)});
    needed += slots * slot_bytes[p];
  }
  if (options_.slots != 0 || needed <= left) {
    installed.pool_bytes = needed;
    pool_bytes_ += needed;
    return {};
  }
  return fail(ErrorCode::kOverloaded,
              "out of budget: the states of one full batch and of its longest request need " + mib(needed) +
                  ", and " + mib(left) + " of the memory for states are left; allow more, or unload a model");
}

// Of each pool, on the devices, which are all of one kind.
std::vector<std::uint64_t> Installer::slot_bytes_of(const Model& model) const {
  std::vector<std::uint64_t> bytes;
  for (const PoolSpec& pool : model.pools) bytes.push_back(devices_.front()->slot_bytes(pool.kinds));
  return bytes;
}

// How many sessions get rows, and in which lanes; where they begin is settled with the pools. Returns their
// bytes.
std::uint64_t Installer::choose_places(InstalledModel& installed, std::uint64_t budget) const {
  const Model& model = *installed.model;
  const auto carried = carried_lanes(model.plan);
  // A part may have any length.
  const bool any_length = std::all_of(model.sequences.begin(), model.sequences.end(),
                                      [](const SequenceSpec& sequence) { return sequence.min_length == 1; });
  if (!carried || !any_length || options_.session_places == 0) return 0;
  const std::uint64_t each = bytes_per_session(model, *carried, slot_bytes_of(model));
  std::uint64_t places = options_.session_places;
  if (each > 0) places = std::min(places, std::max<std::uint64_t>(1, budget / 2 / each));
  SessionRows& sessions = installed.sessions;
  sessions.possible = true;
  sessions.places = static_cast<std::uint32_t>(places);
  for (const LaneId lane : *carried) sessions.lanes.push_back({lane, 0, 0, model.plan.lanes[lane].ring});
  return places * each;
}

// The rows of sessions in one pool follow its first `row` rows. Returns how many it has in all.
std::uint32_t Installer::place_sessions(InstalledModel& installed, PoolId pool, std::uint32_t row) {
  for (SessionRows::Lane& lane : installed.sessions.lanes) {
    if (installed.plan.lanes[lane.lane].pool != pool) continue;
    lane.pool = pool;
    lane.first = row;
    row += installed.sessions.places * rows_per_place(lane.ring);
  }
  return row;
}

Status Installer::add_pools(InstalledModel& installed) {
  auto& pools = installed.parts.pools;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    const std::uint32_t rows = place_sessions(installed, pools[p].id, pools[p].slots);
    for (Device* device : devices_) {
      Status ok = device->add_pool(pools[p].id, installed.model->pools[p].kinds, rows);
      if (ok) continue;
      pools.resize(p + 1);  // those that must go again
      return ok;
    }
  }
  return {};
}

Status Installer::add_types(InstalledModel& installed) {
  for (CellTypeId t = 0; t < installed.model->types.size(); ++t) {
    const CellTypeSpec& spec = installed.model->types[t];
    CompileOptions compile;
    compile.max_batch = max_batch_of(spec, options_);
    compile.max_edges = spec.max_edges;
    compile.out_pool = installed.first_pool + spec.out_pool;
    compile.ragged_pool = installed.first_pool + spec.ragged_pool;
    for (std::size_t g = 0; g < kMaxGathers; ++g) {
      compile.gather_pools[g] = installed.first_pool + spec.gather_pools[g];
    }
    auto cell = this->compile(installed, t, compile);
    if (!cell) return tl::unexpected(cell.error());
    installed.parts.types.push_back(type_config(installed, t, compile.max_batch, *cell));
    installed.compiled.push_back(std::move(*cell));
  }
  return {};
}

Result<CompiledCell> Installer::compile(const InstalledModel& installed, CellTypeId type,
                                        const CompileOptions& options) {
  const Model& model = *installed.model;
  Result<CompiledCell> first;
  for (Device* device : devices_) {
    auto cell = device->compile(installed.first_type + type, model.types[type].cell, model.weights, options);
    if (!cell) return cell;
    if (device == devices_.front()) {
      first = std::move(cell);
    } else if (cell->sizes != first->sizes) {
      return fail(ErrorCode::kInternal,
                  "the devices run this model in batches of other sizes; let each serve "
                  "in a process of its own");
    }
  }
  return first;
}

// Also what was begun and failed: what a device does not have it leaves alone.
void Installer::remove(const InstalledModel& installed) {
  const Model& model = *installed.model;
  for (Device* device : devices_) {
    for (CellTypeId t = 0; t < model.types.size(); ++t) device->remove_type(installed.first_type + t);
    for (const PoolConfig& pool : installed.parts.pools) device->remove_pool(pool.id);
  }
  model_ids_.give_back(installed.id, 1);
  type_ids_.give_back(installed.first_type, static_cast<std::uint32_t>(model.types.size()));
  pool_ids_.give_back(installed.first_pool, static_cast<std::uint32_t>(model.pools.size()));
  pool_bytes_ -= installed.pool_bytes;
}

}  // namespace volvox
