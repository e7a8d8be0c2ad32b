#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace volvox::fuzz {

using Bytes = std::span<const std::byte>;

// One input of a fuzzer holds two parts, behind the size of the first as two bytes, little-endian: what
// travels or is loaded comes in pairs (header and body, definition and weights), and both shall be mutated. A
// size beyond the input takes all of it.
inline std::pair<Bytes, Bytes> split(const std::uint8_t* data, std::size_t size) {
  const Bytes all = std::as_bytes(std::span(data, size));
  if (all.size() < 2) return {all, {}};
  const std::size_t wanted = std::to_integer<std::size_t>(all[0]) | std::to_integer<std::size_t>(all[1]) << 8;
  const Bytes rest = all.subspan(2);
  const std::size_t first = std::min(wanted, rest.size());
  return {rest.first(first), rest.subspan(first)};
}

// The reverse, for seeds. `first` has at most 65535 bytes.
inline std::string join(std::string_view first, std::string_view second) {
  std::string input{static_cast<char>(first.size() & 0xff), static_cast<char>(first.size() >> 8)};
  return input.append(first).append(second);
}

// Ends the process, which libFuzzer reports together with the input, unless what must hold does.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// A refusal is an answer: typed as one of those that the decoder may give, with words for a person.
inline void require_refusal(const Error& error) {
  require(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnsupportedVersion,
          "a refusal says INVALID_ARGUMENT or UNSUPPORTED_VERSION");
  require(!error.message.empty(), "a refusal says why");
}

// Reads every byte, so that a view that leads out of its memory is found.
inline void touch(Bytes bytes) {
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
  volatile unsigned sink = sum;
  (void)sink;
}

}  // namespace volvox::fuzz
