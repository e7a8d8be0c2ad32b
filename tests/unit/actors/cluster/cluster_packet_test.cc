#include "actors/cluster/cluster_packet.h"

#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <gtest/gtest.h>

namespace volvox {
namespace {

std::vector<char> some_bytes(std::size_t size) {
  std::mt19937 random(7);
  std::vector<char> bytes(size);
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

template <class Value>
std::vector<char> written(const Value& value) {
  std::vector<char> wire;
  caf::binary_serializer sink(nullptr, wire);
  EXPECT_FALSE(sink(value));
  return wire;
}

ClusterPacket packet_of(const std::vector<char>& bytes) {
  return {{WireBuffer::share_copy_of(std::as_bytes(std::span(bytes))), nullptr}};
}

TEST(ClusterPacket, TravelsAsAVectorOfItsBytes) {
  for (const std::size_t size : {0, 1, 127, 128, 100'000}) {
    const std::vector<char> bytes = some_bytes(size);
    const std::vector<char> wire = written(packet_of(bytes));
    EXPECT_EQ(wire, written(bytes)) << size;

    caf::binary_deserializer source(nullptr, wire);
    ClusterPacket packet;
    EXPECT_FALSE(source(packet));
    EXPECT_EQ(source.remaining(), 0U);
    ASSERT_EQ(packet.bytes.size(), size);
    if (size > 0) {
      EXPECT_EQ(std::memcmp(packet.bytes.head->data(), bytes.data(), size), 0);
    }
  }
}

TEST(ClusterPacket, TwoPiecesTravelAsOne) {
  const std::vector<char> bytes = some_bytes(1000);
  const auto all = std::as_bytes(std::span(bytes));
  const ClusterPacket packet{
      {WireBuffer::share_copy_of(all.first(100)), WireBuffer::share_copy_of(all.subspan(100))}};
  EXPECT_EQ(written(packet), written(bytes));
  EXPECT_TRUE(std::ranges::equal(packet.bytes.whole()->bytes(), all));
}

TEST(ClusterPacket, NoneTravelsAsNone) {
  EXPECT_EQ(written(ClusterPacket{}), written(std::vector<char>()));
}

TEST(ClusterPacket, WhatIsAnnouncedAndHasNotComeIsAnError) {
  const std::vector<char> wire = written(packet_of(some_bytes(1000)));
  for (std::size_t size = 0; size < wire.size(); ++size) {
    caf::binary_deserializer source(nullptr, wire.data(), size);
    ClusterPacket packet;
    EXPECT_TRUE(source(packet)) << size;
    EXPECT_EQ(packet.bytes.size(), 0U);
  }
  // A size that no memory could hold, of which a byte has come.
  const std::vector<char> huge{'\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\x7f', 'x'};
  caf::binary_deserializer source(nullptr, huge);
  ClusterPacket packet;
  EXPECT_TRUE(source(packet));
  EXPECT_EQ(packet.bytes.size(), 0U);
}

}  // namespace
}  // namespace volvox
