#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "install/installation.h"
#include "repository/kinds/model_kind.h"
#include "tests/unit/gpu/cuda/compiled_stages.h"
#include "tests/unit/simulation/models.h"

namespace volvox::gpu {
namespace {

using KindsCodeTest = RuntimeCompilerTest;

TEST_F(KindsCodeTest, IsGoodForAllStagesOfModels) {
  StageSources sources;
  auto driver = std::make_shared<FakeDriver>();
  sources.collect_from(*driver);
  ModelFolder folder;
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) {
      auto device = GpuDevice::make(driver, compiling_device()).value();
      NewSizes sizes;
      sizes.hidden = 16;
      const auto model = folder.make(std::string(kind.name).c_str(), sizes);
      // What a GPU refuses it refuses before it compiles.
      (void)install(*device, {&model, 1}, {.max_batch = 8});
    }
  }
  EXPECT_GE(sources.all().size(), 20U) << "kinds of models";
  expect_good_code(sources);
}

}  // namespace
}  // namespace volvox::gpu
