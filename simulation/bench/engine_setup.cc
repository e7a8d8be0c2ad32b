#include "simulation/bench/engine_setup.h"

#include <algorithm>
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
#include "simulation/bench/bench_device.h"
#include "simulation/chains.h"
#include "simulation/chance.h"
#include "simulation/workload.h"

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
  verifies_ = options.device != "gpu" || options.reproducible;
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

// A tree's nodes each know their parent; children come before it.
std::vector<std::int32_t> parents_of(const Tree& tree) {
  std::vector<std::int32_t> parents(tree.nodes.size(), -1);
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    for (const std::uint32_t child : {tree.nodes[node].left, tree.nodes[node].right}) {
      if (child != Tree::kNone) parents[child] = static_cast<std::int32_t>(node);
    }
  }
  return parents;
}

// The lengths of the samples become so many leaves, where no file has trees.
Status EngineSetup::make_trees(const EngineOptions& options, Chance& chance) {
  std::vector<Tree> trees;
  if (!options.trees.empty()) {
    auto read = read_trees(options.trees);
    if (!read) return tl::unexpected(read.error());
    trees = std::move(*read);
  }
  for (Sample& sample : samples_) {
    const Tree tree = trees.empty() ? random_tree(sample.length, chance) : trees[chance.below(trees.size())];
    sample.parents = parents_of(tree);
    sample.length = static_cast<std::uint32_t>(sample.parents.size());
  }
  return {};
}

// Likewise, so many characters.
Status EngineSetup::make_lattices(const EngineOptions& options, Chance& chance) {
  std::vector<Lattice> lattices;
  if (!options.lattices.empty()) {
    auto read = read_lattices(options.lattices);
    if (!read) return tl::unexpected(read.error());
    lattices = std::move(*read);
  }
  for (Sample& sample : samples_) {
    const Lattice lattice =
        lattices.empty() ? random_lattice(sample.length, chance) : lattices[chance.below(lattices.size())];
    sample.length = lattice.chars;
    for (const auto& [begin, end] : lattice.words) {
      sample.starts.push_back(static_cast<std::int32_t>(begin));
      sample.ends.push_back(static_cast<std::int32_t>(end));
    }
  }
  return {};
}

Structure EngineSetup::structure(const Sample& sample) const {
  if (over_ == Over::kTrees) return TreeStructure{sample.parents};
  if (over_ == Over::kLattices) return LatticeStructure{sample.length, sample.starts, sample.ends};
  return ChainStructure{sample.length};
}

Status EngineSetup::make_samples(const EngineOptions& options) {
  const Model& model = *this->model().model;
  const std::string_view takes = model.unfolding->takes(model);
  over_ = takes.ends_with("tree") ? Over::kTrees : takes == "lattice" ? Over::kLattices : Over::kSteps;
  if (!options.trees.empty() && over_ != Over::kTrees) return invalid("--trees is for models over trees");
  if (!options.lattices.empty() && over_ != Over::kLattices)
    return invalid("--lattices is for models over lattices");
  Chance chance(options.seed);
  auto lengths = options.lengths.empty()
                     ? Result<std::vector<std::uint32_t>>(typical_lengths(kSamples, chance))
                     : read_lengths(options.lengths);
  if (!lengths) return tl::unexpected(lengths.error());
  samples_.resize(kSamples);
  for (Sample& sample : samples_)
    sample.length = options.calls.empty() ? (*lengths)[chance.below(lengths->size())] : 1;
  Status made;
  if (over_ == Over::kTrees) made = make_trees(options, chance);
  if (over_ == Over::kLattices) made = make_lattices(options, chance);
  for (Sample& sample : samples_) {
    if (made) made = stage_sample(sample, chance);
  }
  return made;
}

Status EngineSetup::stage_sample(Sample& sample, Chance& chance) {
  const Model& model = *this->model().model;
  const auto extent = model.unfolding->check(structure(sample), model);
  if (!extent) return tl::unexpected(extent.error());
  sample.lengths = extent->lengths;
  auto pages = stage(*device_, random_content(model, sample.lengths, chance));
  if (!pages) return tl::unexpected(pages.error());
  sample.pages = std::move(*pages);
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
  if (over_ == Over::kSteps) return sample.length * model().flops_per_step();
  const auto request = this->request(number, 0);
  double flops = 0;
  if (!request || request->graph == nullptr) return flops;
  for (std::uint32_t node = 0; node < request->graph->size(); ++node)
    flops += model().compiled[request->graph->node(node).type - model().first_type].flops_per_row;
  return flops;
}

Result<Request> EngineSetup::request(std::size_t number, DeviceAddress results) const {
  const Sample& sample = samples_[number];
  return unfolded_request(model(), structure(sample), sample.lengths, sample.pages->addresses(), results);
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
