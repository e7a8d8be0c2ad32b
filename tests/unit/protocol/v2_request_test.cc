#include <algorithm>
#include <random>

#include <gmock/gmock.h>

#include "protocol/codec/codec.h"
#include "protocol/v2/request_codec.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<V2Request> decode(std::string_view content, std::optional<std::size_t> json_bytes = std::nullopt,
                         const WireLimits& limits = {}) {
  return decode_v2_request(std::as_bytes(std::span(content)), json_bytes, limits);
}

// What the decoder says of a request that it must refuse.
std::string error_of(std::string_view content, std::optional<std::size_t> json_bytes = std::nullopt,
                     const WireLimits& limits = {}) {
  const auto request = decode(content, json_bytes, limits);
  if (request) return "nothing";
  EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
  EXPECT_LE(request.error().message.size(), kMaxErrorTextBytes);
  return request.error().message;
}

// A request with one input that has these fields besides its name.
std::string with_input(const std::string& fields) {
  return R"({"inputs":[{"name":"x",)" + fields + "}]}";
}
std::string with_data(const std::string& datatype, const std::string& shape, const std::string& data) {
  return with_input(R"("datatype":")" + datatype + R"(","shape":)" + shape + R"(,"data":)" + data);
}
std::string with_parameters(const std::string& parameters) {
  return R"({"parameters":{)" + parameters +
         R"(},"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[1]}]})";
}

template <class T>
std::vector<T> values_of(const Result<V2Request>& request, std::size_t input = 0) {
  if (!request) {
    ADD_FAILURE() << request.error().message;
    return {};
  }
  const auto values = request->body.inputs[input].values<T>();
  if (values) return {values->begin(), values->end()};
  ADD_FAILURE() << values.error().message;
  return {};
}

TEST(V2Request, AWholeOne) {
  const auto request = decode(R"({
    "id": "größer 1", "parameters": {"priority": 1, "timeout": 2500},
    "inputs": [{"name": "tokens", "shape": [3], "datatype": "INT32", "data": [12, 7, -301]},
               {"data": [0.5, 1, -2e3], "parameters": {}, "datatype": "FP32", "shape": [3, 1], "name": "y"}],
    "outputs": [{"name": "h"}, {"name": "c", "parameters": {"binary_data": true}}]})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->id, "größer 1");
  EXPECT_EQ(request->header.priority, WirePriority::kHigh);
  EXPECT_EQ(request->header.deadline_us, 2500U);
  EXPECT_EQ(request->header.cells_hint, 3U);
  EXPECT_EQ(std::get<ChainStructure>(request->body.structure), ChainStructure{3});
  ASSERT_EQ(request->body.inputs.size(), 2U);
  EXPECT_EQ(request->body.inputs[0].name, "tokens");
  EXPECT_EQ(request->body.inputs[1].shape, (WireShape{3, 1}));
  EXPECT_THAT(values_of<std::int32_t>(request), ElementsAre(12, 7, -301));
  EXPECT_THAT(values_of<float>(request, 1), ElementsAre(0.5F, 1.0F, -2000.0F));
  EXPECT_THAT(request->body.outputs, ElementsAre("h", "c"));
  EXPECT_FALSE(request->wishes.wants_binary("h"));
  EXPECT_TRUE(request->wishes.wants_binary("c"));
}

// What it becomes is what the house's own decoder reads.
TEST(V2Request, BecomesABodyOfTheHouse) {
  auto request = decode(with_data("INT32", "[2,2]", "[[1,2],[3,4]]"));
  ASSERT_TRUE(request) << request.error().message;
  const V2Request moved = std::move(*request);
  const auto encoded = encode_request_body(moved.body, WireLimits{});
  ASSERT_TRUE(encoded) << encoded.error().message;
  const auto body = decode_request_body(encoded->bytes(), WireLimits{});
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->inputs[0].name, "x");
  EXPECT_EQ(body->inputs[0].shape, (WireShape{2, 2}));
  EXPECT_THAT(*body->inputs[0].values<std::int32_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(std::get<ChainStructure>(body->structure), ChainStructure{2});
}

TEST(V2Request, EveryDatatypeAtItsBounds) {
  EXPECT_THAT(values_of<std::int8_t>(decode(with_data("INT8", "[2]", "[-128,127]"))), ElementsAre(-128, 127));
  EXPECT_THAT(values_of<std::uint8_t>(decode(with_data("UINT8", "[2]", "[0,255]"))), ElementsAre(0, 255));
  EXPECT_THAT(values_of<std::int16_t>(decode(with_data("INT16", "[1]", "[-32768]"))), ElementsAre(-32768));
  EXPECT_THAT(values_of<std::uint16_t>(decode(with_data("UINT16", "[1]", "[65535]"))), ElementsAre(65535));
  EXPECT_THAT(values_of<std::uint32_t>(decode(with_data("UINT32", "[1]", "[4294967295]"))),
              ElementsAre(4294967295U));
  EXPECT_THAT(values_of<std::int64_t>(
                  decode(with_data("INT64", "[2]", "[-9223372036854775808,9223372036854775807]"))),
              ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(values_of<std::uint64_t>(decode(with_data("UINT64", "[1]", "[18446744073709551615]"))),
              ElementsAre(UINT64_MAX));
  EXPECT_THAT(values_of<double>(decode(with_data("FP64", "[2]", "[1e308,-3]"))), ElementsAre(1e308, -3.0));
  EXPECT_THAT(values_of<float>(decode(with_data("FP32", "[1]", "[3.4028234663852886e38]"))),
              ElementsAre(3.4028234663852886e38F));
  EXPECT_THAT(values_of<bool>(decode(with_data("BOOL", "[4]", "[true,false,1,0]"))),
              ElementsAre(true, false, true, false));
}

TEST(V2Request, NumbersThatAreNoneOfTheirType) {
  for (const auto& [datatype, number] :
       std::initializer_list<std::pair<const char*, const char*>>{{"INT8", "128"},
                                                                  {"INT8", "-129"},
                                                                  {"UINT8", "256"},
                                                                  {"UINT8", "-1"},
                                                                  {"INT32", "2147483648"},
                                                                  {"INT32", "1.0"},
                                                                  {"INT32", "1e3"},
                                                                  {"INT64", "9223372036854775808"},
                                                                  {"UINT64", "-1"},
                                                                  {"UINT64", "18446744073709551616"},
                                                                  {"BOOL", "2"},
                                                                  {"BOOL", "-1"},
                                                                  {"FP32", "1e39"},
                                                                  {"FP32", "-1e39"}}) {
    const std::string error = error_of(with_data(datatype, "[2]", "[0," + std::string(number) + "]"));
    EXPECT_THAT(error, HasSubstr(std::string(" at 1 is no ") + datatype)) << number;
    EXPECT_THAT(error, HasSubstr("input 'x'")) << number;
  }
  EXPECT_THAT(error_of(with_data("FP32", "[1]", "[1e999]")), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(with_data("FP32", "[1]", "[NaN]")), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(with_data("FP32", "[1]", "[Infinity]")), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(with_data("FP32", "[1]", "[null]")), HasSubstr("null is no number"));
  EXPECT_THAT(error_of(with_data("FP32", "[1]", "[\"1\"]")), HasSubstr("text is no number"));
  EXPECT_THAT(error_of(with_data("FP32", "[1]", "[{}]")), HasSubstr("an object is no number"));
  EXPECT_THAT(error_of(with_data("INT32", "[1]", "[true]")), HasSubstr("BOOL only"));
  EXPECT_THAT(error_of(with_data("FP16", "[1]", "[1]")), HasSubstr("binary data only"));
  EXPECT_THAT(error_of(with_data("BF16", "[1]", "[1]")), HasSubstr("binary data only"));
}

TEST(V2Request, NestedDataAgreesWithTheShape) {
  const auto flat = values_of<std::int32_t>(decode(with_data("INT32", "[2,1,2]", "[1,2,3,4]")));
  EXPECT_EQ(values_of<std::int32_t>(decode(with_data("INT32", "[2,1,2]", "[[[1,2]],[[3,4]]]"))), flat);
  EXPECT_THAT(values_of<std::int32_t>(decode(with_data("INT32", "[2,0]", "[[],[]]"))), ElementsAre());
  EXPECT_THAT(values_of<std::int32_t>(decode(with_data("INT32", "[2,0]", "[]"))), ElementsAre());
  for (const char* bad :
       {"[[1,2],[3,4]]", "[[[1,2,3]],[[4]]]", "[[[1,2]]]", "[[[1,2]],[[3,4]],[[5,6]]]", "[[[1,2]],3,4]",
        "[1,[2],3,4]", "[[[[1]]]]", "[1,2,3]", "[1,2,3,4,5]", "[]", "[[]]", "[[[1,2]],[]]"}) {
    EXPECT_THAT(error_of(with_data("INT32", "[2,1,2]", bad)), HasSubstr("input 'x': ")) << bad;
  }
}

TEST(V2Request, DataMustBeAList) {
  for (const char* bad : {"1", "1.5", "-1", "true", "null", "\"text\"", "{}", R"({"data":[1]})"}) {
    EXPECT_THAT(error_of(with_data("INT32", "[1]", bad)), HasSubstr("input 'x': ")) << bad;
  }
}

TEST(V2Request, ShapesThatAreNone) {
  for (const char* bad : {"[-1]", "[1.5]", "[\"1\"]", "[null]", "[[1]]", "{}", "3", "[1,1,1,1,1,1,1,1,1]",
                          "[1099511627777]", "[4194305]", "[1048576,1048576,1048576]", "[]"}) {
    EXPECT_THAT(error_of(with_data("INT32", bad, "[1]")), HasSubstr("input 'x': ")) << bad;
  }
  EXPECT_THAT(error_of(with_input(R"("datatype":"INT32","data":[1])")),
              HasSubstr("\"shape\" must be a list"));
  // Together they need more than a body holds, though each of them fits.
  WireLimits limits;
  limits.max_body_bytes = 64;
  const std::string ten = R"("datatype":"INT32","shape":[10],"data":[1,2,3,4,5,6,7,8,9,10]})";
  EXPECT_THAT(
      error_of(R"({"inputs":[{"name":"a",)" + ten + R"(,{"name":"b",)" + ten + "]}", std::nullopt, limits),
      HasSubstr("input 'b': the shape [10]"));
}

TEST(V2Request, DocumentsThatAreNone) {
  for (const char* bad : {"", " ", "{", "[]", "null", "1", "\"x\"", "{}", "{\"inputs\":[", "{\"inputs\":{}}",
                          "{\"inputs\":[]}", "{\"inputs\":[1]}", "{\"inputs\":[[]]}", "{\"inputs\":null}",
                          "{'inputs':[]}", "{\"inputs\":[{}]}", "\xff\xfe", "{\"inputs\":[]}}"}) {
    EXPECT_NE(error_of(bad), "nothing") << bad;
  }
  EXPECT_THAT(error_of(R"({"inputs":[{"name":1}]})"), HasSubstr("each input needs a \"name\""));
  EXPECT_THAT(error_of(with_input(R"("shape":[1],"data":[1])")), HasSubstr("\"datatype\" must be"));
  EXPECT_THAT(error_of(with_data("BYTES", "[1]", "[1]")), HasSubstr("\"datatype\" must be"));
  EXPECT_THAT(error_of(with_input(R"("datatype":"INT32","shape":[1])")), HasSubstr("has no data"));
  EXPECT_THAT(error_of(with_input(R"("datatype":"INT32","shape":[1],"data":[1],"dtype":"f")")),
              HasSubstr("\"dtype\" is no key"));
  EXPECT_THAT(error_of(R"({"model":"x","inputs":[]})"), HasSubstr("\"model\" is no key"));
  EXPECT_THAT(error_of(with_data("INT32", "[1]", R"([1],"data":[2])")), HasSubstr("given twice"));
  EXPECT_THAT(error_of(R"({"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[1]},{"data":[1]}],)"
                       R"("inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[1]}]})"),
              HasSubstr("given twice"));
}

TEST(V2Request, Identifiers) {
  const std::string rest = R"(,"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[1]}]})";
  EXPECT_EQ(decode(R"({"id":"")" + rest)->id, "");
  const std::string long_id = "\"" + std::string(129, 'a') + "\"";
  for (const std::string& bad : std::vector<std::string>{"1", "null", "\"a\\nb\"", long_id}) {
    EXPECT_THAT(error_of("{\"id\":" + bad + rest), HasSubstr("\"id\" must be")) << bad;
  }
}

TEST(V2Request, Parameters) {
  EXPECT_EQ(decode(with_parameters(R"("priority":0)"))->header.priority, WirePriority::kNormal);
  EXPECT_EQ(decode(with_parameters(R"("priority":2)"))->header.priority, WirePriority::kNormal);
  EXPECT_EQ(decode(with_parameters(R"("priority":3)"))->header.priority, WirePriority::kLow);
  EXPECT_EQ(decode(with_parameters(R"("timeout":0)"))->header.deadline_us, 0U);
  EXPECT_LT(decode(with_parameters(R"("timeout":18446744073709551615)"))->header.deadline_us, 1ULL << 62);
  EXPECT_TRUE(decode(with_parameters(R"("binary_data_output":true)"))->wishes.wants_binary("any"));
  EXPECT_TRUE(decode(with_parameters(R"("sequence_id":0,"sequence_start":false,"sequence_end":false)")));
  for (const char* bad :
       {R"("priority":-1)", R"("priority":1.5)", R"("priority":"high")", R"("timeout":-1)",
        R"("timeout":1e3)", R"("timeout":"1")", R"("binary_data_output":1)", R"("binary_data_output":"true")",
        R"("other":1)", R"("a":null)", R"("a":{})", R"("a":[])"}) {
    EXPECT_THAT(error_of(with_parameters(bad)), HasSubstr("parameter '")) << bad;
  }
  EXPECT_THAT(error_of(R"({"parameters":[],"inputs":[]})"), HasSubstr("must be an object"));
}

TEST(V2Request, Sequences) {
  const auto part = decode(with_parameters(R"("sequence_id":7,"sequence_start":true,"sequence_end":false)"));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->sequence.id, "7");
  EXPECT_TRUE(part->sequence.start);
  EXPECT_FALSE(part->sequence.end);
  EXPECT_EQ(decode(with_parameters(R"("sequence_id":"7")"))->sequence.id, "\"7\"");
  for (const char* none : {R"("sequence_id":0)", R"("sequence_id":"")"}) {
    EXPECT_EQ(decode(with_parameters(none))->sequence.id, "") << none;
    EXPECT_THAT(error_of(with_parameters(std::string(none) + R"(,"sequence_start":true)")),
                HasSubstr("need a 'sequence_id'"));
  }
  EXPECT_THAT(error_of(with_parameters(R"("sequence_end":true)")), HasSubstr("need a 'sequence_id'"));
  const std::string long_id = "\"" + std::string(129, 'a') + "\"";
  for (const std::string& bad : std::vector<std::string>{"-1", "1.0", "1e3", "true", "\"a\\nb\"", long_id})
    EXPECT_THAT(error_of(with_parameters("\"sequence_id\":" + bad)), HasSubstr("'sequence_id' must be"))
        << bad;
  for (const char* bad : {"1", "\"true\"", "null"}) {
    EXPECT_THAT(error_of(with_parameters(R"("sequence_id":7,"sequence_start":)" + std::string(bad))),
                HasSubstr("'sequence_start'"));
  }
}

TEST(V2Request, OnlyAnEndMayBeEmpty) {
  const auto end = decode(R"({"parameters":{"sequence_id":7,"sequence_end":true},"inputs":[]})");
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(std::get<ChainStructure>(end->body.structure), ChainStructure{0});
  EXPECT_TRUE(decode(R"({"parameters":{"sequence_id":7,"sequence_end":true}})"));
  EXPECT_THAT(error_of(R"({"parameters":{"sequence_id":7},"inputs":[]})"), HasSubstr("give \"inputs\""));
  EXPECT_THAT(error_of(R"({"parameters":{"sequence_id":7,"sequence_end":true,"sequence_start":true}})"),
              HasSubstr("give \"inputs\""));
}

TEST(V2Request, OutputsThatAreNone) {
  const std::string rest = R"(,"inputs":[{"name":"x","datatype":"INT32","shape":[1],"data":[1]}]})";
  for (const char* bad : {"1", "{}", "[1]", "[{}]", R"([{"name":1}])", R"([{"name":"h","shape":[1]}])",
                          R"([{"name":"h","parameters":{"binary_data":1}}])",
                          R"([{"name":"h","parameters":{"classification":3}}])"}) {
    EXPECT_NE(error_of(std::string("{\"outputs\":") + bad + rest), "nothing") << bad;
  }
}

TEST(V2Request, BinaryInputs) {
  const std::string json =
      R"({"parameters":{"binary_data_output":true},"inputs":[)"
      R"({"name":"a","datatype":"INT32","shape":[2],"parameters":{"binary_data_size":8}},)"
      R"({"name":"b","datatype":"INT32","shape":[2],"data":[5,6]},)"
      R"({"name":"c","datatype":"FP16","shape":[2],"parameters":{"binary_data_size":4}}]})";
  const std::string content = json + std::string("\1\0\0\0\2\0\0\0abcd", 12);
  const auto request = decode(content, json.size());
  EXPECT_EQ(request->body.inputs[0].bytes.size(), 8U);
  std::vector<std::byte> aligned(request->body.inputs[0].bytes.begin(), request->body.inputs[0].bytes.end());
  EXPECT_EQ(aligned[4], std::byte{2});
  EXPECT_THAT(values_of<std::int32_t>(request, 1), ElementsAre(5, 6));
  EXPECT_EQ(request->body.inputs[2].type, WireType::kF16);
  EXPECT_EQ(request->body.inputs[2].bytes[3], std::byte{'d'});
  EXPECT_THAT(error_of(content + "x", json.size()), HasSubstr("1 bytes follow the last binary input"));
  EXPECT_THAT(error_of(content.substr(0, content.size() - 1), json.size()),
              HasSubstr("input 'c': the content"));
  EXPECT_THAT(error_of(content, content.size() + 1), HasSubstr("more than the content has"));
  EXPECT_THAT(error_of(content, json.size() - 1), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(content, 0), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(content), HasSubstr("no JSON"));
}

TEST(V2Request, BinarySizesThatAreWrong) {
  for (const char* bad : {"7", "-8", "8.0", "\"8\"", "true", "18446744073709551615"}) {
    const std::string json = with_input(
        std::string(R"("datatype":"INT32","shape":[2],"parameters":{"binary_data_size":)") + bad + "}");
    EXPECT_THAT(error_of(json + "12345678", json.size()), HasSubstr("binary_data_size must be 8")) << bad;
  }
  const std::string both =
      with_input(R"("datatype":"INT32","shape":[1],"data":[1],"parameters":{"binary_data_size":4})");
  EXPECT_THAT(error_of(both + "1234", both.size()), HasSubstr("give one of them"));
  EXPECT_THAT(
      error_of(with_input(R"("datatype":"INT32","shape":[1],"parameters":{"shared_memory_region":"a"})")),
      HasSubstr("'shared_memory_region' is not known"));
}

TEST(V2Request, WhatIsTooMuchIsRefusedWhileItIsRead) {
  WireLimits limits;
  limits.nesting = 16;
  limits.max_tensors = 2;
  EXPECT_THAT(error_of(std::string(1'000'000, '['), std::nullopt, limits), HasSubstr("nests deeper than 16"));
  EXPECT_THAT(error_of(with_data("INT32", "[1]", std::string(1'000'000, '[')), std::nullopt, limits),
              HasSubstr("nests deeper than 16"));
  std::string many = "{\"outputs\":[1";
  for (int i = 0; i < 1000; ++i) many += ",1";
  EXPECT_THAT(error_of(many + "]}", std::nullopt, limits), HasSubstr("more values outside of \"data\""));
  std::string inputs = "{\"inputs\":[{}";
  for (int i = 0; i < 2; ++i) inputs += ",{}";
  EXPECT_THAT(error_of(inputs + "]}", std::nullopt, limits), HasSubstr("\"inputs\" has 3 entries"));
  // Numbers within "data" are bounded by the shape, not by that.
  std::string data = "[0";
  for (int i = 1; i < 5000; ++i) data += ",0";
  EXPECT_EQ(
      values_of<std::int32_t>(decode(with_data("INT32", "[5000]", data + "]"), std::nullopt, limits)).size(),
      5000U);
}

TEST(V2Request, EveryPrefixOfARequestIsRefused) {
  const std::string whole = with_data("FP32", "[2,2]", "[[1,2],[3.5,-4e1]]");
  ASSERT_TRUE(decode(whole));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of(whole.substr(0, length)), "nothing") << length;
}

// Whatever the bytes: refused with a sentence, or a request that the house's own encoder takes.
TEST(V2Request, RandomDamageIsRefusedOrHarmless) {
  const std::string json =
      R"({"id":"a","parameters":{"priority":1},"inputs":[{"name":"x","datatype":"INT32","shape":[2,2],)"
      R"("data":[[1,2],[3,-4]]},{"name":"y","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}],)"
      R"("outputs":[{"name":"h","parameters":{"binary_data":true}}]})";
  const std::string good = json + "12345678";
  std::mt19937 random(11);
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (std::uint32_t change = 0; change <= random() % 4; ++change) {
      const std::size_t at = random() % bad.size();
      const std::size_t length = std::min<std::size_t>(1 + random() % 8, bad.size() - at);
      switch (random() % 3) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad.erase(at, bad.size() > length ? length : 0);
          break;
        default:
          bad.insert(random() % bad.size(), bad.substr(at, length));
      }
    }
    const auto request = decode(bad, random() % 4 == 0 ? random() % (good.size() + 8) : json.size());
    if (!request) continue;
    ++taken;
    const auto encoded = encode_request_body(request->body, WireLimits{});
    EXPECT_TRUE(encoded || encoded.error().code == ErrorCode::kInvalidArgument);
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace volvox
