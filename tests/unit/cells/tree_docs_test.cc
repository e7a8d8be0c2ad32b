// docs/models.md has every cell, every kind of new model and every unfolding, as the code says.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cells/library/cell_kind.h"
#include "cells/unfold/unfolding.h"
#include "repository/kinds/model_kind.h"

namespace volvox {
namespace {

std::string page() {
  std::ifstream file(VOLVOX_DOCS_DIR "/models.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What stands between the comments around the table `name`.
std::string table_in_page(const std::string& name) {
  const std::string text = page();
  const auto comment = text.find("<!-- " + name + ":"), begin = text.find("-->\n", comment);
  const auto end = text.find("<!-- end of " + name + " -->");
  if (comment == std::string::npos || begin == std::string::npos || end == std::string::npos)
    return "no table";
  return text.substr(begin + 4, end - begin - 4);
}

std::string table_of(const std::string& head, std::vector<std::string> rows) {
  std::sort(rows.begin(), rows.end());
  std::string table = head + "\n|---|---|\n";
  for (const std::string& row : rows) table += row + "\n";
  return table;
}

std::string row_of(std::string_view name, std::string_view says) {
  return "| `" + std::string(name) + "` | " + std::string(says) + " |";
}

TEST(Docs, HaveTheTableOfCells) {
  std::vector<std::string> rows;
  for (const auto* kinds : cell_kinds()) {
    for (const CellKind& kind : *kinds)
      rows.push_back(row_of(kind.name, "`" + std::string(kind.unfolding) + "`"));
  }
  EXPECT_EQ(table_in_page("cells"), table_of("| cell | unfolding |", std::move(rows)));
}

TEST(Docs, HaveTheTableOfKinds) {
  std::vector<std::string> rows;
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) rows.push_back(row_of(kind.name, kind.says));
  }
  EXPECT_EQ(table_in_page("kinds"), table_of("| kind | |", std::move(rows)));
}

TEST(Docs, SayWhatEachCellAndUnfoldingIs) {
  const std::string text = page();
  for (const auto* kinds : cell_kinds()) {
    for (const CellKind& kind : *kinds)
      EXPECT_NE(text.find("**`" + std::string(kind.name) + "`**"), std::string::npos) << kind.name;
  }
  for (const UnfoldingKind* kind : unfolding_kinds())
    EXPECT_NE(text.find("\n* `" + std::string(kind->name) + "`:"), std::string::npos) << kind->name;
}

}  // namespace
}  // namespace volvox
