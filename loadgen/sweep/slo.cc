#include "loadgen/sweep/slo.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace volvox {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 3> kUnits{{{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

// A number at the front of the text, which it leaves behind.
bool take_number(std::string_view& text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return std::isfinite(number) && number > 0;
}

}  // namespace

bool Slo::is_met(const LoadTally& tally) const {
  if (tally.completed == 0) return false;
  const double in_time = fraction * static_cast<double>(tally.offered) / static_cast<double>(tally.completed);
  return in_time <= 1 && tally.latency.percentile(in_time) <= bound;
}

std::string Slo::text() const {
  std::array<char, 80> line{};
  std::snprintf(line.data(), line.size(), "p%g within %g ms", fraction * 100,
                static_cast<double>(bound.count()) * 1e-6);
  return line.data();
}

Result<Slo> parse_slo(std::string_view text) {
  const tl::unexpected<Error> wrong =
      invalid("an SLO is like p99=50ms: a percentile, and a time in us, ms or s");
  std::string_view rest = text;
  double percent = 0, time = 0;
  if (!rest.starts_with('p')) return wrong;
  rest.remove_prefix(1);
  if (!take_number(rest, percent) || percent >= 100 || !rest.starts_with('=')) return wrong;
  rest.remove_prefix(1);
  if (!take_number(rest, time)) return wrong;
  const auto unit = std::ranges::find(kUnits, rest, &std::pair<std::string_view, double>::first);
  if (unit == kUnits.end() || time * unit->second > 1e15) return wrong;
  return Slo{percent / 100, Duration(static_cast<Duration::rep>(time * unit->second))};
}

}  // namespace volvox
