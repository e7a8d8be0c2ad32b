#include "tracing/trace_context.h"

#include <cstddef>

namespace volvox {
namespace {

constexpr std::size_t kLength = 55;  // of version 00

std::optional<std::uint64_t> hex_value(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const auto version = hex_value(text.substr(0, 2));
  if (!version || *version == 0xff) return std::nullopt;
  if (text.size() > kLength && (*version == 0 || text[kLength] != '-')) return std::nullopt;
  const auto hi = hex_value(text.substr(3, 16)), lo = hex_value(text.substr(19, 16));
  const auto parent = hex_value(text.substr(36, 16)), flags = hex_value(text.substr(53, 2));
  if (!hi || !lo || !parent || !flags || (*hi | *lo) == 0 || *parent == 0) return std::nullopt;
  return TraceContext{{*hi, *lo}, *parent, (*flags & 1) != 0};
}

std::string to_traceparent(const TraceContext& context) {
  return "00-" + to_hex(context.trace) + "-" + to_hex(context.parent) + (context.sampled ? "-01" : "-00");
}

std::string to_hex(TraceId id) {
  return to_hex(id.hi) + to_hex(id.lo);
}

std::string to_hex(std::uint64_t span) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; span >>= 4) text[i] = "0123456789abcdef"[span & 15];
  return text;
}

}  // namespace volvox
