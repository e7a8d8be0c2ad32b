#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cells/model/reference.h"
#include "import/onnx/import_onnx.h"
#include "repository/repository.h"
#include "tests/unit/cells/cells_testing.h"

// ONNX files of tests/golden/onnx.json, imported into a folder of their own.
namespace volvox::testing_onnx {

namespace fs = std::filesystem;
using testing_cells::TemporaryFolder;

inline std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

inline const nlohmann::json& golden() {
  static const auto json = nlohmann::json::parse(read(fs::path(VOLVOX_GOLDEN_DIR) / "onnx.json"));
  return json;
}

inline std::string bytes_of(const nlohmann::json& hex) {
  const auto text = hex.get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

class OnnxTest : public testing::Test {
 protected:
  OnnxImport of(const std::string& bytes) const {
    std::ofstream(folder_.path() / "model.onnx", std::ios::binary) << bytes;
    OnnxImport import{.file = folder_.path() / "model.onnx"};
    import.model = {.path = folder_.path() / "imported", .overwrite = true};
    return import;
  }

  OnnxImport of(const nlohmann::json& one) const {
    OnnxImport import = of(bytes_of(one["onnx"]));
    if (one.contains("set")) import.constants = one["set"].get<std::map<std::string, std::vector<double>>>();
    if (one.contains("shapes")) import.shapes = one["shapes"].get<std::map<std::string, Shape>>();
    return import;
  }

  // What the imported model makes of all rows of x, as one request.
  std::vector<double> answer(const nlohmann::json& x, bool eager) const {
    LoadOptions options;
    options.eager = eager;
    const auto model = load_model(folder_.path() / "imported", options);
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return {};
    const InputSpec& input = (*model)->inputs.front();
    const auto real = x.get<std::vector<float>>();
    const std::vector<std::int32_t> whole(real.begin(), real.end());
    const auto bytes =
        input.dtype == DType::kF32 ? std::as_bytes(std::span(real)) : std::as_bytes(std::span(whole));
    const auto steps =
        static_cast<std::uint32_t>(real.size() / static_cast<std::size_t>(elements(input.shape)));
    const std::vector<std::span<const std::byte>> inputs{bytes};
    auto reference = Reference::make(*model);
    EXPECT_TRUE(reference);
    const auto outputs = reference->run(inputs, ChainStructure{steps});
    EXPECT_TRUE(outputs);
    return outputs->front().reals;
  }

  TemporaryFolder folder_;
};

inline const nlohmann::json& case_of(const std::string& name) {
  for (const auto& one : golden()["cases"]) {
    if (one["name"] == name) return one;
  }
  throw std::runtime_error(name);
}

}  // namespace volvox::testing_onnx
