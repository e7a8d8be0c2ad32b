#include "repository/repository.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_kind.h"
#include "cells/model/model_definition.h"
#include "cells/unfold/unfolding.h"
#include "repository/cell_file.h"
#include "repository/model_toml.h"
#include "repository/model_writer.h"
#include "repository/safetensors.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing_cells::TemporaryFolder;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

const NewSizes kSmall{.hidden = 6, .input = 5, .vocabulary = 20, .seed = 3};

class Repository : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_new_model({.path = model_}, "lstm", kSmall)); }

  // Loads the model after one replacement in its model.toml; it must fail.
  std::string error_after(const std::string& from, const std::string& to) {
    const std::string text = read(model_ / "model.toml");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    std::string changed = text;
    write(model_ / "model.toml", changed.replace(at, from.size(), to));
    const auto model = load_model(model_);
    write(model_ / "model.toml", text);
    EXPECT_FALSE(model) << to;
    return model ? "" : model.error().message;
  }

  TemporaryFolder folder_;
  fs::path model_ = folder_.path() / "small";
};

TEST_F(Repository, LoadsAChainOfOneLane) {
  const auto loaded = load_model(model_, {.eager = false});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Model& model = **loaded;
  EXPECT_EQ(model.name, "small");
  EXPECT_EQ(model.version, 1U);
  ASSERT_EQ(model.types.size(), 1U);
  ASSERT_EQ(model.plan.lanes.size(), 1U);
  EXPECT_EQ(model.plan.lanes[0].ring, 2U);
  EXPECT_EQ(model.plan.lanes[0].edges[0].offset, -1);
  EXPECT_EQ(model.plan.lanes[0].pushes[0].output, 0);
  EXPECT_FALSE(model.plan.lanes[0].pushes[0].every);
  EXPECT_EQ(model.types[0].max_batch, 64U);
  EXPECT_FALSE(model.types[0].independent);
  EXPECT_EQ(model.inputs[0].vocabulary, 20);
  EXPECT_EQ(model.outputs[0].shape, Shape{6});
  EXPECT_TRUE(validate(model));
}

TEST_F(Repository, LoadsAnEagerLaneThatRunsAhead) {
  const auto loaded = load_model(model_, {.eager_window = 7, .max_batch = 9});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Model& model = **loaded;
  ASSERT_EQ(model.plan.lanes.size(), 2U);
  const LaneSpec &eager = model.plan.lanes[0], &core = model.plan.lanes[1];
  EXPECT_EQ(model.types[0].name, "lstm.eager");
  EXPECT_EQ(model.types[1].name, "lstm");
  EXPECT_TRUE(model.types[0].independent);
  EXPECT_LT(model.types[0].priority, model.types[1].priority);
  EXPECT_EQ(model.types[1].max_batch, 9U);
  EXPECT_EQ(eager.ring, 7U);
  EXPECT_TRUE(eager.edges.empty());
  EXPECT_TRUE(eager.has_state);
  EXPECT_NE(eager.pool, core.pool);
  ASSERT_EQ(core.edges.size(), 2U);
  EXPECT_EQ(core.edges[0].from, 1);
  EXPECT_EQ(core.edges[0].offset, -1);
  EXPECT_EQ(core.edges[1].from, 0);
  EXPECT_EQ(core.edges[1].offset, 0);
  EXPECT_EQ(core.edges[1].stride, 1);
  EXPECT_EQ(model.types[1].gather_pools[1], eager.pool);
  EXPECT_EQ(model.pools[eager.pool].kinds[0].shape, Shape{24});
}

TEST_F(Repository, ASmallerMaxBatchLowersMinBatch) {
  std::string text = read(model_ / "model.toml");
  write(model_ / "model.toml", text.replace(text.find("min_batch = 1"), 13, "min_batch = 8"));
  EXPECT_EQ((*load_model(model_))->types[1].min_batch, 8U);
  EXPECT_EQ((*load_model(model_, {.max_batch = 4}))->types[1].min_batch, 4U);
}

TEST_F(Repository, OnlyAModelIsOverwritten) {
  const Status status =
      write_new_model({.path = folder_.path(), .name = "x", .overwrite = true}, "lstm", kSmall);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("is no model, and is not overwritten"));
  EXPECT_TRUE(load_model(model_)) << "which lies in it";
}

TEST_F(Repository, ATransducerCanSayItsBlank) {
  const fs::path rnnt = folder_.path() / "rnnt";
  ASSERT_TRUE(write_new_model({.path = rnnt}, "rnnt", {.hidden = 4, .input = 4, .vocabulary = 9}));
  std::string text = read(rnnt / "model.toml");
  const std::string kind = "kind = 'lstm_transducer'";
  ASSERT_NE(text.find(kind), std::string::npos) << text;
  write(rnnt / "model.toml", text.replace(text.find(kind), kind.size(), kind + "\nstart = 9"));
  const auto loaded = load_model(rnnt);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("the blank, start = 9, is none of the 9 rows of"));
}

TEST_F(Repository, TheDigestIsOfTheFilesAlone) {
  const std::uint64_t digest = (*load_model(model_))->digest;
  EXPECT_EQ((*load_model(model_, {.eager = false, .max_batch = 3}))->digest, digest);
  const fs::path other = folder_.path() / "other";
  ASSERT_TRUE(write_new_model({.path = other, .name = "small"}, "lstm", kSmall));
  EXPECT_EQ((*load_model(other))->digest, digest);
  NewSizes seed = kSmall;
  seed.seed = 4;
  ASSERT_TRUE(write_new_model({.path = other, .name = "small", .overwrite = true}, "lstm", seed));
  EXPECT_NE((*load_model(other))->digest, digest);
  std::string text = read(model_ / "model.toml");
  write(model_ / "model.toml", text.replace(text.find("4096"), 4, "4095"));
  EXPECT_NE((*load_model(model_))->digest, digest);
}

// Whoever sees another part of the input is another model.
TEST_F(Repository, TheDigestCoversWindows) {
  const fs::path folder = folder_.path() / "sound";
  fs::create_directories(folder / "1");
  CellBuilder b("level");
  b.push("y", b.tanh(b.pull("x", DType::kF32, {8})));
  write(folder / "level.cell.json", to_json(b.build().value()));
  write(folder / "1" / "weights.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  std::set<std::uint64_t> digests;
  for (const std::string input : {"shape = [8]", "window = 8\nhop = 6", "window = 8\nhop = 5"}) {
    write(folder / "model.toml",
          "name = \"sound\"\n[[cell]]\nname = \"level\"\nkind = \"file\"\n[[input]]\nname = \"x\"\ndtype = "
          "\"f32\"\n" +
              input + "\n[[output]]\nname = \"y\"\nevery = true\n");
    const auto model = load_model(folder);
    ASSERT_TRUE(model) << model.error().message;
    digests.insert((*model)->digest);
  }
  EXPECT_EQ(digests.size(), 3U);
}

TEST_F(Repository, SplitsOnlyCellsWithLargeProductsWhenAsked) {
  // input 5, hidden 6
  const std::uint64_t bytes = 4 * 6 * (5 + 6) * sizeof(float);
  EXPECT_EQ((*load_model(model_, {.eager_from_bytes = bytes}))->types.size(), 2U);
  EXPECT_EQ((*load_model(model_, {.eager_from_bytes = bytes + 1}))->types.size(), 1U);
}

TEST_F(Repository, TheNewestVersionUnlessToldOtherwise) {
  for (const char* version : {"2", "10", "003", "x", "0", "99999999999"}) {
    fs::create_directory(model_ / version);
    fs::copy_file(model_ / "1" / "weights.safetensors", model_ / version / "weights.safetensors");
  }
  fs::create_directory(model_ / "11");  // without weights
  EXPECT_THAT(list_versions(model_), ElementsAre(1, 2, 10));
  EXPECT_EQ((*load_model(model_))->version, 10U);
  EXPECT_EQ((*load_model(model_, {.version = 2}))->version, 2U);
  const auto missing = load_model(model_, {.version = 11});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kModelNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("version 11"));
  const auto none = load_model(folder_.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kModelNotFound);
}

TEST_F(Repository, ListsModelsByName) {
  ASSERT_TRUE(write_new_model({.path = folder_.path() / "b"}, "noop"));
  ASSERT_TRUE(write_new_model({.path = folder_.path() / "a"}, "check"));
  fs::create_directory(folder_.path() / "no-model");
  write(folder_.path() / "file", "");
  const auto models = list_models(folder_.path());
  ASSERT_TRUE(models);
  std::vector<std::string> names;
  for (const RepositoryEntry& entry : *models) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("a", "b", "small"));
  EXPECT_THAT((*models)[0].versions, ElementsAre(1));
  EXPECT_FALSE(list_models(folder_.path() / "none"));
}

TEST_F(Repository, ErrorsSayFileLineAndKey) {
  EXPECT_THAT(error_after("max_length = 4096", "max_length = 0"),
              MatchesRegex(".*small/model.toml:3: max_length: must be a whole number from 1 to 16777216"));
  EXPECT_THAT(
      error_after("max_length", "max_lenght"),
      HasSubstr("model.toml:3: max_lenght: is unknown; there are name, unfolding, min_length, max_length,"));
  EXPECT_THAT(error_after("max_length = 4096", "max_length = \"x\""),
              HasSubstr("3: max_length: must be a whole"));
  EXPECT_THAT(error_after("max_length = 4096", "max_length = ="), HasSubstr("model.toml:3: "));
  EXPECT_THAT(error_after("name = 'small'", ""), HasSubstr("name: is missing"));
  EXPECT_THAT(error_after("name = 'small'", "name = 'a/b'"), HasSubstr("1: name: 'a/b' is no name"));
  EXPECT_THAT(error_after("'chain'", "'circle'"), HasSubstr("'circle' is not served"));
  EXPECT_THAT(error_after("kind = 'lstm'", "kind = 'rmm'"), HasSubstr("kind: 'rmm' is not in the library"));
  EXPECT_THAT(error_after("hidden = 6", ""), HasSubstr("hidden: is missing"));
  for (const std::string key : {"start", "top_k", "temperature", "beams", "length_penalty", "end", "symbols"})
    EXPECT_THAT(error_after("min_batch = 1", key + " = 2"), HasSubstr(key + ": a lstm cell has none"));
  EXPECT_THAT(error_after("hidden = 6", "hidden = 7"),
              AllOf(HasSubstr("model 'small', cell 'lstm'"), HasSubstr("lstm.weight_ih"), HasSubstr("24")));
  EXPECT_THAT(error_after("max_batch = 64", "max_batch = 0"), HasSubstr("max_batch: must be"));
  for (const char* wrong : {"0", "nan", "-1.5", "1001", "\"warm\""}) {
    EXPECT_THAT(error_after("min_batch = 1", std::string("temperature = ") + wrong),
                HasSubstr("temperature: must be a number from 0.001 to 1000"));
  }
  EXPECT_THAT(error_after("min_batch = 1", "top_k = 0"), HasSubstr("top_k: must be a whole number"));
  EXPECT_THAT(error_after("min_batch = 1", "min_batch = 65"),
              HasSubstr("min_batch: is larger than max_batch"));
}

TEST_F(Repository, LanesInputsAndOutputsMustAgree) {
  EXPECT_THAT(error_after("[[lane]]\ncell = 'lstm'", "[[lane]]\ncell = 'x'"),
              HasSubstr("there is no cell 'x'"));
  EXPECT_THAT(error_after("over = 'tokens'", "over = 'x'"),
              HasSubstr("over: there is no input and no sequence 'x'"));
  EXPECT_THAT(error_after("over = 'tokens'", "pull = ['tokens', 'tokens']"), HasSubstr("names 2 inputs"));
  EXPECT_THAT(error_after("over = 'tokens'", "push = ['x']"), HasSubstr("there is no output 'x'"));
  EXPECT_THAT(error_after("over = 'tokens'", "push = []\npull = 3"),
              HasSubstr("pull: must be a list of strings"));
  EXPECT_THAT(error_after("dtype = \"i32\"", "dtype = \"f32\""), HasSubstr("only i32 inputs have one"));
  EXPECT_THAT(error_after("dtype = \"i32\"", "dtype = \"i8\""), HasSubstr("'i8' is no type"));
  EXPECT_THAT(error_after("shape = []", "shape = [2]"), HasSubstr("is i32[2], the cell reads i32[]"));
  EXPECT_THAT(error_after("shape = []", "shape = [0]"), HasSubstr("extent"));
  EXPECT_THAT(error_after("shape = []", "shape = [65536, 65536, 65536, 65536]"),
              HasSubstr("more than 16777216 elements"));
  EXPECT_THAT(error_after("vocabulary = 20", "vocabulary = 21"), HasSubstr("larger than the 20 rows"));
  EXPECT_THAT(error_after("shape = [6]", "shape = [7]"), HasSubstr("the cell emits f32[6]"));
  EXPECT_THAT(error_after("every = false", "every = 0"), HasSubstr("every: must be true or false"));
  EXPECT_THAT(error_after("[[output]]", "[[output]]\nname = 'z'\n[[output]]"),
              HasSubstr("nothing writes it"));
  EXPECT_THAT(error_after("[[input]]", "[[input]]\nname = 'tokens'\n[[input]]"), HasSubstr("comes twice"));
  EXPECT_THAT(error_after("[[cell]]", "[[cell]]\nname='a'\nkind='noop'\n[[cell]]"),
              HasSubstr("has one cell"));
  EXPECT_THAT(error_after("[[cell]]", "[cell]"), HasSubstr("must be written [[cell]]"));
}

TEST_F(Repository, BadWeightsNameTheirFile) {
  const fs::path weights = model_ / "1" / "weights.safetensors";
  fs::resize_file(weights, fs::file_size(weights) - 1);
  EXPECT_THAT(load_model(model_).error().message,
              AllOf(HasSubstr("1/weights.safetensors: "), HasSubstr("lie outside")));
  fs::resize_file(weights, 0);
  EXPECT_THAT(load_model(model_).error().message, HasSubstr("1/weights.safetensors: is no safetensors file"));
}

// The file with other contents of the same tensors: `change` may rename them, and add bytes to the end.
std::string rewritten(const std::string& file,
                      const std::function<void(nlohmann::json&, std::string&)>& change) {
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof(header_bytes));
  auto header = nlohmann::json::parse(file.substr(8, header_bytes));
  std::string data = file.substr(8 + header_bytes);
  change(header, data);
  const std::string text = header.dump();
  header_bytes = text.size();
  return std::string(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes)) + text + data;
}

TEST_F(Repository, ATensorThatNoCellReadsIsRefused) {
  const fs::path weights = model_ / "1" / "weights.safetensors";
  write(weights, rewritten(read(weights), [](nlohmann::json& header, std::string& data) {
          header["lstm.weight_ih_l1"] = {
              {"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {data.size(), data.size() + 4}}};
          data.append(4, '\0');
        }));
  EXPECT_THAT(load_model(model_).error().message,
              AllOf(HasSubstr("no cell reads the weight 'lstm.weight_ih_l1'"), HasSubstr("leave it out")));
}

TEST_F(Repository, WhatIsThereInPlaceOfAWeightIsSaid) {
  const fs::path weights = model_ / "1" / "weights.safetensors";
  const std::string good = read(weights);
  write(weights, rewritten(good, [](nlohmann::json& header, std::string&) {
          header["lstm.weight_hidden"] = header["lstm.weight_hh"];
          header.erase("lstm.weight_hh");
        }));
  EXPECT_THAT(load_model(model_).error().message,
              AllOf(HasSubstr("there is no weight 'lstm.weight_hh'; there are 'lstm.bias', "),
                    HasSubstr("'lstm.weight_hidden'")));
  write(weights, rewritten(good, [](nlohmann::json& header, std::string& data) {
          header["lstm.bias_ih"] = header["lstm.bias"];
          header["lstm.bias_hh"] = header["lstm.bias"];
          header["lstm.bias_hh"]["data_offsets"] = {data.size(), data.size() + 4 * 6 * 4};
          data.append(4 * 6 * 4, '\0');
          header.erase("lstm.bias");
        }));
  EXPECT_THAT(load_model(model_).error().message, HasSubstr("add 'lstm.bias_ih' and 'lstm.bias_hh'"));
  write(weights, rewritten(good, [](nlohmann::json& header, std::string&) {
          header["lstm.weight_ih"]["shape"] = {5, 4 * 6};
        }));
  EXPECT_THAT(load_model(model_).error().message,
              AllOf(HasSubstr("'lstm.weight_ih'"), HasSubstr("transposed?")));
}

TEST_F(Repository, AnInputWithoutVocabularyGetsTheTables) {
  std::string text = read(model_ / "model.toml");
  write(model_ / "model.toml", text.replace(text.find("vocabulary = 20"), 15, ""));
  EXPECT_EQ((*load_model(model_))->inputs[0].vocabulary, 20);
}

TEST(ModelWriter, NewModelsLoad) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_new_model({.path = folder.path() / "deep" / "noop", .max_batch = 32}, "noop"));
  const auto noop = load_model(folder.path() / "deep" / "noop");
  ASSERT_TRUE(noop) << noop.error().message;
  EXPECT_FALSE((*noop)->plan.lanes[0].has_state);
  EXPECT_EQ((*noop)->pools.size(), 1U);
  EXPECT_EQ((*noop)->types[0].max_batch, 32U);
  EXPECT_TRUE((*noop)->outputs.empty());
  ASSERT_TRUE(write_new_model({.path = folder.path() / "check/", .name = "sum"}, "check"));
  const auto check = load_model(folder.path() / "check");
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ((*check)->name, "sum");
  EXPECT_EQ((*check)->plan.lanes.size(), 1U);
  EXPECT_EQ((*check)->outputs[0].dtype, DType::kU64);
}

TEST(ModelWriter, NothingIsOverwrittenUnasked) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  ASSERT_TRUE(write_new_model({.path = path}, "noop"));
  write(path / "old", "");
  EXPECT_THAT(write_new_model({.path = path}, "noop").error().message, HasSubstr("exists already"));
  EXPECT_TRUE(fs::exists(path / "old"));
  ASSERT_TRUE(write_new_model({.path = path, .overwrite = true}, "check"));
  EXPECT_FALSE(fs::exists(path / "old"));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, ElementsAre("m"));
}

TEST(ModelWriter, RefusesNamesAndSizesThatCannotBe) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  EXPECT_THAT(write_new_model({.path = path, .name = "a b"}, "noop").error().message,
              HasSubstr("'a b' is no name"));
  EXPECT_THAT(write_new_model({.path = "", .name = "a"}, "noop").error().message, HasSubstr("no folder"));
  EXPECT_THAT(write_new_model({.path = "/", .name = "a"}, "noop").error().message, HasSubstr("no folder"));
  EXPECT_FALSE(write_new_model({.path = path}, "lstm", {.hidden = 0}));
  EXPECT_FALSE(write_new_model({.path = path}, "lstm", {.hidden = 1U << 20}));
  EXPECT_FALSE(write_new_model({.path = path}, "lstm", {.hidden = 4, .vocabulary = 0}));
  EXPECT_FALSE(fs::exists(path));
  write(path, "a file");
  EXPECT_FALSE(write_new_model({.path = path / "inside"}, "noop"));
}

// The bytes must be the same on every machine and in every later version: benchmarks and tests name seeds.
// The numbers come from another implementation of the same generator.
TEST(ModelWriter, SeededWeightsNeverChange) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_new_model({.path = folder.path() / "m"}, "lstm", kSmall));
  const auto model = load_model(folder.path() / "m");
  ASSERT_TRUE(model);
  const Weights& weights = (*model)->weights;
  const float* ih = weights.find("lstm.weight_ih")->f32();
  const float* embedding = weights.find("lstm.embedding")->f32();
  EXPECT_EQ(ih[0], -0x1.770732p-2F);
  EXPECT_EQ(ih[119], -0x1.994e9cp-3F);
  EXPECT_EQ(weights.find("lstm.weight_hh")->f32()[143], 0x1.c4cee2p-4F);
  EXPECT_EQ(weights.find("lstm.bias")->f32()[23], -0x1.46ddfap-2F);
  EXPECT_EQ(embedding[0], 0x1.d4dba8p+0F);
  EXPECT_EQ(embedding[99], -0x1.3f3628p-1F);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    sum += embedding[i];
    squares += embedding[i] * embedding[i];
  }
  EXPECT_NEAR(sum / 100, 0, 0.3);
  EXPECT_NEAR(squares / 100, 1, 0.3);
  for (std::size_t i = 0; i < 120; ++i) EXPECT_LT(std::abs(ih[i]), 1 / std::sqrt(6.0F));
}

TEST(ModelDefinition, TextAndDefinitionAgree) {
  ModelDefinition definition{.name = "a-1.b_c", .max_length = 7};
  definition.cells.push_back({.name = "x \"y\"", .kind = "lstm", .input = 3, .hidden = 4, .priority = -2});
  definition.cells[0].top_k = 3;
  definition.cells[0].temperature = 0.7;
  definition.cells[0].beams = 7;
  definition.cells[0].length_penalty = 0.25;
  definition.cells[0].end = 9;
  definition.lanes.push_back({.cell = "x \"y\"", .over = "in", .pull = {"in"}, .push = {"out", "o'2\n"}});
  definition.inputs.push_back({.name = "in", .dtype = DType::kF32, .shape = {3, 2}});
  definition.outputs.push_back(
      {.name = "out", .dtype = DType::kU64, .shape = Shape{}, .every = true, .path = true});
  definition.cells[0].name = "cell";
  const auto parsed = parse_model_definition(to_toml(definition), "f");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(to_toml(*parsed), to_toml(definition));
  EXPECT_EQ(parsed->lanes[0].push, definition.lanes[0].push);
  EXPECT_EQ(parsed->outputs[0].shape, Shape{});
  EXPECT_EQ(parsed->cells[0].priority, -2);
  EXPECT_EQ(parsed->cells[0].top_k, 3);
  EXPECT_EQ(sizes_of(parsed->cells[0]), sizes_of(definition.cells[0]));
  EXPECT_TRUE(parsed->outputs[0].path);
}

TEST(ModelDefinition, Names) {
  for (const char* good : {"a", "0", "lstm-1024", "A.b_c"}) EXPECT_TRUE(is_valid_name(good)) << good;
  for (const char* bad : {"", ".a", "-a", "a b", "a/b", "\xc3\xbc"}) EXPECT_FALSE(is_valid_name(bad)) << bad;
  EXPECT_FALSE(is_valid_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace volvox
