#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "repository/model_writer.h"
#include "repository/repository.h"

namespace volvox {

// A folder for models that goes away with the object.
class ModelFolder {
 public:
  ModelFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "volvox-models-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~ModelFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  // Of a kind that `volvox models new` makes.
  std::shared_ptr<const Model> make(const char* kind, const NewSizes& sizes, const LoadOptions& options = {},
                                    bool every_step = false) {
    const NewModel place{.path = path_ / kind, .overwrite = true, .every_step = every_step};
    const Status written = write_new_model(place, kind, sizes);
    EXPECT_TRUE(written) << written.error().message;
    auto model = load_model(path_ / kind, options);
    EXPECT_TRUE(model) << model.error().message;
    return model.value();
  }
  std::shared_ptr<const Model> lstm(const NewSizes& sizes, const LoadOptions& options = {}) {
    return make("lstm", sizes, options);
  }
  std::shared_ptr<const Model> bidirectional(const NewSizes& sizes, const LoadOptions& options = {}) {
    return make("bidirectional", sizes, options);
  }
  std::shared_ptr<const Model> seq2seq(const NewSizes& sizes, const LoadOptions& options = {}) {
    return make("seq2seq", sizes, options);
  }
  std::shared_ptr<const Model> check(const LoadOptions& options = {}) { return make("check", {}, options); }

 private:
  std::filesystem::path path_;
};

}  // namespace volvox
