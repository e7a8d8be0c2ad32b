#include "repository/safetensors.h"

#include <cstring>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "repository/digest.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_cells::TemporaryFolder;

// A file's bytes, at an odd distance from any alignment if asked.
struct Bytes {
  explicit Bytes(std::string_view text, std::size_t shift = 0) : data(text.size() + shift + 64) {
    auto at = reinterpret_cast<std::uintptr_t>(data.data());
    begin = (64 - at % 64) % 64 + shift;
    data.resize(begin + text.size());
    std::memcpy(data.data() + begin, text.data(), text.size());
  }
  std::span<const std::byte> span() const { return std::span(data).subspan(begin); }
  std::vector<std::byte> data;
  std::size_t begin;
};

std::string file_of(const std::string& header, const std::string& data) {
  std::string file(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + data;
}

Result<Weights> parse(const std::string& file, std::size_t shift = 0) {
  const auto bytes = std::make_shared<Bytes>(file, shift);
  return parse_safetensors(bytes->span(), bytes, "some.safetensors");
}

TEST(Safetensors, ReadsWhatItWrites) {
  const TemporaryFolder folder;
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> b{-7};
  const std::vector<std::uint64_t> c{1ULL << 63, 5};
  const std::vector<TensorSource> tensors{{"a.weight", DType::kF32, {2, 3}, std::as_bytes(std::span(a))},
                                          {"b", DType::kI32, {}, std::as_bytes(std::span(b))},
                                          {"ü \"c\"", DType::kU64, {2}, std::as_bytes(std::span(c))}};
  const auto path = folder.path() / "w.safetensors";
  ASSERT_TRUE(write_safetensors(path, tensors));
  const Result<Weights> weights = read_safetensors(path);
  ASSERT_TRUE(weights) << weights.error().message;
  ASSERT_EQ(weights->all().size(), 3U);
  for (const TensorSource& tensor : tensors) {
    const Tensor* read = weights->find(tensor.name);
    ASSERT_NE(read, nullptr) << tensor.name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    ASSERT_EQ(read->bytes.size(), tensor.bytes.size());
    EXPECT_EQ(std::memcmp(read->bytes.data(), tensor.bytes.data(), tensor.bytes.size()), 0);
  }
  EXPECT_EQ(weights->find("a.weight")->f32()[4], 5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights->find("a.weight")->f32()) % 64, 0U);
}

TEST(Safetensors, WritesNoFileThatExistsOrIsWrong) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "w.safetensors";
  const std::vector<float> a{1, 2};
  const auto bytes = std::as_bytes(std::span(a));
  const std::vector<TensorSource> twice{{"a", DType::kF32, {2}, bytes}, {"a", DType::kF32, {2}, bytes}};
  EXPECT_THAT(write_safetensors(path, twice).error().message, HasSubstr("'a' is given twice"));
  const std::vector<TensorSource> short_one{{"a", DType::kF32, {3}, bytes}};
  EXPECT_THAT(write_safetensors(path, short_one).error().message, HasSubstr("not the bytes of its shape"));
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(write_safetensors(path, {}));
  EXPECT_THAT(write_safetensors(path, {}).error().message, HasSubstr("exists"));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(write_safetensors(folder.path() / "none" / "w.safetensors", {}));
}

TEST(Safetensors, ReadsFilesOfOthers) {
  const std::string data(20, 'x');
  const auto weights = parse(file_of(R"({"__metadata__":{"format":"pt"},
      "b":{"dtype":"U64","shape":[1],"data_offsets":[12,20]},
      "a":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]}}   )",
                                     data));
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ(weights->all().size(), 2U);
  EXPECT_TRUE(parse(file_of("{}", "")));
  EXPECT_TRUE(parse(file_of(R"({"a":{"dtype":"F32","shape":[0,9],"data_offsets":[0,0]}})", "")));
}

TEST(Safetensors, CopiesTensorsThatLieBadly) {
  const std::vector<float> a{1.5F, -2};
  std::string data(8, '\0');
  std::memcpy(data.data(), a.data(), 8);
  const std::string file = file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    const auto weights = parse(file, shift);
    ASSERT_TRUE(weights);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights->find("a")->f32()) % 4, 0U);
    EXPECT_EQ(weights->find("a")->f32()[0], 1.5F);
    EXPECT_EQ(weights->find("a")->f32()[1], -2);
  }
}

void expect_refused(const std::string& file, const std::string& why) {
  const auto weights = parse(file);
  ASSERT_FALSE(weights) << why;
  EXPECT_EQ(weights.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(weights.error().message, AllOf(StartsWith("some.safetensors: "), HasSubstr(why)));
}

std::string entry(const std::string& body, const std::string& data = std::string(8, 'x')) {
  return file_of("{\"a\":" + body + "}", data);
}

TEST(Safetensors, RefusesBrokenFiles) {
  expect_refused("", "only 0 bytes");
  expect_refused("1234567", "only 7 bytes");
  expect_refused(std::string(8, '\xff'), "cut off");
  expect_refused(file_of("{}", "").substr(0, 9), "cut off");
  expect_refused(file_of("{}" + std::string(kMaxHeaderBytes - 1, ' '), ""),
                 "its header would have 16777217 bytes");
  expect_refused(file_of("", ""), "no JSON");
  expect_refused(file_of("{\"a\":", ""), "no JSON");
  expect_refused(file_of("[1]", ""), "no JSON object");
  expect_refused(file_of("{} {}", ""), "no JSON");
  expect_refused(file_of("{\"\xff\":1}", ""), "no JSON");
  expect_refused(file_of(std::string(100000, '['), ""), "nested too deeply");
  expect_refused(file_of(R"({"a":{},"a":{}})", ""), "'a' stands in it twice");
  expect_refused(file_of("{}", "x"), "belong to no tensor");
  expect_refused(file_of(R"({"__metadata__":{"a":1}})", ""), "__metadata__");
  expect_refused(file_of(R"({"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "1234"), "has no name");
}

TEST(Safetensors, RefusesBrokenEntries) {
  expect_refused(entry("1"), "tensor 'a' is no object");
  expect_refused(entry(R"({"dtype":"F32","shape":[2]})"), "has no 'data_offsets'");
  expect_refused(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"), "unknown key 'x'");
  expect_refused(entry(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
                 "'dtype' stands");
  expect_refused(entry(R"({"dtype":"BF16","shape":[4],"data_offsets":[0,8]})"), "has the type \"BF16\"");
  expect_refused(entry(R"({"dtype":7,"shape":[4],"data_offsets":[0,8]})"), "has the type 7");
  expect_refused(entry(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"), "list of at most 8");
  expect_refused(entry(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]})"), "at most 8");
  expect_refused(entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), "no extent");
  expect_refused(entry(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), "no extent");
  expect_refused(entry(R"({"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]})"),
                 "no extent");
  expect_refused(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), "no pair");
  expect_refused(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})"), "no pair");
  expect_refused(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), "lie outside");
  expect_refused(entry(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"), "lie outside the 8 bytes");
  expect_refused(entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), "does not take the 8 bytes");
  expect_refused(entry(R"({"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,8]})"),
                 "does not");
  expect_refused(entry(R"({"dtype":"F32","shape":[4294967296,1073741824,2,2],"data_offsets":[0,0]})", ""),
                 "does not");
}

TEST(Safetensors, RefusesOverlapsAndHoles) {
  const auto two = [](const std::string& first, const std::string& second) {
    return file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + first +
                       R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}",
                   std::string(12, 'x'));
  };
  expect_refused(two("[0,4]", "[0,4]"), "overlaps");
  expect_refused(two("[2,6]", "[0,4]"), "tensor 'a' overlaps");
  expect_refused(two("[0,4]", "[8,12]"), "tensor 'b' leaves a hole");
  expect_refused(two("[4,8]", "[8,12]"), "tensor 'a' leaves a hole");
  expect_refused(two("[0,4]", "[4,8]"), "last 4 bytes");
}

TEST(Safetensors, NamesThePathOfWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_safetensors(folder.path() / "none").error().message, HasSubstr("none: No such file"));
  EXPECT_THAT(read_safetensors(folder.path()).error().message, HasSubstr("not a regular file"));
  std::ofstream(folder.path() / "empty").close();
  EXPECT_THAT(read_safetensors(folder.path() / "empty").error().message,
              HasSubstr("empty: is no safetensors file"));
}

// Random bytes, and good files with random damage: weights or an error, never anything else. What is accepted
// must be readable to its last byte.
TEST(Safetensors, SurvivesAnything) {
  std::mt19937 random(1);
  const std::string good =
      file_of(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
              R"("b":{"dtype":"I32","shape":[2,1],"data_offsets":[8,16]}})",
              std::string(16, 'x'));
  const std::string alphabet = "{}[]\",:0123456789-e.FIU24ab\\ ";
  int accepted = 0;
  for (int run = 0; run < 20000; ++run) {
    std::string file = good;
    for (std::uint32_t hits = random() % 4; hits-- > 0;) {
      const std::size_t at = random() % file.size();
      const char byte =
          random() % 2 == 0 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
      if (random() % 4 == 0)
        file.erase(at, 1 + random() % 8);
      else if (random() % 3 == 0)
        file.insert(at, 1, byte);
      else
        file[at] = byte;
    }
    if (run % 10 == 0) file = file_of(std::string(random() % 40, alphabet[random() % alphabet.size()]), "");
    const auto weights = parse(file, random() % 8);
    if (!weights) continue;
    ++accepted;
    std::uint64_t sum = 0;
    for (const auto& [name, tensor] : weights->all()) sum += digest_of(tensor.bytes);
    EXPECT_NE(sum, 1U);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(Digest, SeesEveryByteAndTheOrder) {
  std::vector<std::byte> bytes(100, std::byte{1});
  const std::uint64_t digest = digest_of(bytes);
  EXPECT_EQ(digest, digest_of(bytes));
  EXPECT_NE(digest, digest_of(bytes, 1));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{2};
    EXPECT_NE(digest_of(bytes), digest) << i;
    bytes[i] = std::byte{1};
    EXPECT_NE(digest_of(std::span(bytes).first(i)), digest) << i;
  }
  const std::vector<std::byte> zeros(8);
  EXPECT_NE(digest_of(zeros), digest_of(std::span(zeros).first(7)));
}

}  // namespace
}  // namespace volvox
