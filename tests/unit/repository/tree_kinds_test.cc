// Every kind of model that `volvox models new` writes.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "repository/model_writer.h"
#include "repository/repository.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::HasSubstr;

template <class Visit>
void for_each_kind(Visit visit) {
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) {
      SCOPED_TRACE(std::string(kind.name));
      visit(kind);
    }
  }
}

std::shared_ptr<const Model> written_kind(const std::filesystem::path& path, const ModelKind& kind,
                                          NewSizes sizes, bool every = false) {
  const NewModel model{.path = path, .name = "m", .overwrite = true, .every_step = every};
  const Status done = write_new_model(model, kind.name, sizes);
  EXPECT_TRUE(done) << done.error().message;
  auto loaded = load_model(path);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *loaded : nullptr;
}

constexpr NewSizes kSmallKind{.hidden = 6, .input = 5, .vocabulary = 20, .seed = 3};

TEST(ModelKinds, LoadAndSaySoInALine) {
  const testing_cells::TemporaryFolder folder;
  std::size_t kinds = 0;
  for_each_kind([&](const ModelKind& kind) {
    ++kinds;
    EXPECT_FALSE(kind.says.empty());
    EXPECT_EQ(find_model_kind(kind.name), &kind) << "its name comes twice";
    const auto model = written_kind(folder.path() / "m", kind, kSmallKind);
    ASSERT_NE(model, nullptr);
    if (!kind.may_push_every) return;
    EXPECT_FALSE(model->outputs[0].every);
    EXPECT_TRUE(written_kind(folder.path() / "m", kind, kSmallKind, true)->outputs[0].every);
  });
  EXPECT_GE(kinds, 25U);
}

TEST(ModelKinds, HaveTheWeightsOfTheirSeed) {
  const testing_cells::TemporaryFolder folder;
  for_each_kind([&](const ModelKind& kind) {
    const auto one = written_kind(folder.path() / "a", kind, kSmallKind),
               same = written_kind(folder.path() / "b", kind, kSmallKind);
    NewSizes other = kSmallKind;
    other.seed = 4;
    EXPECT_EQ(one->digest, same->digest);
    const bool seeded = !one->weights.all().empty();
    EXPECT_EQ(one->digest != written_kind(folder.path() / "c", kind, other)->digest, seeded);
    EXPECT_EQ(seeded, (kind.sizes & ModelKind::kHidden) != 0);
  });
}

TEST(ModelKinds, TakeAsManyLayersAsTheySay) {
  const testing_cells::TemporaryFolder folder;
  for_each_kind([&](const ModelKind& kind) {
    NewSizes sizes = kSmallKind;
    sizes.layers = kind.most_layers;
    if (kind.most_layers > 0) {
      EXPECT_NE(written_kind(folder.path() / "m", kind, sizes), nullptr);
    }
    sizes.layers = std::max(kind.most_layers, 1U) + 1;
    EXPECT_FALSE(write_new_model({.path = folder.path() / "n"}, kind.name, sizes));
  });
}

TEST(ModelKinds, AnUnknownOneIsToldWhichThereAre) {
  const testing_cells::TemporaryFolder folder;
  const Status unknown = write_new_model({.path = folder.path() / "m"}, "perceptron");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("no kind 'perceptron'"));
  EXPECT_THAT(unknown.error().message, HasSubstr("lattice_lstm"));
  EXPECT_FALSE(write_new_model({.path = folder.path() / "m", .every_step = true}, "seq2seq", kSmallKind));
}

}  // namespace
}  // namespace volvox
