#include "batching/installation.h"

#include <algorithm>
#include <string>
#include <utility>

namespace volvox {
namespace {

constexpr std::size_t kAlign = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

std::uint32_t max_batch_of(const CellTypeSpec& type, const InstallOptions& options) {
  if (options.max_batch == 0) return type.max_batch;
  return type.independent ? std::max(type.max_batch, options.max_batch) : options.max_batch;
}

// Slots that a typical request of the model holds in one of its pools. Lanes that keep all their steps are
// taken to be this long.
constexpr std::uint32_t kTypicalLength = 64;
std::uint64_t slots_per_request(const Model& model, PoolId pool) {
  std::uint64_t slots = 0;
  for (const LaneSpec& lane : model.plan.lanes) {
    if (!lane.has_state || lane.pool != pool) continue;
    slots += lane.ring != 0 ? lane.ring : std::min(model.max_length, kTypicalLength);
  }
  return slots;
}

std::uint64_t slot_bytes(const PoolSpec& pool) {
  std::uint64_t bytes = 0;
  for (const StateKind& kind : pool.kinds) {
    bytes += aligned(static_cast<std::size_t>(elements(kind.shape)) * size_bytes(kind.dtype));
  }
  return bytes;
}

// How many requests of the model the pools are made for.
std::uint64_t requests_within(const Model& model, std::uint64_t budget_bytes, const InstallOptions& options) {
  std::uint64_t bytes = 0;
  for (PoolId p = 0; p < model.pools.size(); ++p)
    bytes += slots_per_request(model, p) * slot_bytes(model.pools[p]);
  std::uint32_t batch = 1;
  for (const CellTypeSpec& type : model.types) {
    if (!type.independent) batch = std::max(batch, max_batch_of(type, options));
  }
  const std::uint64_t affordable = bytes == 0 ? options.live_requests : budget_bytes / bytes;
  return std::max<std::uint64_t>(std::min<std::uint64_t>(affordable, options.live_requests), 4ULL * batch);
}

// The longest request must fit, whatever the budget says.
std::uint64_t least_slots(const Model& model, PoolId pool) {
  std::uint64_t slots = 0;
  for (const LaneSpec& lane : model.plan.lanes) {
    if (lane.has_state && lane.pool == pool) slots += lane.ring != 0 ? lane.ring : model.max_length;
  }
  return slots;
}

Error in_model(const Model& model, const Error& error) {
  return {error.code, "model '" + model.name + "': " + error.message};
}

class Installer {
 public:
  Installer(Device& device, const InstallOptions& options, std::uint64_t budget_bytes)
      : device_(device), options_(options), budget_bytes_(budget_bytes) {}

  Status add(const std::shared_ptr<const Model>& model) {
    auto installed = std::make_unique<InstalledModel>();
    installed->model = model;
    installed->id = static_cast<ModelId>(made_.models.size());
    installed->first_type = static_cast<CellTypeId>(made_.types.size());
    installed->first_pool = static_cast<PoolId>(made_.pools.size());
    installed->plan = rebased_plan(*model, installed->id, installed->first_type, installed->first_pool);
    if (Status ok = add_pools(*installed); !ok) return ok;
    if (Status ok = add_types(*installed); !ok) return ok;
    if (Status ok = installed->plan.validate(); !ok) return ok;
    made_.model_configs.push_back({.id = installed->id});
    made_.models.push_back(std::move(installed));
    return {};
  }

  Installation take() { return std::move(made_); }

 private:
  Status add_pools(const InstalledModel& installed) {
    const Model& model = *installed.model;
    const std::uint64_t requests = requests_within(model, budget_bytes_, options_);
    for (PoolId p = 0; p < model.pools.size(); ++p) {
      std::uint64_t slots =
          std::max(requests * slots_per_request(model, p), least_slots(model, p)) + kReservedSlots;
      if (options_.slots != 0) slots = options_.slots;
      const PoolConfig pool{installed.first_pool + p,
                            static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, 1U << 30))};
      if (Status ok = device_.add_pool(pool.id, model.pools[p].kinds, pool.slots); !ok) return ok;
      made_.pools.push_back(pool);
    }
    return {};
  }

  Status add_types(InstalledModel& installed) {
    for (CellTypeId t = 0; t < installed.model->types.size(); ++t) {
      const CellTypeSpec& spec = installed.model->types[t];
      CompileOptions compile;
      compile.max_batch = max_batch_of(spec, options_);
      compile.out_pool = installed.first_pool + spec.out_pool;
      compile.ragged_pool = installed.first_pool + spec.ragged_pool;
      for (std::size_t g = 0; g < kMaxGathers; ++g) {
        compile.gather_pools[g] = installed.first_pool + spec.gather_pools[g];
      }
      auto cell = device_.compile(installed.first_type + t, spec.cell, installed.model->weights, compile);
      if (!cell) return tl::unexpected(cell.error());
      made_.types.push_back(type_config(installed, t, compile.max_batch, *cell));
      installed.compiled.push_back(std::move(*cell));
    }
    return {};
  }

  static TypeConfig type_config(const InstalledModel& installed, CellTypeId t, std::uint32_t max_batch,
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
    config.sizes = cell.sizes;
    config.costs = cell.costs;
    config.pulls = spec.cell.pulls;
    config.pushes = spec.cell.pushes;
    return config;
  }

  Device& device_;
  const InstallOptions& options_;
  const std::uint64_t budget_bytes_;
  Installation made_;
};

}  // namespace

double InstalledModel::flops_per_step() const {
  double flops = 0;
  for (const LaneSpec& lane : model->plan.lanes) flops += compiled[lane.type].flops_per_row;
  return flops;
}

Result<Installation> install(Device& device, std::span<const std::shared_ptr<const Model>> models,
                             const InstallOptions& options) {
  if (models.empty()) return invalid("there is no model to install");
  if (options.slots != 0 && options.slots <= kReservedSlots) {
    return invalid("slots must be more than " + std::to_string(kReservedSlots));
  }
  Installer installer(device, options, options.pool_bytes / models.size());
  for (const auto& model : models) {
    if (Status ok = installer.add(model); !ok) return tl::unexpected(in_model(*model, ok.error()));
  }
  return installer.take();
}

SchedulerConfig scheduler_config(const Installation& installation, std::uint32_t workers) {
  SchedulerConfig config;
  config.types = installation.types;
  config.pools = installation.pools;
  config.models = installation.model_configs;
  config.workers = workers;
  return config;
}

std::size_t row_bytes(const InputSpec& input) {
  return static_cast<std::size_t>(elements(input.shape)) * size_bytes(input.dtype);
}

std::size_t row_bytes(const OutputSpec& output) {
  return static_cast<std::size_t>(elements(output.shape)) * size_bytes(output.dtype);
}

std::size_t result_rows(const InstalledModel& model, std::uint32_t length, std::size_t output) {
  return model.model->outputs[output].every ? length : 1;
}

std::size_t result_offset(const InstalledModel& model, std::uint32_t length, std::size_t output) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < output; ++i) {
    offset += aligned(row_bytes(model.model->outputs[i]) * result_rows(model, length, i));
  }
  return offset;
}

std::size_t output_bytes(const InstalledModel& model, std::uint32_t length) {
  return result_offset(model, length, model.model->outputs.size());
}

Request chain_request(const InstalledModel& model, std::uint32_t length,
                      std::span<const DeviceAddress> inputs, DeviceAddress results) {
  Request request;
  request.model = model.id;
  request.plan = &model.plan;
  request.lengths.fill(length);
  for (std::size_t i = 0; i < std::min(inputs.size(), model.model->inputs.size()); ++i) {
    request.inputs[i] = {inputs[i], static_cast<std::uint32_t>(row_bytes(model.model->inputs[i]))};
  }
  for (std::size_t i = 0; i < model.model->outputs.size(); ++i) {
    request.outputs[i] = {results + result_offset(model, length, i),
                          static_cast<std::uint32_t>(row_bytes(model.model->outputs[i]))};
  }
  return request;
}

}  // namespace volvox
