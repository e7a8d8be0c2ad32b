#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/model/model.h"
#include "cells/model/reference.h"
#include "cells/unfold/unfolding.h"
#include "loadgen/report/verify.h"

namespace volvox {

// Compares answers with the double-precision reference of a model (cells/model/reference.h): f32 outputs
// within 1e-4 · max(1, |reference|), others bit for bit, and none missing. One thread at a time.
class ModelVerifier : public AnswerVerifier {
 public:
  // Load the model without the eager split, so that the split is checked as well.
  static Result<std::unique_ptr<ModelVerifier>> make(std::shared_ptr<const Model> model);

  Result<std::string> check(const RequestContent& content, const ReplyBody& answer) override;
  // The same for a request as it is sent.
  Result<std::string> check(const RequestBody& request, const ReplyBody& answer);

  // Whether requests can be made up: INVALID_ARGUMENT for a model that reads more than rows of token ids, or
  // rows of f32 along one sequence.
  Status can_be_loaded() const;

  const std::string& model() const { return model_->name; }
  std::uint32_t max_length() const { return model_->max_length; }
  // The inputs that take the tokens, with commas between them; empty if there is none.
  std::string input() const;
  // Ids of input `input` are below this; 0 if any will do.
  std::int64_t vocabulary(std::size_t input = 0) const;
  // Of a row of the only input, where that is of f32; empty: of token ids.
  std::vector<std::uint32_t> row_shape() const;
  const Model& loaded() const { return *model_; }
  // The structures that it takes: see Unfolding::takes().
  std::string_view takes() const { return model_->unfolding->takes(*model_); }
  // Whether every output is compared bit for bit. Such a reference is also quick.
  bool exact() const;

 private:
  ModelVerifier(std::shared_ptr<const Model> model, Reference reference)
      : model_(std::move(model)), reference_(std::move(reference)) {}

  Result<std::string> compare(std::span<const std::span<const std::byte>> inputs, const Structure& structure,
                              const ReplyBody& answer);

  std::shared_ptr<const Model> model_;
  Reference reference_;
};

}  // namespace volvox
