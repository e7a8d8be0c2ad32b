// Models of the kinds of `volvox models new` against PyTorch: tests/golden/make_kinds_golden.py made the
// answers.
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cells/model/assemble.h"
#include "cells/model/reference.h"
#include "repository/kinds/model_kind.h"
#include "tests/unit/cells/golden_weights.h"

namespace volvox {
namespace {

using Json = nlohmann::json;
using Ints = std::vector<std::int32_t>;

Json kinds_golden() {
  std::ifstream file(VOLVOX_GOLDEN_DIR "/kinds.json");
  return Json::parse(file, nullptr, false);
}

Result<Reference> kind_reference(const Json& golden, const Json& kind, bool eager) {
  const Json& of = golden["sizes"];
  const NewSizes sizes{.hidden = of["hidden"],
                       .input = kind["input"],
                       .vocabulary = of["vocabulary"],
                       .steps = of["steps"],
                       .labels = of["labels"]};
  const ModelKind* known = find_model_kind(kind["kind"].get<std::string>());
  if (known == nullptr) return invalid("there is no such kind");
  ModelDefinition definition = known->define(sizes, known->may_push_every);
  definition.name = "golden";
  GoldenWeights weights;
  std::uint32_t number = 0;
  for (const Json& weight : kind["weights"])
    weights.add(weight[0], weight[1].get<Shape>(), ++number, kind["scale"].get<float>());
  auto model = assemble(definition, weights.weights(), {.eager = eager}, "golden");
  if (!model) return tl::unexpected(model.error());
  return Reference::make(std::make_shared<const Model>(std::move(*model)));
}

template <class Number>
std::vector<std::byte> rows_of(const Json& rows) {
  const auto numbers = rows.get<std::vector<Number>>();
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

// Token ids, or f32: Python writes these with a point.
std::vector<std::byte> input_bytes(const Json& rows) {
  const bool reals = !rows.empty() && rows[0].is_number_float();
  return reals ? rows_of<float>(rows) : rows_of<std::int32_t>(rows);
}

// A request of the file, and the arrays of its structure.
class GoldenRequest {
 public:
  explicit GoldenRequest(const Json& request) {
    for (const Json& rows : request["inputs"]) inputs_.push_back(input_bytes(rows));
    const Json& written = request["structure"];
    const auto form = written.begin().key();
    const Json& parts = written.begin().value();
    if (form == "chain") structure_ = ChainStructure{parts.get<std::uint32_t>()};
    if (form == "tree") structure_ = TreeStructure{keep(0, parts)};
    if (form == "lattice")
      structure_ = LatticeStructure{parts[0].get<std::uint32_t>(), keep(0, parts[1]), keep(1, parts[2])};
    if (form != "graph" && form != "sequences") return;
    names_ = parts[0].get<std::vector<std::string>>();
    const std::vector<std::string_view> names(names_.begin(), names_.end());
    if (form == "sequences") structure_ = SequencesStructure{names, keep(0, parts[1])};
    if (form == "graph")
      structure_ = GraphStructure{names, keep(0, parts[1]), keep(1, parts[2]), keep(2, parts[3])};
  }
  GoldenRequest(const GoldenRequest&) = delete;

  Result<std::vector<ReferenceOutput>> run(Reference& reference) const {
    const std::vector<std::span<const std::byte>> inputs(inputs_.begin(), inputs_.end());
    return reference.run(inputs, structure_);
  }

 private:
  const Ints& keep(std::size_t place, const Json& ints) { return arrays_[place] = ints.get<Ints>(); }

  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::string> names_;
  std::array<Ints, 3> arrays_;
  Structure structure_;
};

void expect_golden(const ReferenceOutput& found, const Json& wanted) {
  if (found.reals.empty()) {
    Ints ids(found.bytes.size() / sizeof(std::int32_t));
    std::memcpy(ids.data(), found.bytes.data(), found.bytes.size());
    EXPECT_EQ(ids, wanted.get<Ints>());
    return;
  }
  ASSERT_EQ(found.reals.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found.reals[i], wanted[i].get<double>(), 1e-12) << i;
}

TEST(KindsGolden, AgreeWithPyTorch) {
  const Json all = kinds_golden();
  ASSERT_TRUE(all.is_object()) << "kinds.json cannot be read";
  EXPECT_EQ(all["kinds"].size(), 20U);
  for (const Json& kind : all["kinds"]) {
    SCOPED_TRACE(kind["kind"].get<std::string>());
    for (const bool eager : {false, true}) {
      auto reference = kind_reference(all, kind, eager);
      ASSERT_TRUE(reference) << reference.error().message;
      ASSERT_GE(kind["requests"].size(), 3U);
      for (const Json& request : kind["requests"]) {
        const auto answer = GoldenRequest(request).run(*reference);
        ASSERT_TRUE(answer) << answer.error().message;
        ASSERT_EQ(answer->size(), request["outputs"].size());
        for (std::size_t i = 0; i < answer->size(); ++i)
          ASSERT_NO_FATAL_FAILURE(expect_golden((*answer)[i], request["outputs"][i]));
      }
    }
  }
}

}  // namespace
}  // namespace volvox
