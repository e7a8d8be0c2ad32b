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

  std::shared_ptr<const Model> lstm(const NewLstm& sizes, const LoadOptions& options = {}) {
    EXPECT_TRUE(write_lstm_model(place("lstm"), sizes));
    return load_model(path_ / "lstm", options).value();
  }
  std::shared_ptr<const Model> bidirectional(const NewLstm& sizes, const LoadOptions& options = {}) {
    EXPECT_TRUE(write_bidirectional_model(place("bidirectional"), sizes));
    return load_model(path_ / "bidirectional", options).value();
  }
  std::shared_ptr<const Model> seq2seq(const NewLstm& sizes, const LoadOptions& options = {}) {
    EXPECT_TRUE(write_seq2seq_model(place("seq2seq"), sizes));
    return load_model(path_ / "seq2seq", options).value();
  }
  std::shared_ptr<const Model> check(const LoadOptions& options = {}) {
    EXPECT_TRUE(write_check_model(place("check")));
    return load_model(path_ / "check", options).value();
  }

 private:
  NewModel place(const char* name) const {
    NewModel model;
    model.path = path_ / name;
    model.overwrite = true;
    return model;
  }

  std::filesystem::path path_;
};

}  // namespace volvox
