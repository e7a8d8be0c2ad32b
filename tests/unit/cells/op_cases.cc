#include "tests/unit/cells/op_cases.h"

#include "tests/unit/cells/op_case_parts.h"

namespace volvox::testing_cells {
namespace {

std::vector<OpCase> make_cases() {
  std::vector<OpCase> cases;
  add_elementwise(cases);
  add_choices(cases);
  add_last_axis(cases);
  add_reductions(cases);
  add_lists(cases);
  add_products(cases);
  add_layouts(cases);
  add_draws(cases);
  add_windows(cases);
  return cases;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> kCases = make_cases();
  return kCases;
}

}  // namespace volvox::testing_cells
