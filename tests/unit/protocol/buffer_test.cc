#include "protocol/buffer.h"

#include <cstring>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "protocol/sockets/zmq_socket.h"

namespace volvox {
namespace {

std::shared_ptr<const WireBuffer> counting(std::size_t size) {
  WireBuffer buffer = WireBuffer::unwritten(size);
  for (std::size_t i = 0; i < size; ++i) buffer.data()[i] = static_cast<std::byte>(i);
  return std::make_shared<const WireBuffer>(std::move(buffer));
}

TEST(WireBuffer, IsAligned) {
  for (const std::size_t size : {1, 63, 64, 65, 1000}) {
    const WireBuffer buffer = WireBuffer::unwritten(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % WireBuffer::kAlignment, 0U);
    EXPECT_GE(buffer.held_bytes(), size);
  }
  EXPECT_EQ(WireBuffer::unwritten(0).data(), nullptr);
}

TEST(WireBuffer, ASharedCopyIsAlignedAndItsOwn) {
  for (const std::size_t size : {1, 63, 64, 65, 1000}) {
    auto source = counting(size);
    const auto copy = WireBuffer::share_copy_of(source->bytes());
    source.reset();
    ASSERT_EQ(copy->size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy->data()) % WireBuffer::kAlignment, 0U);
    EXPECT_EQ(copy->held_bytes(), size);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(copy->data()[i], static_cast<std::byte>(i));
  }
  EXPECT_TRUE(WireBuffer::share_copy_of({})->empty());
}

TEST(WireBuffer, APartKeepsTheWholeAndCopiesNothing) {
  auto whole = counting(100);
  const std::weak_ptr<const WireBuffer> life = whole;
  const std::byte* const place = whole->data() + 40;
  auto part = WireBuffer::share_part_of(whole, whole->bytes().subspan(40, 8));
  whole.reset();
  ASSERT_FALSE(life.expired());
  EXPECT_EQ(part->data(), place);
  EXPECT_EQ(part->size(), 8U);
  EXPECT_EQ(part->bytes()[7], std::byte{47});
  EXPECT_EQ(part->held_bytes(), 8U);
  part.reset();
  EXPECT_TRUE(life.expired());
}

TEST(WireBuffer, MovesAsAPartAndAsAWhole) {
  auto whole = counting(16);
  const std::weak_ptr<const WireBuffer> life = whole;
  WireBuffer part = WireBuffer::part_of(std::move(whole), life.lock()->bytes().first(4));
  WireBuffer there = WireBuffer::copy_of(part.bytes());
  there = std::move(part);
  EXPECT_EQ(there.whole(), life.lock());
  EXPECT_EQ(part.size(), 0U);
  EXPECT_EQ(part.whole(), nullptr);
  there = WireBuffer::unwritten(32);
  EXPECT_TRUE(life.expired());
  EXPECT_EQ(there.whole(), nullptr);
}

TEST(ZmqFrame, APartIsSentFromWhereItLies) {
  auto whole = counting(4096);
  const std::weak_ptr<const WireBuffer> life = whole;
  struct Other final : FrameHold {
    std::shared_ptr<int> value = std::make_shared<int>(1);
  };
  auto other = std::make_unique<Other>();
  const std::weak_ptr<int> until_freed = other->value;
  {
    ZmqFrame frame(WireBuffer::part_of(whole, whole->bytes().subspan(1000, 2000)), std::move(other));
    EXPECT_EQ(frame.bytes().data(), whole->data() + 1000);
    EXPECT_EQ(frame.bytes().size(), 2000U);
    whole.reset();
    EXPECT_FALSE(life.expired());
    EXPECT_FALSE(until_freed.expired());
  }
  EXPECT_TRUE(life.expired());
  EXPECT_TRUE(until_freed.expired());
}

}  // namespace
}  // namespace volvox
