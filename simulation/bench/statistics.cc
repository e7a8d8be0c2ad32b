#include "simulation/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace volvox::bench {

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size())));
  const std::size_t at = std::clamp<std::size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

double Repeated::median() const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double Repeated::least() const {
  return values_.empty() ? 0 : *std::min_element(values_.begin(), values_.end());
}

double Repeated::most() const {
  return values_.empty() ? 0 : *std::max_element(values_.begin(), values_.end());
}

nlohmann::json Repeated::json() const {
  if (values_.empty()) return nullptr;
  return {{"median", median()}, {"spread", {least(), most()}}, {"values", values_}};
}

std::string Repeated::text(int digits) const {
  if (values_.empty()) return "-";
  if (values_.size() == 1) return fixed(median(), digits);
  return fixed(median(), digits) + " (" + fixed(least(), digits) + "…" + fixed(most(), digits) + ")";
}

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

namespace {

// Characters, not bytes: the tables hold UTF-8.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out += std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

bool write_json(const std::string& path, const nlohmann::json& report) {
  std::ofstream file(path);
  file << report.dump(2) << '\n';
  file.close();
  if (file) return true;
  std::fprintf(stderr, "cannot write '%s'\n", path.c_str());
  return false;
}

}  // namespace volvox::bench
