#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cells/model/model.h"
#include "cells/model/reference.h"
#include "cells/unfold/unfolding.h"
#include "loadgen/verify.h"

namespace volvox {

// Compares answers with the double-precision reference of a model (cells/model/reference.h): f32 outputs
// within 1e-4 · max(1, |reference|), others bit for bit, and none missing. For models that take one row of
// token ids, along a chain or over a tree, or nothing but a length. One thread at a time.
class ModelVerifier : public AnswerVerifier {
 public:
  // INVALID_ARGUMENT for a model with other inputs. Load it without the eager split, so that the split is
  // checked as well.
  static Result<std::unique_ptr<ModelVerifier>> make(std::shared_ptr<const Model> model);

  Result<std::string> check(const RequestContent& content, const ReplyBody& answer) override;

  const std::string& model() const { return model_->name; }
  std::uint32_t max_length() const { return model_->max_length; }
  // The input that takes the tokens; empty if there is none.
  std::string input() const;
  // Ids are below this; 0 if any will do.
  std::int64_t vocabulary() const;
  // The structures that it takes: see Unfolding::takes().
  std::string_view takes() const { return model_->unfolding->takes(*model_); }
  // Whether every output is compared bit for bit. Such a reference is also quick.
  bool exact() const;

 private:
  ModelVerifier(std::shared_ptr<const Model> model, Reference reference)
      : model_(std::move(model)), reference_(std::move(reference)) {}

  std::shared_ptr<const Model> model_;
  Reference reference_;
};

}  // namespace volvox
