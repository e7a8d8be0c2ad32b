#include "actors/catalog.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

Installation installation_of(std::initializer_list<std::pair<const char*, std::uint32_t>> models) {
  Installation installation;
  for (const auto& [name, version] : models) {
    auto model = std::make_shared<Model>();
    model->name = name;
    model->version = version;
    auto installed = std::make_unique<InstalledModel>();
    installed->model = std::move(model);
    installation.models.push_back(std::move(installed));
  }
  return installation;
}

TEST(Catalog, FindsTheNewestUnlessAVersionIsGiven) {
  const Installation installation = installation_of({{"a", 2}, {"a", 10}, {"b", 1}});
  const Catalog catalog(installation);
  EXPECT_EQ((*catalog.find("a", 0))->model->version, 10U);
  EXPECT_EQ((*catalog.find("a", 2))->model->version, 2U);
  EXPECT_EQ((*catalog.find("b", 0))->model->name, "b");
}

TEST(Catalog, SaysWhatThereIs) {
  const Installation installation = installation_of({{"a", 2}, {"a", 10}, {"b", 1}});
  const Catalog catalog(installation);
  const auto nobody = catalog.find("c", 0);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error(), (Error{ErrorCode::kModelNotFound, "no model has this name; there are 'a' 'b'"}));
  const auto old = catalog.find("a", 1);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error(), (Error{ErrorCode::kModelNotFound, "the model has no version 1; it has 2 10"}));
}

}  // namespace
}  // namespace volvox
