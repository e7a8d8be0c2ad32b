#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "repository/model_writer.h"

namespace volvox {

// The program, and what it writes.
class Bench : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "volvox-bench-test-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs `volvox-bench ARGUMENTS`; its exit status.
  int run(const std::string& arguments) {
    const std::string command = std::string(VOLVOX_BENCH) + " " + arguments + " > '" +
                                (folder_ / "out").string() + "' 2> '" + (folder_ / "err").string() + "'";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  nlohmann::json report(const std::string& arguments) {
    const std::filesystem::path path = folder_ / "report.json";
    EXPECT_EQ(run(arguments + " --json '" + path.string() + "'"), 0) << read("err");
    return nlohmann::json::parse(std::ifstream(path), nullptr, false);
  }
  std::string read(const char* name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void expect_to_run_without_a_gpu(const std::string& kind);
  void expect_no_more_batches_than_the_agenda(const std::string& kind);

  std::filesystem::path folder_;
};

inline void expect_measured(const nlohmann::json& value, const std::string& name) {
  ASSERT_TRUE(value.is_object()) << name << ": " << value;
  EXPECT_TRUE(value["median"].is_number()) << name;
  EXPECT_EQ(value["spread"].size(), 2U) << name;
  EXPECT_GE(value["median"], value["spread"][0]) << name;
  EXPECT_LE(value["median"], value["spread"][1]) << name;
}

}  // namespace volvox
