// A cell as data, as it lies beside a model.toml: it is refused by a typed error, or it is a cell that can be
// written and read again, and that infer() accepts or refuses.

#include <string>
#include <string_view>

#include "cells/ir/infer.h"
#include "repository/cell_file.h"
#include "tests/fuzz/parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto cell = parse_cell(text, "x.cell.json");
  if (!cell) {
    fuzz::require_refusal(cell.error());
    return 0;
  }
  const std::string written = to_json(*cell);
  const auto again = parse_cell(written, "x.cell.json");
  fuzz::require(again && to_json(*again) == written, "what is written is read again");
  if (const Status inferred = infer(*cell); !inferred) fuzz::require_refusal(inferred.error());
  return 0;
}
