#include "simulation/bench/engine_setup.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "repository/model_writer.h"
#include "repository/repository.h"
#include "simulation/bench/bench_device.h"
#include "simulation/chains.h"
#include "simulation/chance.h"
#include "simulation/workload.h"

namespace volvox::bench {
namespace {

constexpr std::size_t kSamples = 4096;

// Writes an LSTM, loads it and takes its folder away again: the map keeps the weights.
Result<std::shared_ptr<const Model>> made_up_lstm(const EngineOptions& options, const LoadOptions& load) {
  std::string folder = (std::filesystem::temp_directory_path() / "volvox-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return fail(ErrorCode::kUnavailable, "cannot make a folder like " + folder);
  NewModel place;
  place.path = std::filesystem::path(folder) / "lstm";
  NewLstm lstm;
  lstm.hidden = options.hidden;
  const Status written = write_lstm_model(place, lstm);
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
  const LoadOptions load{.eager = options.eager, .eager_window = options.eager_window};
  const auto model = options.model.empty() ? made_up_lstm(options, load) : load_model(options.model, load);
  if (!model) return tl::unexpected(model.error());
  // Compiled for the largest batch; smaller ones are the scheduler's configuration.
  InstallOptions install_options;
  install_options.max_batch = 1;
  for (const Configuration& c : plan.configurations) {
    install_options.max_batch = std::max(install_options.max_batch, c.max_batch);
  }
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

Status EngineSetup::make_samples(const EngineOptions& options) {
  Chance chance(options.seed);
  std::vector<std::uint32_t> lengths;
  if (options.lengths.empty()) {
    lengths = typical_lengths(kSamples, chance);
  } else {
    auto read = read_lengths(options.lengths);
    if (!read) return tl::unexpected(read.error());
    lengths = std::move(*read);
  }
  const Model& model = *this->model().model;
  for (std::size_t i = 0; i < kSamples; ++i) {
    Sample sample;
    sample.length = lengths[chance.below(lengths.size())];
    if (sample.length > model.max_length) {
      return invalid("a length of " + std::to_string(sample.length) + " is more than the model allows");
    }
    auto pages = stage(*device_, random_content(model, sample.length, chance));
    if (!pages) return tl::unexpected(pages.error());
    sample.pages = std::move(*pages);
    longest_ = std::max(longest_, sample.length);
    samples_.push_back(std::move(sample));
  }
  return {};
}

double EngineSetup::mean_length() const {
  double sum = 0;
  for (const Sample& sample : samples_) sum += sample.length;
  return sum / static_cast<double>(samples_.size());
}

Request EngineSetup::request(std::size_t sample, DeviceAddress results) const {
  return lane_request(model(), lengths_of(samples_[sample].length), samples_[sample].pages->addresses(),
                      results);
}

Result<ResultBlock> EngineSetup::results() {
  return device_->results(output_bytes(model(), lengths_of(longest_)));
}

bool EngineSetup::verify(std::size_t sample, const ResultBlock& results) {
  if (!verifies_) return true;
  Sample& known = samples_[sample];
  std::uint64_t hash = known.length;
  for (std::size_t i = 0; i < model().model->outputs.size(); ++i) {
    const std::byte* output = results.host.get() + result_offset(model(), lengths_of(known.length), i);
    hash =
        hash_bytes(hash, output,
                   row_bytes(model().model->outputs[i]) * result_rows(model(), lengths_of(known.length), i));
  }
  hash |= 1;
  if (known.hash == 0) known.hash = hash;
  return known.hash == hash;
}

}  // namespace volvox::bench
