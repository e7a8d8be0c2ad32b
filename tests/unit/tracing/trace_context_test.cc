#include "tracing/trace_context.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr const char* kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, IsReadAndWritten) {
  const auto context = parse_traceparent(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace, (TraceId{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736}));
  EXPECT_EQ(context->parent, 0x00f067aa0ba902b7U);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(to_traceparent(*context), kGood);
}

TEST(TraceContext, OnlyTheLowestFlagSaysSampled) {
  const auto with_flags = [](const char* flags) {
    return parse_traceparent(std::string(kGood).replace(53, 2, flags));
  };
  EXPECT_TRUE(with_flags("ff")->sampled);
  EXPECT_FALSE(with_flags("00")->sampled);
  EXPECT_FALSE(with_flags("02")->sampled);
}

TEST(TraceContext, OfALaterVersionMayBeLonger) {
  EXPECT_TRUE(parse_traceparent(std::string(kGood).replace(0, 2, "01")));
  EXPECT_TRUE(parse_traceparent(std::string(kGood).replace(0, 2, "cc") + "-what-comes"));
  EXPECT_FALSE(parse_traceparent(std::string(kGood).replace(0, 2, "cc") + ".what-comes"));
  EXPECT_FALSE(parse_traceparent(std::string(kGood) + "-00"));
}

TEST(TraceContext, WhatIsMalformedIsIgnored) {
  const std::string good = kGood;
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse_traceparent(good.substr(0, length))) << length;
  // Any letter that is no lower-case hexadecimal digit, and no dash where none belongs, at any place.
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char bad : {'g', 'A', ' ', '\0', '\xff', '_'}) {
      std::string text = good;
      text[at] = bad;
      EXPECT_FALSE(parse_traceparent(text)) << at << " " << int{bad};
    }
  }
  EXPECT_FALSE(parse_traceparent("ff" + good.substr(2)));
  EXPECT_FALSE(parse_traceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));
  EXPECT_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"));
}

TEST(TraceContext, HexHasAllItsDigits) {
  EXPECT_EQ(to_hex(0x1f), "000000000000001f");
  EXPECT_EQ(to_hex(TraceId{1, 0xabcdef}), "00000000000000010000000000abcdef");
}

}  // namespace
}  // namespace volvox
