// What strangers may send over HTTP: each is answered by a typed error, and the server goes on.

#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/unit/actors/http_house.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void expect_invalid(const House& house, const std::string& content, const std::string& headers = "") {
  SCOPED_TRACE(content.substr(0, 200) + " " + headers);
  expect_error(post(house, content, headers), 400, "INVALID_ARGUMENT", "");
}

void expect_healthy(const House& house) {
  EXPECT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(house.monitor.metrics_page().body, HasSubstr("volvox_actor_restarts_total 0\n"));
  wait_for_metric(house, "volvox_http_requests_in_progress 0");
  wait_for_metric(house, "volvox_http_bytes_in_progress 0");
}

// A request for the check model with these fields of its input.
std::string with_input(const std::string& fields) {
  return R"({"inputs":[{"name":"tokens",)" + fields + "}]}";
}
std::string with_parameters(const std::string& parameters) {
  return R"({"parameters":{)" + parameters + "}," + kBody.substr(1);
}
std::string binary_length(const std::string& length) {
  return "Inference-Header-Content-Length: " + length + "\r\n";
}

TEST(HttpBadInput, TruncatedContents) {
  const House house(with_http());
  for (std::size_t length = 0; length < kBody.size(); ++length)
    expect_invalid(house, kBody.substr(0, length));
  const Connection half(house);
  half.send("POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" +
            kBody);
  half.finish();
  expect_error(half.read_all(), 408, "INVALID_ARGUMENT", "ended early");
  expect_healthy(house);
}

// As chunked transfer encoding has it.
std::string piece_of(const std::string& bytes) {
  std::ostringstream text;
  text << std::hex << bytes.size() << "\r\n" << bytes << "\r\n";
  return text.str();
}

TEST(HttpBadInput, PiecesWithoutTheLast) {
  const House house(with_http());
  const std::string head =
      "POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string whole = piece_of(kBody.substr(0, 20)) + piece_of(kBody.substr(20));
  const Connection all(house);
  all.send(head + whole + "0\r\n\r\n");
  EXPECT_THAT(all.read_all(), StartsWith("HTTP/1.1 200 "));
  for (const std::string& pieces :
       {std::string(), whole.substr(0, whole.size() / 2), whole, whole + "0", whole + "no number\r\n"}) {
    SCOPED_TRACE(pieces);
    const Connection cut(house);
    cut.send(head + pieces);
    cut.finish();
    expect_error(cut.read_all(), 408, "INVALID_ARGUMENT", "ended early");
  }
  expect_healthy(house);
}

TEST(HttpBadInput, RandomContents) {
  const House house(with_http());
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string content(1 + random() % 500, ' ');
    for (char& byte : content) byte = static_cast<char>(random());
    expect_invalid(house, content);
    std::string damaged = kBody;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    EXPECT_THAT(post(house, damaged),
                testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 200 ")));
  }
  expect_healthy(house);
}

TEST(HttpBadInput, RandomBytesInsteadOfHttp) {
  const House house(with_http());
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    std::string bytes = round % 2 == 0 ? "" : "POST /v2/models/check/infer HTTP/1.1\r\n";
    for (std::uint32_t i = 0; i < 1 + random() % 2000; ++i) bytes.push_back(static_cast<char>(random()));
    const Connection connection(house);
    connection.send(bytes + "\r\n\r\n");
    connection.finish();
    EXPECT_THAT(connection.read_all(), Not(HasSubstr(" 200 ")));
  }
  expect_healthy(house);
}

TEST(HttpBadInput, DeepNesting) {
  const House house(with_http());
  const std::string deep(200'000, '['), objects = [] {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += R"({"a":)";
    return text;
  }();
  for (const std::string& nested : {deep, objects}) {
    expect_invalid(house, nested);
    expect_invalid(house, R"({"id":)" + nested);
    expect_invalid(house, R"({"inputs":)" + nested);
    expect_invalid(house, R"({"outputs":)" + nested);
    expect_invalid(house, with_input(R"("datatype":"INT32","shape":[1],"data":)" + nested));
    expect_invalid(house, with_input(R"("datatype":"INT32","data":[1],"shape":)" + nested));
    expect_invalid(house, with_parameters(R"("priority":)" + nested));
    expect_invalid(house, with_parameters(R"("structure":)" + nested));
    expect_invalid(house, with_parameters(R"("sequence_id":)" + nested));
  }
  expect_healthy(house);
}

TEST(HttpBadInput, ShapesTypesAndNumbers) {
  const House house(with_http());
  for (const char* fields : {R"("datatype":"INT32","shape":[],"data":[1])",
                             R"("datatype":"INT32","shape":[0],"data":[])",
                             R"("datatype":"INT32","shape":[-1],"data":[1])",
                             R"("datatype":"INT32","shape":[1.5],"data":[1])",
                             R"("datatype":"INT32","shape":[2],"data":[1])",
                             R"("datatype":"INT32","shape":[1],"data":[1,2])",
                             R"("datatype":"INT32","shape":[1,1],"data":[1])",
                             R"("datatype":"INT32","shape":[0,1],"data":[])",
                             R"("datatype":"INT32","shape":[1,1,1,1,1,1,1,1,1],"data":[1])",
                             R"("datatype":"INT32","shape":[1099511627776],"data":[1])",
                             R"("datatype":"INT32","shape":[4611686018427387904],"data":[1])",
                             R"("datatype":"INT32","shape":[4294967296,4294967296],"data":[1])",
                             R"("datatype":"INT32","shape":[18446744073709551616],"data":[1])",
                             R"("datatype":"INT32","shape":1,"data":[1])",
                             R"("datatype":"INT32","data":[1])",
                             R"("datatype":"INT32","shape":[1])",
                             R"("datatype":"UINT64","shape":[1],"data":[1])",
                             R"("datatype":"FP32","shape":[1],"data":[1])",
                             R"("datatype":"int32","shape":[1],"data":[1])",
                             R"("datatype":"BYTES","shape":[1],"data":["a"])",
                             R"("datatype":7,"shape":[1],"data":[1])",
                             R"("shape":[1],"data":[1])",
                             R"("datatype":"INT32","shape":[1],"data":[NaN])",
                             R"("datatype":"INT32","shape":[1],"data":[1e999])",
                             R"("datatype":"INT32","shape":[1],"data":[1.5])",
                             R"("datatype":"INT32","shape":[1],"data":[2147483648])",
                             R"("datatype":"INT32","shape":[1],"data":[null])",
                             R"("datatype":"INT32","shape":[1],"data":["1"])",
                             R"("datatype":"INT32","shape":[1],"data":1)",
                             R"("datatype":"INT32","shape":[1],"data":{})"}) {
    expect_invalid(house, with_input(fields));
  }
  const std::string input = R"({"name":"tokens","datatype":"INT32","shape":[1],"data":[1]})";
  expect_invalid(house, R"({"inputs":[)" + input + "," + input + "]}");
  expect_invalid(house, R"({"inputs":[)" + input + R"(],"outputs":[{"name":"nothing"}]})");
  expect_invalid(house, R"({"inputs":[)" + input + R"(],"more":1})");
  expect_healthy(house);
}

TEST(HttpBadInput, Parameters) {
  const House house(with_http());
  for (const char* parameters :
       {R"("priority":-1)", R"("timeout":-1)", R"("timeout":1e3)", R"("urgency":1)",
        R"("binary_data_output":1)", R"("sequence_id":-1)", R"("sequence_id":1.5)", R"("sequence_id":[1])",
        R"("sequence_start":true)", R"("sequence_id":0,"sequence_end":true)",
        R"("sequence_id":1,"sequence_start":1)", R"("structure":null)", R"("structure":{})",
        R"("structure":{"tree":{"parents":[0]}})", R"("structure":{"chain":{"length":0}})",
        R"("structure":{"chain":{"length":4294967295}})",
        R"("structure":{"lattice":{"length":3,"starts":[0]}})"}) {
    expect_invalid(house, with_parameters(parameters));
  }
  expect_healthy(house);
}

TEST(HttpBadInput, Lengths) {
  const House house(with_http());
  for (const char* length :
       {"-1", "0", "1", "99999", "18446744073709551615", "18446744073709551616", "1.5", "a", ""})
    expect_invalid(house, kBody, binary_length(length));
  const std::string head =
      with_input(R"("datatype":"INT32","shape":[2],"parameters":{"binary_data_size":8})");
  expect_invalid(house, head, binary_length(std::to_string(head.size())));
  expect_invalid(house, head + "1234567", binary_length(std::to_string(head.size())));
  expect_invalid(house, head + "123456789", binary_length(std::to_string(head.size())));
  for (const char* size : {"-8", "0", "7", "9", "8.0", "18446744073709551615", "\"8\"", "null"}) {
    const std::string bad = with_input(R"("datatype":"INT32","shape":[2],"parameters":{"binary_data_size":)" +
                                       std::string(size) + "}");
    expect_invalid(house, bad + "12345678", binary_length(std::to_string(bad.size())));
  }
  for (const char* length : {"-5", "99999999999999999999999", "5x", "0x10"}) {
    const Connection connection(house);
    connection.send("POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                    std::string(length) + "\r\n\r\n{}");
    connection.finish();
    EXPECT_THAT(connection.read_all(), Not(HasSubstr(" 200 "))) << length;
  }
  expect_healthy(house);
}

TEST(HttpBadInput, Paths) {
  const House house(with_http());
  const std::string long_name(2000, 'm');
  for (const std::string& path :
       std::vector<std::string>{"/v2/models/nobody/infer", "/v2/models/" + long_name + "/infer",
                                "/v2/models/check/versions/2/infer",
                                "/v2/models/check/versions/4294967295/infer", "/v2/models/%ff%fe/infer"}) {
    EXPECT_THAT(post(house, kBody, "", path), StartsWith("HTTP/1.1 404 ")) << path;
  }
  for (const char* version : {"0", "-1", "x", "4294967296", "99999999999999999999", "1.0"}) {
    const std::string path = std::string("/v2/models/check/versions/") + version + "/infer";
    expect_error(post(house, kBody, "", path), 400, "INVALID_ARGUMENT", "whole number from 1 on");
  }
  expect_healthy(house);
}

}  // namespace
}  // namespace volvox
