#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/load/model_verifier.h"
#include "loadgen/plan/workload.h"
#include "loadgen/requests/request_mix.h"

namespace volvox {

// The options of `volvox load` that say what requests say.
void add_request_options(CLI::App& command, RequestWords& words);

Result<LengthSource> lengths_of(const RequestWords& words);

// Where models lie that answers are compared with, and that say what they take. Both empty: nothing is known.
struct ModelFolders {
  std::string model;   // of the one model
  std::string models;  // of all, by their names
};

// The requests of a load, made of what a user said and of what is known of the models, and those who know the
// right answers. One thread.
class LoadRequests final : public AnswerVerifier {
 public:
  // `trace`: a file, or empty.
  static Result<std::unique_ptr<LoadRequests>> make(std::vector<RequestWords> classes,
                                                    const ModelFolders& folders, std::uint64_t seed,
                                                    const std::string& trace, double speed);

  const RequestMix& mix() const { return *mix_; }
  // Whether answers can be compared, and whether all are bit for bit.
  bool verifies() const { return !verifiers_.empty(); }
  bool exact() const;

  Result<std::string> check(const RequestContent& content, const ReplyBody& answer) override;

 private:
  Result<RequestClass> make_class(RequestWords words, const ModelFolders& folders, std::uint64_t seed);

  std::vector<std::unique_ptr<ModelVerifier>> verifiers_;  // of each class; or of none
  std::unique_ptr<RequestMix> mix_;
};

}  // namespace volvox
