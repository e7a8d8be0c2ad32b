#include "shapes/lengths.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

namespace volvox {
namespace {

constexpr double kMu = 2.9135;
constexpr double kSigma = 0.7273;

std::optional<std::uint32_t> parse_length(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value == 0 || value > LengthSource::kMaxLength) return std::nullopt;
  return value;
}

std::optional<std::uint32_t> parse_line(std::string_view line, LengthColumn column) {
  const auto tab = line.find('\t');
  if (tab == std::string_view::npos) {
    return column == LengthColumn::kSource ? parse_length(line) : std::nullopt;
  }
  const auto source = parse_length(line.substr(0, tab));
  const auto target = parse_length(line.substr(tab + 1));
  if (!source || !target) return std::nullopt;
  return column == LengthColumn::kSource ? source : target;
}

}  // namespace

LengthSource LengthSource::fixed(std::uint32_t length) {
  return LengthSource({std::max(length, 1U)}, "fixed " + std::to_string(length));
}

LengthSource LengthSource::built_in() {
  return LengthSource({}, "built-in (mean 24, at most 330)");
}

Result<LengthSource> LengthSource::from_file(const std::string& path, LengthColumn column) {
  std::ifstream file(path);
  if (!file) return invalid("cannot read the lengths in '" + path + "'; check the path");
  std::vector<std::uint32_t> table;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto length = parse_line(line, column);
    if (!length) {
      return invalid(path + ":" + std::to_string(table.size() + 1) +
                     ": expected a length from 1 to 1048576, or source and target length with a tab between");
    }
    table.push_back(*length);
  }
  if (table.empty()) return invalid("'" + path + "' holds no lengths");
  std::string description = path + " (" + std::to_string(table.size()) + " lines)";
  return LengthSource(std::move(table), std::move(description));
}

Result<LengthSource> LengthSource::from_table(std::vector<std::uint32_t> table, std::string description) {
  const auto is_length = [](std::uint32_t length) { return length > 0 && length <= kMaxLength; };
  if (!std::ranges::all_of(table, is_length)) return invalid("a length is from 1 to 1048576");
  return LengthSource(std::move(table), std::move(description));
}

std::uint32_t LengthSource::draw(SeededRandom& random) const {
  if (table_.size() == 1) return table_.front();
  if (!table_.empty()) return table_[random.below(table_.size())];
  const double length = std::round(std::exp(kMu + kSigma * random.normal()));
  return static_cast<std::uint32_t>(std::clamp(length, 1.0, static_cast<double>(kBuiltInMax)));
}

std::uint32_t LengthSource::longest() const {
  return table_.empty() ? kBuiltInMax : *std::ranges::max_element(table_);
}

}  // namespace volvox
