#include "actors/node/catalog.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

ModelPtr made_up(const char* name, std::uint32_t version) {
  auto model = std::make_shared<Model>();
  model->name = name;
  model->version = version;
  auto installed = std::make_shared<InstalledModel>();
  installed->model = std::move(model);
  return installed;
}

void fill(Catalog& catalog) {
  catalog.put(made_up("a", 10));
  catalog.put(made_up("a", 2));
  catalog.put(made_up("b", 1));
}

TEST(Catalog, FindsTheNewestUnlessAVersionIsGiven) {
  Catalog catalog;
  fill(catalog);
  EXPECT_EQ((*catalog.find("a", 0))->model->version, 10U);
  EXPECT_EQ((*catalog.find("a", 2))->model->version, 2U);
  EXPECT_EQ((*catalog.find("b", 0))->model->name, "b");
}

TEST(Catalog, SaysWhatThereIs) {
  Catalog catalog;
  fill(catalog);
  const auto nobody = catalog.find("c", 0);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error(), (Error{ErrorCode::kModelNotFound, "no model has this name; there are 'a', 'b'"}));
  const auto old = catalog.find("a", 1);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error(), (Error{ErrorCode::kModelNotFound, "the model has no version 1; it has 2, 10"}));
}

TEST(Catalog, ChangesWhileModelsAreHeld) {
  Catalog catalog;
  EXPECT_EQ(catalog.find("a", 0).error().message, "no model is loaded");
  fill(catalog);
  const ModelPtr held = *catalog.find("a", 0);
  EXPECT_EQ(catalog.take("a", 10), held);
  EXPECT_EQ((*catalog.find("a", 0))->model->version, 2U);
  EXPECT_EQ(catalog.take("a", 10), nullptr);
  EXPECT_EQ(catalog.take("c", 1), nullptr);
  EXPECT_EQ(held->model->version, 10U) << "whoever holds it keeps it";
  const ModelPtr old = *catalog.find("b", 1);
  EXPECT_EQ(catalog.put(made_up("b", 1)), old);
  EXPECT_NE(*catalog.find("b", 1), old);
  EXPECT_EQ(catalog.put(made_up("b", 2)), nullptr);
  EXPECT_EQ(catalog.all().size(), 3U);
  EXPECT_EQ(catalog.versions("b"), (std::vector<std::uint32_t>{1, 2}));
  catalog.take("a", 2);
  EXPECT_EQ(catalog.find("a", 0).error().message, "no model has this name; there are 'b'");
}

}  // namespace
}  // namespace volvox
