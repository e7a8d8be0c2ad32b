#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace volvox::bench {

// Value at p in [0, 1] of the sorted values (nearest rank); 0 for none.
double percentile(std::vector<double> values, double p);

// What repetitions of one measurement gave.
class Repeated {
 public:
  void add(double value) { values_.push_back(value); }
  bool empty() const { return values_.empty(); }
  double median() const;
  double least() const;
  double most() const;
  // {"median": m, "spread": [least, most], "values": […]}, or null when there are none.
  nlohmann::json json() const;
  // "12.3 (11.9 … 12.8)"
  std::string text(int digits) const;

 private:
  std::vector<double> values_;
};

// "12.3", fixed.
std::string fixed(double value, int digits);

// Columns of text, aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Writes the report, pretty-printed; false, with a message on stderr, when the file cannot be written.
bool write_json(const std::string& path, const nlohmann::json& report);

}  // namespace volvox::bench
