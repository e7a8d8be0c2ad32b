// Writes good inputs for the fuzzers to begin with: make_seeds FOLDER GOLDENS fills FOLDER/NAME for each;
// GOLDENS is tests/golden.

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cells/model/model_definition.h"
#include "config/load.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"
#include "repository/cell_file.h"
#include "repository/kinds/model_kind.h"
#include "repository/model_toml.h"
#include "repository/model_writer.h"
#include "repository/repository.h"
#include "tests/fuzz/cluster_seeds.h"
#include "tests/fuzz/load_seeds.h"
#include "tests/fuzz/parts.h"
#include "tests/fuzz/small_seeds.h"

namespace volvox::fuzz {
namespace {

namespace fs = std::filesystem;

const WireLimits kLimits;

std::string_view text_of(const WireBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of hexadecimal digits.
std::string bytes_of(std::string_view digits) {
  std::string bytes(digits.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, value, 16);
    bytes[i] = static_cast<char>(value);
  }
  return bytes;
}

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void add(const char* fuzzer, const std::string& input) {
    const fs::path path = folder_ / fuzzer / std::to_string(count_++);
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << input;
    file.close();
    require(file.good(), "a seed can be written");
  }

 private:
  fs::path folder_;
  int count_ = 0;
};

WireSessionToken session() {
  return {11, 12, 13, SessionOperation::kContinue, 14, 15, 16, 17, 18, "node-a", "node-b"};
}

void add_requests(Seeds& seeds) {
  const std::vector<std::int32_t> tokens{12, 7, 301}, parents{2, 2, -1}, starts{0, 1}, ends{2, 3};
  const std::vector<std::int32_t> deep{4, 3, 3, 4, -1};
  const std::vector<std::int32_t> types{0, 1, 0}, offsets{0, 0, 1, 3}, predecessors{0, 0, 1};
  const std::vector<double> reals{0.5, -1.5};
  RequestHeader header;
  header.request_id = 5;
  header.model = "größer";
  RequestBody body;
  body.inputs = {wire_tensor("tokens", std::span(tokens)), wire_tensor("x", std::span(reals), {2, 1})};
  body.outputs = {"h", "c"};
  for (const Structure& structure :
       {Structure(ChainStructure{3}), Structure(TreeStructure{parents}), Structure(TreeStructure{deep}),
        Structure(LatticeStructure{4, starts, ends}),
        Structure(SequencesStructure{{"source", "target"}, ends}),
        Structure(GraphStructure{{"a", "b"}, types, offsets, predecessors})}) {
    body.structure = structure;
    const auto frames = std::pair(encode_request_header(header, kLimits), encode_request_body(body, kLimits));
    require(frames.first && frames.second, "a seed can be encoded");
    seeds.add("request", join(text_of(*frames.first), text_of(*frames.second)));
    header.session = session();
  }
}

void add_bundles(Seeds& seeds) {
  const std::vector<float> rows{1, 2, 3, 4, 5, 6};
  WireSessionToken begin = session(), end = session();
  begin.operation = SessionOperation::kBegin;
  end.operation = SessionOperation::kEnd;
  BundleParts parts;
  parts.add(begin, 1);
  parts.add(session(), 2);
  parts.add(end, 0);
  RequestBundle bundle = parts.bundle();
  bundle.inputs = {wire_tensor("x", std::span(rows), {3, 2})};
  RequestHeader header;
  header.kind = RequestKind::kBundle;
  header.request_id = 5;
  header.model = "m";
  header.parts = 3;
  const auto frame = encode_request_header(header, kLimits);
  const auto body = encode_request_bundle(bundle, kLimits);
  require(frame && body, "a seed can be encoded");
  seeds.add("request", join(text_of(*frame), text_of(*body)));

  const WireSessionToken token = session();
  const Error error{ErrorCode::kOverloaded, "wait"};
  for (const std::int64_t steps : {1, 2}) {  // stacked, and one after the other
    const std::vector<WireTensor> one{wire_tensor("h", std::span(rows).first(2), {1, 2})};
    const std::vector<WireTensor> other{
        wire_tensor("h", std::span(rows).first(static_cast<std::size_t>(2 * steps)), {steps, 2})};
    std::vector<PartReply> replies(4);
    replies[0].outputs = one;
    replies[0].token = &token;
    replies[1].outputs = other;
    replies[2].token = &token;
    replies[3].error = &error;
    for (std::uint32_t part = 0; part < 4; ++part) replies[part].part = 3 - part;
    ReplyHeader reply;
    reply.kind = ReplyKind::kBundle;
    reply.request_id = 5;
    const auto reply_frame = encode_reply_header(reply, kLimits);
    const auto reply_body = encode_reply_bundle(replies, kLimits);
    require(reply_frame && reply_body, "a seed can be encoded");
    seeds.add("reply", join(text_of(*reply_frame), text_of(*reply_body)));
  }
}

void add_contents(Seeds& seeds) {
  seeds.add("http",
            join("POST /v2/models/m/infer HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n",
                 "Content-Type: application/json\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n"));
  const std::string inputs =
      R"("inputs":[{"name":"x","datatype":"INT32","shape":[2,2],"data":[[1,2],[3,-4]]},)"
      R"({"name":"y","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}],)"
      R"("outputs":[{"name":"h","parameters":{"binary_data":true}}]})";
  for (const char* parameters :
       {R"("priority":1,"timeout":500,"binary_data_output":true)",
        R"("sequence_id":"a","sequence_start":true,"sequence_end":false)",
        R"("structure":{"tree":{"parents":[2,2,-1]}})",
        R"("structure":{"lattice":{"length":3,"starts":[0,1],"ends":[2,3]}})",
        R"("structure":"{\"graph\":{\"cellTypes\":[\"a\"],\"typeOf\":[0,0],\"predecessorOffsets\":[0,0,1],)"
        R"(\"predecessors\":[0]}}")"}) {
    const std::string json = std::string(R"({"id":"1","parameters":{)").append(parameters) + "}," + inputs;
    seeds.add("http", join(json, "12345678"));
  }
}

void add_replies(Seeds& seeds) {
  const std::vector<float> h{0.5F, -0.25F};
  const std::vector<std::uint64_t> state{7};
  const std::vector<WireTensor> outputs{wire_tensor("h", std::span(h), {1, 2}),
                                        wire_tensor("state", std::span(state), {})};
  ReplyHeader result;
  result.request_id = 5;
  result.server = "volvox";
  result.session = session();
  const auto error = error_reply(5, {ErrorCode::kOverloaded, "the queue is full"});
  const auto body = encode_reply_body(outputs, kLimits);
  for (const ReplyHeader& header : {result, error}) {
    const auto frame = encode_reply_header(header, kLimits);
    require(frame && body, "a seed can be encoded");
    seeds.add("reply", join(text_of(*frame), text_of(*body)));
  }
}

void add_model(Seeds& seeds, const fs::path& folder) {
  const std::string definition = read(folder / "model.toml");
  seeds.add("model", join(definition, read(folder / "1" / "weights.safetensors")));
  seeds.add("toml", definition);
  fs::remove_all(folder);
}

void add_models(Seeds& seeds, const fs::path& scratch) {
  const NewModel model{.path = scratch / "m", .overwrite = true};
  const NewSizes small{.hidden = 2, .input = 1, .vocabulary = 3, .steps = 3, .labels = 2};
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) {
      require(write_new_model(model, kind.name, small).has_value(), "a model of any kind");
      const auto loaded = load_model(model.path);
      require(loaded.has_value(), "a model that was written can be loaded");
      for (const CellTypeSpec& type : (*loaded)->types) seeds.add("cell", to_json(type.cell));
      add_model(seeds, model.path);
    }
  }
}

// Graphs that are read, and some that are refused.
void add_graphs(Seeds& seeds, const fs::path& goldens) {
  const auto golden = nlohmann::json::parse(read(goldens / "onnx.json"), nullptr, false);
  for (const char* list : {"cases", "refused"}) {
    require(golden.contains(list), "tests/golden/onnx.json has its lists");
    for (const auto& one : golden[list]) seeds.add("onnx", bytes_of(one["onnx"].get<std::string>()));
  }
}

// Every key of a definition, most at the end of its range: from here mutations reach the sums of all.
void add_wide_definition(Seeds& seeds) {
  ModelDefinition wide{.name = "wide", .max_length = 1U << 24};
  wide.cells.push_back({.name = "lstm", .kind = "lstm", .input = 65536, .hidden = 65536, .max_batch = 65536});
  wide.lanes.push_back({.cell = "lstm", .over = "x", .pull = {"x"}, .push = {"h"}});
  wide.inputs.push_back({.name = "x", .dtype = DType::kU64, .shape = {64, 64, 64, 64}, .vocabulary = 7});
  wide.outputs.push_back({.name = "h", .dtype = DType::kF32, .shape = Shape{65536}, .every = true});
  seeds.add("toml", to_toml(wide));
  wide.cells[0] = {.name = "noop", .kind = "noop", .min_batch = 65536, .max_batch = 65536};
  wide.lanes[0] = {.cell = "noop"};
  wide.inputs[0].vocabulary = 0;
  wide.outputs.clear();
  const std::string empty_weights{2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  seeds.add("model", join(to_toml(wide), empty_weights));
}

}  // namespace
}  // namespace volvox::fuzz

int main(int count, char** arguments) {
  using namespace volvox::fuzz;
  if (count != 3) {
    std::fprintf(stderr, "usage: %s FOLDER GOLDENS\n", arguments[0]);
    return 2;
  }
  Seeds seeds(arguments[1]);
  add_requests(seeds);
  add_bundles(seeds);
  add_contents(seeds);
  add_replies(seeds);
  for (const std::string& seed : cluster_seeds()) seeds.add("cluster", seed);
  for (const std::string& seed : load_seeds()) seeds.add("load", seed);
  for (const auto& [fuzzer, seed] : small_seeds()) seeds.add(fuzzer, seed);
  add_models(seeds, arguments[1]);
  add_graphs(seeds, arguments[2]);
  add_wide_definition(seeds);
  seeds.add("toml", volvox::to_toml(volvox::ServeConfig{}));
  return 0;
}
