// docs/models.md has every operator, as the code says.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ops/op.h"

namespace volvox {
namespace {

std::string table_of_operators() {
  std::vector<const OpDef*> all(op_defs().begin(), op_defs().end());
  std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  std::string table = "| operator | |\n|---|---|\n";
  for (const OpDef* op : all)
    table += "| `" + std::string(op->name) + "` | " + std::string(op->says) + " |\n";
  return table;
}

TEST(Docs, HaveTheTableOfOperators) {
  std::ifstream file(VOLVOX_DOCS_DIR "/models.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str(), before = "compares this table with the code -->\n";
  const auto begin = page.find(before), end = page.find("<!-- end of operators -->");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto first = begin + before.size();
  EXPECT_EQ(page.substr(first, end - first), table_of_operators());
}

}  // namespace
}  // namespace volvox
