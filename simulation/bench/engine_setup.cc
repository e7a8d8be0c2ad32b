#include "simulation/bench/engine_setup.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "cells/unfold/unfolding.h"
#include "repository/model_writer.h"
#include "repository/repository.h"
#include "shapes/lengths.h"
#include "shapes/random.h"
#include "shapes/trees.h"
#include "simulation/bench/bench_device.h"
#include "simulation/chains.h"

namespace volvox::bench {
namespace {

constexpr std::size_t kSamples = 4096;

// Writes a model, loads it and takes its folder away again: the map keeps the weights.
Result<std::shared_ptr<const Model>> made_up_model(const EngineOptions& options, const LoadOptions& load) {
  std::string folder = (std::filesystem::temp_directory_path() / "volvox-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return fail(ErrorCode::kUnavailable, "cannot make a folder like " + folder);
  NewModel place;
  place.path = std::filesystem::path(folder) / options.kind;
  NewSizes sizes;
  sizes.hidden = options.hidden;
  sizes.steps = options.steps;
  const Status written = write_new_model(place, options.kind, sizes);
  Result<std::shared_ptr<const Model>> model = tl::unexpected(Error{});
  if (written) model = load_model(place.path, load);
  if (!written) model = tl::unexpected(written.error());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return model;
}

std::uint64_t hash_bytes(std::uint64_t hash, const std::byte* bytes, std::size_t size) {
  for (std::size_t at = 0; at < size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<std::size_t>(8, size - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

// Those of the file, or random ones with so many leaves.
Result<TreeSource> trees_of(const EngineOptions& options, const LengthSource& lengths, bool binary) {
  if (!options.trees.empty()) return TreeSource::from_file(options.trees);
  return TreeSource::random(lengths, binary ? 2 : TreeSource::kMostChildren);
}

}  // namespace

Result<std::unique_ptr<EngineSetup>> EngineSetup::make(const EngineOptions& options, const EnginePlan& plan) {
  auto setup = std::make_unique<EngineSetup>();
  Status ok = setup->make_device(options);
  if (ok) ok = setup->install_model(options, plan);
  if (ok) ok = setup->make_samples(options);
  if (!ok) return tl::unexpected(ok.error());
  return setup;
}

Status EngineSetup::make_device(const EngineOptions& options) {
  auto device = make_bench_device(options);
  if (!device) return tl::unexpected(device.error());
  device_ = std::move(*device);
  // On a GPU bits depend on the batch size unless that is asked for.
  brings_inputs_ = options.device == "gpu" || options.device == "null";
  verifies_ = (options.device != "gpu" || options.reproducible) && options.device != "null";
  return {};
}

Status EngineSetup::install_model(const EngineOptions& options, const EnginePlan& plan) {
  LoadOptions load{.eager = options.eager, .eager_window = options.eager_window};
  load.fold_rows = device_->folding();
  if (options.fold && !load.fold_rows)
    return invalid("--fold is for devices that compute with tables: cpu, gpu");
  if (options.fold) load.fold_bytes = std::numeric_limits<std::uint64_t>::max();
  const TimePoint begun = steady_now();
  const auto model = options.model.empty() ? made_up_model(options, load) : load_model(options.model, load);
  if (!model) return tl::unexpected(model.error());
  load_seconds_ = std::chrono::duration<double>(steady_now() - begun).count();
  // Compiled for the largest batch; smaller ones are the scheduler's configuration.
  InstallOptions install_options;
  install_options.max_batch = 1;
  for (const Configuration& c : plan.configurations) {
    install_options.max_batch = std::max(install_options.max_batch, c.max_batch);
  }
  for (const Load& load : plan.loads)
    install_options.session_places = std::max(install_options.session_places, load.calls);
  auto installed = install(*device_, {&*model, 1}, install_options);
  if (!installed) return tl::unexpected(installed.error());
  installation_ = std::move(*installed);
  for (const TypeConfig& type : installation_.types) {
    if (!type.independent) core_type_ = type.id;
  }
  for (std::size_t t = 0; t < this->model().compiled.size(); ++t) {
    std::fprintf(stderr, "cell %s: %s\n", (*model)->types[t].name.c_str(),
                 this->model().compiled[t].kernel.c_str());
  }
  return {};
}

Status EngineSetup::draw_trees(const EngineOptions& options, const LengthSource& lengths,
                               SeededRandom& random) {
  const auto trees = trees_of(options, lengths, model().model->unfolding->takes(*model().model) != "tree");
  if (!trees) return tl::unexpected(trees.error());
  for (Sample& sample : samples_) {
    trees->draw(random, sample.parents);
    sample.length = static_cast<std::uint32_t>(sample.parents.size());
  }
  return {};
}

Status EngineSetup::draw_lattices(const EngineOptions& options, const LengthSource& lengths,
                                  SeededRandom& random) {
  const auto lattices =
      options.lattices.empty() ? LatticeSource::random(lengths) : LatticeSource::from_file(options.lattices);
  if (!lattices) return tl::unexpected(lattices.error());
  for (Sample& sample : samples_) {
    sample.lattice = lattices->draw(random);
    sample.length = sample.lattice.length;
  }
  return {};
}

Status EngineSetup::draw_graphs(const EngineOptions& options, const LengthSource& lengths,
                                SeededRandom& random) {
  const std::vector<GraphCellType> types = graph_cell_types(*model().model);
  auto trees = trees_of(options, lengths, joins_two(types));
  if (!trees) return tl::unexpected(trees.error());
  auto graphs = GraphSource::make(std::move(*trees), types);
  if (!graphs) return tl::unexpected(graphs.error());
  graphs_ = std::move(*graphs);
  for (Sample& sample : samples_) {
    sample.graph = graphs_->draw(random);
    sample.length = static_cast<std::uint32_t>(sample.graph.types.size());
  }
  return {};
}

Structure EngineSetup::structure(const Sample& sample) const {
  switch (over_) {
    case Over::kTrees:
      return TreeStructure{sample.parents};
    case Over::kLattices:
      return LatticeStructure{sample.length, sample.lattice.starts, sample.lattice.ends};
    case Over::kGraphs:
      return graphs_->structure(sample.graph);
    case Over::kSteps:
      break;
  }
  return ChainStructure{sample.length};
}

Status EngineSetup::draw_shapes(const EngineOptions& options) {
  const std::string_view takes = model().model->unfolding->takes(*model().model);
  over_ = takes.ends_with("tree") ? Over::kTrees
          : takes == "lattice"    ? Over::kLattices
          : takes == "graph"      ? Over::kGraphs
                                  : Over::kSteps;
  if (!options.trees.empty() && over_ != Over::kTrees && over_ != Over::kGraphs)
    return invalid("--trees is for models over trees or graphs");
  if (!options.lattices.empty() && over_ != Over::kLattices)
    return invalid("--lattices is for models over lattices");
  const auto lengths = options.lengths.empty()
                           ? Result<LengthSource>(LengthSource::built_in())
                           : LengthSource::from_file(options.lengths, LengthColumn::kSource);
  if (!lengths) return tl::unexpected(lengths.error());
  SeededRandom random(options.seed);
  if (over_ == Over::kTrees) return draw_trees(options, *lengths, random);
  if (over_ == Over::kLattices) return draw_lattices(options, *lengths, random);
  if (over_ == Over::kGraphs) return draw_graphs(options, *lengths, random);
  for (Sample& sample : samples_) sample.length = options.calls.empty() ? lengths->draw(random) : 1;
  return {};
}

Status EngineSetup::make_samples(const EngineOptions& options) {
  samples_.resize(kSamples);
  Status made = draw_shapes(options);
  SeededRandom chance(options.seed);
  for (Sample& sample : samples_) {
    if (made) made = stage_sample(sample, chance);
  }
  return made;
}

Status EngineSetup::stage_sample(Sample& sample, SeededRandom& chance) {
  const Model& model = *this->model().model;
  const auto extent = model.unfolding->check(structure(sample), model);
  if (!extent) return tl::unexpected(extent.error());
  sample.lengths = extent->lengths;
  ChainContent content = random_content(model, sample.lengths, chance);
  auto pages = volvox::stage(*device_, content);
  if (!pages) return tl::unexpected(pages.error());
  sample.pages = std::move(*pages);
  if (brings_inputs_) sample.content = std::move(content);
  result_bytes_ = std::max(result_bytes_, output_bytes(this->model(), sample.lengths));
  return {};
}

double EngineSetup::mean_length() const {
  double sum = 0;
  for (const Sample& sample : samples_) sum += sample.length;
  return sum / static_cast<double>(samples_.size());
}

// A leaf and an inner node are cells of different sizes.
double EngineSetup::flops(std::size_t number) const {
  const Sample& sample = samples_[number];
  double flops = 0;
  if (over_ == Over::kSteps) {
    for (const LaneSpec& lane : model().model->plan.lanes)
      flops += model().compiled[lane.type].flops_per_row * sample.lengths[lane.length_of];
    return flops;
  }
  const auto request = this->request(number, 0);
  if (!request || request->graph == nullptr) return flops;
  for (std::uint32_t node = 0; node < request->graph->size(); ++node)
    flops += model().compiled[request->graph->node(node).type - model().first_type].flops_per_row;
  return flops;
}

Result<Request> EngineSetup::request(std::size_t number, DeviceAddress results) const {
  return request(number, *samples_[number].pages, results);
}

Result<Request> EngineSetup::request(std::size_t number, const InputPages& inputs,
                                     DeviceAddress results) const {
  const Sample& sample = samples_[number];
  return unfolded_request(model(), structure(sample), sample.lengths, inputs.addresses(), results);
}

Result<std::unique_ptr<InputPages>> EngineSetup::bring(std::size_t sample) const {
  std::array<InputBlock, kMaxInputs> blocks;
  std::size_t count = 0;
  for (const auto& input : samples_[sample].content.inputs) blocks[count++] = {input, samples_owner_};
  return device_->stage(std::span(blocks).first(count));
}

ReferenceOrder EngineSetup::reference_order(std::size_t sample) const {
  return model().model->unfolding->reference_order(structure(samples_[sample]), *model().model);
}

Result<ResultBlock> EngineSetup::results() {
  return device_->results(result_bytes_);
}

bool EngineSetup::verify(std::size_t sample, const ResultBlock& results) {
  if (!verifies_) return true;
  Sample& known = samples_[sample];
  std::uint64_t hash = known.length;
  for (std::size_t i = 0; i < model().model->outputs.size(); ++i) {
    const std::byte* output = results.host.get() + result_offset(model(), known.lengths, i);
    hash = hash_bytes(hash, output,
                      row_bytes(model().model->outputs[i]) * result_rows(model(), known.lengths, i));
  }
  hash |= 1;
  if (known.hash == 0) known.hash = hash;
  return known.hash == hash;
}

}  // namespace volvox::bench
