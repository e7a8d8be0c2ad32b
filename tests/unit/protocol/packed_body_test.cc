#include "protocol/codec/packed_body.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/codec/codec.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using test::kLimits;

const HashKey kKey{1, 2};

// What a body views, as long as this lives.
struct Parts {
  std::vector<std::int32_t> tokens{7, 8, 9}, types{0, 1, 0}, offsets{0, 0, 1, 2}, predecessors{0, 1};
  std::vector<std::int32_t> parents{2, 2, -1}, lengths{3, 1}, starts{0}, ends{2};
  std::vector<std::uint8_t> odd{1, 2, 3, 4, 5};
  std::string input = "token", other = "odd", output = "state", leaf = "leaf", inner = "inner";

  RequestBody with(Structure structure) const {
    RequestBody body;
    body.structure = std::move(structure);
    body.inputs = {wire_tensor(other, std::span(odd)), wire_tensor(input, std::span(tokens), {3, 1})};
    body.outputs = {output};
    return body;
  }
  std::vector<RequestBody> bodies() const {
    return {with(ChainStructure{3}), with(TreeStructure{parents}), with(LatticeStructure{3, starts, ends}),
            with(GraphStructure{{leaf, inner}, types, offsets, predecessors}),
            with(SequencesStructure{{input, other}, lengths})};
  }
};

bool lies_in(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

// The bytes that encode it, which say everything.
std::vector<std::byte> encoded(const RequestBody& body) {
  const auto bytes = encode_request_body(body, kLimits);
  EXPECT_TRUE(bytes) << to_string(bytes.error());
  return {bytes->bytes().begin(), bytes->bytes().end()};
}

TEST(PackedBody, HoldsAllThatWasSaid) {
  std::optional<Parts> parts(std::in_place);
  std::vector<std::vector<std::byte>> wanted;
  std::vector<RequestBody> packed;
  for (const RequestBody& body : parts->bodies()) {
    wanted.push_back(encoded(body));
    auto one = pack_request_body(body, kLimits);
    ASSERT_TRUE(one) << to_string(one.error());
    packed.push_back(std::move(*one));
  }
  // Nothing of where it came from is left.
  std::ranges::fill(parts->tokens, -1);
  std::ranges::fill(parts->parents, -1);
  std::ranges::fill(parts->predecessors, -1);
  std::ranges::fill(parts->lengths, -1);
  std::ranges::fill(parts->input, '?');
  std::ranges::fill(parts->leaf, '?');
  parts.reset();
  for (std::size_t i = 0; i < packed.size(); ++i) {
    EXPECT_EQ(encoded(packed[i]), wanted[i]) << i;
    EXPECT_LE(packed[i].storage->size(), wanted[i].size()) << "counts as no more than its message";
  }
}

TEST(PackedBody, LiesInOneAlignedBlockInputsFirst) {
  const Parts parts;
  for (const RequestBody& body : parts.bodies()) {
    const auto packed = pack_request_body(body, kLimits);
    ASSERT_TRUE(packed) << to_string(packed.error());
    const auto block = packed->storage->bytes();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % WireBuffer::kAlignment, 0U);
    EXPECT_EQ(packed->inputs[0].bytes.data(), block.data());
    for (const WireTensor& input : packed->inputs) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(input.bytes.data()) % 8, 0U);
      EXPECT_TRUE(lies_in(input.bytes, block));
      EXPECT_TRUE(lies_in(std::as_bytes(std::span(input.name)), block));
    }
    EXPECT_TRUE(std::all_of(block.begin() + 5, block.begin() + 8, [](std::byte b) {
      return b == std::byte{};
    })) << "what lies between is written too";
  }
}

TEST(PackedBody, RefusesWhatCannotBeEncoded) {
  const Parts parts;
  RequestBody twice = parts.with(ChainStructure{3});
  twice.inputs[1].name = twice.inputs[0].name;
  RequestBody none = parts.with(NoStructure{});
  WireLimits small;
  small.max_body_bytes = 64;
  for (const auto& [body, limits] :
       {std::pair{twice, kLimits}, {none, kLimits}, {parts.bodies()[0], small}}) {
    const auto packed = pack_request_body(body, limits);
    const auto message = encode_request_body(body, limits);
    ASSERT_FALSE(packed);
    ASSERT_FALSE(message);
    EXPECT_EQ(packed.error(), message.error());
  }
}

TEST(PackedBody, ADigestDependsOnEverything) {
  const Parts parts;
  std::vector<RequestBody> bodies = parts.bodies();
  RequestBody changed = bodies[0];
  changed.structure = ChainStructure{4};
  bodies.push_back(changed);
  changed = bodies[0];
  changed.outputs.clear();
  bodies.push_back(changed);
  changed = bodies[0];
  changed.inputs[1].shape = {3};
  bodies.push_back(changed);
  changed = bodies[0];
  changed.inputs[1].type = WireType::kU32;
  bodies.push_back(changed);
  changed = bodies[0];
  std::swap(changed.inputs[0].name, changed.inputs[1].name);
  bodies.push_back(changed);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (std::size_t j = 0; j < bodies.size(); ++j)
      EXPECT_EQ(digest_of(bodies[i], kKey) == digest_of(bodies[j], kKey), i == j) << i << ' ' << j;
    const auto packed = pack_request_body(bodies[i], kLimits);
    ASSERT_TRUE(packed) << to_string(packed.error());
    EXPECT_EQ(digest_of(*packed, kKey), digest_of(bodies[i], kKey)) << "wherever it lies";
  }
}

}  // namespace
}  // namespace volvox
