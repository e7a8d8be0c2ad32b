#include "loadgen/requests/priority_mix.h"

#include <charconv>
#include <cmath>
#include <string>

#include "shapes/random.h"

namespace volvox {
namespace {

// False for a name or a number that makes no sense.
bool add_part(std::string_view part, PriorityMix& mix) {
  const std::size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  double weight = 1;
  if (equals != std::string_view::npos) {
    const std::string_view number = part.substr(equals + 1);
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, weight);
    if (error != std::errc{} || stop != end || !std::isfinite(weight) || weight < 0) return false;
  }
  if (name == "high") {
    mix.high = weight;
  } else if (name == "normal") {
    mix.normal = weight;
  } else if (name == "low") {
    mix.low = weight;
  } else {
    return false;
  }
  return true;
}

}  // namespace

WirePriority PriorityMix::draw(std::uint64_t request_id) const {
  constexpr std::uint64_t kStream = 0x7072696f;  // apart from what the requests say
  const double at = SeededRandom::for_item(kStream, request_id).unit() * (high + normal + low);
  if (at < high) return WirePriority::kHigh;
  return at < high + normal ? WirePriority::kNormal : WirePriority::kLow;
}

Result<PriorityMix> parse_priority_mix(std::string_view text) {
  PriorityMix mix{0, 0, 0};
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (!add_part(part, mix)) {
      // Appended piece by piece: g++ 12 warns falsely of "literal" + std::string(…).
      std::string message(1, '\'');
      message.append(part).append("' is no priority: say high, normal, low, or high=1,normal=8,low=1");
      return invalid(message);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (mix.high + mix.normal + mix.low <= 0) return invalid("no priority class has a weight above 0");
  return mix;
}

}  // namespace volvox
