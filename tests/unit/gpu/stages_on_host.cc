#include "tests/unit/gpu/stages_on_host.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/gpu/gpu_cells.h"
#include "tests/unit/gpu/stage_sources.h"

namespace volvox::gpu {
namespace {

namespace fs = std::filesystem;

// All sources in one library of the host's.
class HostLibrary {
 public:
  explicit HostLibrary(const StageSources& sources) : sources_(sources) {
    const fs::path folder = fs::temp_directory_path() / ("stages" + std::to_string(::getpid()));
    fs::create_directories(folder);
    std::ofstream file(folder / "stages.cc");
    file << "#include \"gpu/kernels/stage.h\"\n#define VOLVOX_STAGE_AS(name, n) extern \"C\" void name"
         << "(const PointwiseCall& call, const StageThread& me, std::uint32_t program)\n"
         << "namespace volvox::gpu {\n"
         << sources.together(0, sources.all().size()).text << "}\n";
    file.close();
    const std::string command =
        std::string(VOLVOX_CXX) + " -std=c++20 -O0 -ffp-contract=off -shared -fPIC -I" + VOLVOX_SOURCE_DIR +
        " " + (folder / "stages.cc").string() + " -o " + (folder / "stages.so").string();
    if (std::system(command.c_str()) == 0) library_ = dlopen((folder / "stages.so").c_str(), RTLD_NOW);
    fs::remove_all(folder);
  }
  ~HostLibrary() {
    if (library_ != nullptr) dlclose(library_);
  }
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;
  bool good() const { return library_ != nullptr; }

  std::vector<FakeDriver::Stage> stages(const StageSource& source) const {
    const std::size_t number = sources_.find(source);
    std::vector<FakeDriver::Stage> found;
    for (std::uint32_t n = 0; n < source.stages; ++n) {
      void* stage = dlsym(library_, StageSources::name_of(number, std::to_string(n)).c_str());
      EXPECT_NE(stage, nullptr) << number << ", stage " << n;
      found.push_back(reinterpret_cast<FakeDriver::Stage>(stage));
    }
    return found;
  }

 private:
  const StageSources& sources_;
  void* library_ = nullptr;
};

}  // namespace

void add_stage_cases(std::vector<StageCase>& cases, const Cell& cell, const Weights& weights) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16})
    cases.push_back({cell, weights, {.precision = precision, .path = KernelPath::kGeneric}});
}

std::vector<float> run_stages(const StageCase& of, const FakeDriver::Compile& compile, std::string* kernel) {
  auto driver = std::make_shared<FakeDriver>();
  driver->compile_with(compile);
  auto options = small_device(of.options);
  options.measure = false;
  auto device = GpuDevice::make(driver, options).value();
  CellBatch batch(of.cell, of.weights, 13);
  const auto results = batch.on_device(*device, {.padded = 16, .max_batch = 16});
  if (kernel != nullptr) *kernel = batch.kernel();
  device.reset();
  EXPECT_EQ(driver->live_modules(), 0U);
  return results;
}

void expect_the_bits_of_programs(const std::vector<StageCase>& cases) {
  StageSources sources;
  std::vector<std::vector<float>> interpreted;
  for (const StageCase& one : cases) {
    interpreted.push_back(run_stages(one, [&](const StageSource& source) {
      sources.add(source);
      return std::vector<FakeDriver::Stage>{};
    }));
  }
  const HostLibrary library(sources);
  ASSERT_TRUE(library.good()) << "does " VOLVOX_CXX " not compile what is written for a GPU?";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::string kernel;
    const auto compiled = [&](const StageSource& source) { return library.stages(source); };
    EXPECT_EQ(run_stages(cases[i], compiled, &kernel), interpreted[i]) << cases[i].cell.name << " " << i;
    EXPECT_EQ(kernel, std::string("compiled ") + std::string(name_of(cases[i].options.precision)));
  }
}

}  // namespace volvox::gpu
