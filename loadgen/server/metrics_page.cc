#include "loadgen/server/metrics_page.h"

#include <charconv>
#include <limits>

namespace volvox {
namespace {

// Reads one line from its front.
class LineReader {
 public:
  explicit LineReader(std::string_view rest) : rest_(rest) {}

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_blanks() {
    while (take(' ') || take('\t')) {
    }
  }

  std::string_view take_until(std::string_view stops) {
    const auto end = std::min(rest_.find_first_of(stops), rest_.size());
    const std::string_view token = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return token;
  }

  // After the opening quote, up to and with the closing one.
  std::optional<std::string> take_quoted() {
    std::string text;
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c == '\\' && !rest_.empty()) {
        c = rest_.front() == 'n' ? '\n' : rest_.front();
        rest_.remove_prefix(1);
      }
      text.push_back(c);
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;
};

std::optional<double> parse_number(std::string_view text) {
  if (text == "+Inf" || text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  if (text == "NaN" || text == "Nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_labels(LineReader& line, MetricSample& sample) {
  while (true) {
    line.skip_blanks();
    if (line.take('}')) return true;
    std::string key(line.take_until("= \t,}"));
    line.skip_blanks();
    if (key.empty() || !line.take('=')) return false;
    line.skip_blanks();
    if (!line.take('"')) return false;
    auto value = line.take_quoted();
    if (!value) return false;
    sample.labels.insert_or_assign(std::move(key), std::move(*value));
    line.skip_blanks();
    if (!line.take(',')) return line.take('}');
  }
}

std::optional<MetricSample> read_sample(std::string_view text) {
  LineReader line(text);
  MetricSample sample;
  line.skip_blanks();
  sample.name = std::string(line.take_until("{ \t"));
  line.skip_blanks();
  if (sample.name.empty() || (line.take('{') && !read_labels(line, sample))) return std::nullopt;
  line.skip_blanks();
  const auto value = parse_number(line.take_until(" \t"));  // what may follow is a time stamp
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

std::string_view MetricSample::label(std::string_view key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

Result<MetricsPage> MetricsPage::parse(std::string_view text) {
  MetricsPage page;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#') continue;
    auto sample = read_sample(line);
    if (!sample) return invalid("line " + std::to_string(number) + " is not in Prometheus' text format");
    page.samples_.push_back(std::move(*sample));
  }
  return page;
}

std::vector<const MetricSample*> MetricsPage::all(std::string_view name) const {
  std::vector<const MetricSample*> found;
  for (const MetricSample& sample : samples_) {
    if (sample.name == name) found.push_back(&sample);
  }
  return found;
}

std::optional<double> MetricsPage::sum(std::string_view name) const {
  const auto found = all(name);
  if (found.empty()) return std::nullopt;
  double total = 0;
  for (const MetricSample* sample : found) total += sample->value;
  return total;
}

std::map<std::string, double> MetricsPage::sum_by(std::string_view name, std::string_view label) const {
  std::map<std::string, double> sums;
  for (const MetricSample* sample : all(name)) sums[std::string(sample->label(label))] += sample->value;
  return sums;
}

}  // namespace volvox
