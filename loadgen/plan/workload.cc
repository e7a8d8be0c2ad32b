#include "loadgen/plan/workload.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <toml++/toml.h>

namespace volvox {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr double kLongestSeconds = 1e7;

// Nothing where it is none, or a whole number that no double is.
std::optional<double> number_of(const toml::node& node) {
  return node.is_number() ? node.value<double>() : std::nullopt;
}

// Reads one table. The first error stays, so that reading needs no error handling; a key that nobody asked
// for is one.
class WorkloadKeys {
 public:
  WorkloadKeys(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  void text(std::string_view key, std::string& to) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::string>();
    if (!value) return refuse(key, "is a text");
    to = *value;
  }

  bool number(std::string_view key, double& to, double least, double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    const std::optional<double> value = number_of(*node);
    if (!value || !(*value >= least && *value <= most)) {
      refuse(key, "is a number from " + text_of(least) + " to " + text_of(most));
      return false;
    }
    to = *value;
    return true;
  }

  template <class Integer>
  void count(std::string_view key, Integer& to, std::int64_t least, std::int64_t most) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < least || *value > most)
      return refuse(key, "is a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    to = static_cast<Integer>(*value);
  }

  void seconds(std::string_view key, Duration& to) {
    double value = 0;
    if (number(key, value, 0, kLongestSeconds)) to = Duration(static_cast<Duration::rep>(value * 1e9));
  }

  const toml::node* find(std::string_view key) {
    known_.push_back(key);
    return table_.get(key);
  }

  void refuse(std::string_view key, const std::string& why) {
    if (error_) return;
    std::string message = where_;
    message.append(": ").append(key).append(": ").append(why);
    error_ = std::move(message);
  }

  Status finish() {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known_, std::string_view(key.str())) == known_.end())
        refuse(key.str(), "there is no such key; docs/load.md lists them");
    }
    if (error_) return invalid(*error_);
    return {};
  }

 private:
  static std::string text_of(double number) {
    std::string text = std::to_string(number);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
  }

  const toml::table& table_;
  std::string where_;
  std::vector<std::string_view> known_;
  std::optional<std::string> error_;
};

void place(std::string& file, const std::string& folder) {
  if (!file.empty() && file != "random" && !file.starts_with('/') && !folder.empty())
    file = folder + "/" + file;
}

Result<RequestWords> read_request(const toml::table& table, const std::string& where,
                                  const std::string& folder) {
  WorkloadKeys keys(table, where);
  RequestWords words;
  constexpr double kMost = std::numeric_limits<float>::max();
  keys.text("model", words.model);
  keys.count("version", words.version, 0, std::numeric_limits<std::uint32_t>::max());
  keys.number("weight", words.weight, 1e-9, 1e9);
  keys.text("input", words.input);
  keys.text("priority", words.priority);
  keys.text("lengths", words.lengths);
  keys.text("column", words.column);
  keys.text("sequences", words.sequences);
  keys.text("trees", words.trees);
  keys.text("lattices", words.lattices);
  keys.count("length", words.length, 1, LengthSource::kMaxLength);
  keys.count("vocabulary", words.vocabulary, 1, std::int64_t{1} << 31);
  keys.number("deadline_ms", words.deadline_ms, 0, kLongestSeconds);
  keys.number("cancel_fraction", words.cancel_fraction, 0, 1);
  keys.number("cancel_after_ms", words.cancel_after_ms, 0, std::min(kMost, kLongestSeconds));
  if (words.model.empty()) keys.refuse("model", "which one? Each [[request]] names one");
  if (words.column != "source" && words.column != "target") keys.refuse("column", "is 'source' or 'target'");
  if (words.length > 0 && !words.lengths.empty()) keys.refuse("length", "leave it out, or lengths");
  for (std::string* file : {&words.lengths, &words.trees, &words.lattices}) place(*file, folder);
  if (Status ok = keys.finish(); !ok) return tl::unexpected(ok.error());
  return words;
}

Status read_load(const toml::table& table, const std::string& where, LoadPlan& plan) {
  WorkloadKeys keys(table, where);
  keys.seconds("seconds", plan.measured);
  keys.seconds("warmup", plan.warmup);
  keys.seconds("timeout", plan.timeout);
  keys.count("requests", plan.requests, 0, std::int64_t{1} << 50);
  keys.count("connections", plan.connections, 1, 256);
  keys.count("seed", plan.seed, 0, std::numeric_limits<std::int64_t>::max());
  return keys.finish();
}

std::vector<RatePoint> read_points(WorkloadKeys& keys) {
  std::vector<RatePoint> points;
  const toml::node* node = keys.find("points");
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr) {
    keys.refuse("points", "a curve has points, [[seconds, requests a second], …]");
    return points;
  }
  for (const toml::node& entry : *list) {
    const toml::array* pair = entry.as_array();
    const bool two = pair != nullptr && pair->size() == 2;
    const auto at_s = two ? number_of((*pair)[0]) : std::nullopt;
    const auto rate = two ? number_of((*pair)[1]) : std::nullopt;
    if (!at_s || !rate) {
      keys.refuse("points", "each is [seconds, requests a second]");
      return points;
    }
    points.push_back({*at_s, *rate});
  }
  return points;
}

void set_curve(WorkloadKeys& keys, std::string_view key, Result<RateCurve> curve, LoadPlan& plan) {
  if (!curve) return keys.refuse(key, curve.error().message);
  plan.arrivals = Arrivals::kCurve;
  plan.rate = 1;
  plan.curve = std::make_shared<const RateCurve>(std::move(*curve));
}

Status read_arrivals(const toml::table& table, const std::string& where, const std::string& folder,
                     LoadWorkload& workload) {
  constexpr double kMostRate = 1e7;
  LoadPlan& plan = workload.plan;
  WorkloadKeys keys(table, where);
  std::string kind;
  keys.text("kind", kind);
  const auto number = [&](std::string_view key, double most, double otherwise = 0) {
    double value = otherwise;
    keys.number(key, value, 0, most);
    return value;
  };
  if (kind == "poisson" || kind == "constant") {
    plan.arrivals = kind == "poisson" ? Arrivals::kPoisson : Arrivals::kConstant;
    keys.number("rate", plan.rate, 1e-6, kMostRate);
  } else if (kind == "closed") {
    plan.arrivals = Arrivals::kClosed;
    keys.count("concurrency", plan.concurrency, 1, std::int64_t{1} << 20);
  } else if (kind == "bursts") {
    const double rate = number("rate", kMostRate), on_s = number("on_seconds", kLongestSeconds);
    const double off_rate = number("off_rate", kMostRate), off_s = number("off_seconds", kLongestSeconds);
    set_curve(keys, "kind", RateCurve::bursts(rate, on_s, off_rate, off_s), plan);
  } else if (kind == "day") {
    const double low = number("low", kMostRate), high = number("high", kMostRate);
    set_curve(keys, "kind", RateCurve::day(low, high, number("period_seconds", kLongestSeconds, 86400)),
              plan);
  } else if (kind == "curve") {
    set_curve(keys, "points", RateCurve::make(read_points(keys)), plan);
  } else if (kind == "trace") {
    plan.arrivals = Arrivals::kTrace;
    plan.rate = 1;
    keys.text("file", workload.trace);
    keys.number("speed", workload.speed, 1e-6, 1e6);
    if (workload.trace.empty()) keys.refuse("file", "which one? A trace lies in a file");
    place(workload.trace, folder);
  } else {
    keys.refuse("kind", "is 'poisson', 'constant', 'closed', 'bursts', 'day', 'curve' or 'trace'");
  }
  return keys.finish();
}

Result<LoadWorkload> read(const toml::table& document, const std::string& file, const std::string& folder,
                          const LoadPlan& otherwise) {
  LoadWorkload workload{.plan = otherwise};
  WorkloadKeys keys(document, file);
  const auto table_of = [&](std::string_view key) -> const toml::table* {
    const toml::node* node = keys.find(key);
    if (node != nullptr && !node->is_table()) keys.refuse(key, "is a table");
    return node == nullptr ? nullptr : node->as_table();
  };
  const toml::table *load = table_of("load"), *arrivals = table_of("arrivals");
  const toml::node* requests = keys.find("request");
  const toml::array* classes = requests == nullptr ? nullptr : requests->as_array();
  if (classes == nullptr || classes->empty()) keys.refuse("request", "there is none; write [[request]]");
  if (Status ok = keys.finish(); !ok) return tl::unexpected(ok.error());
  if (load != nullptr) {
    if (Status ok = read_load(*load, file + ": load", workload.plan); !ok) return tl::unexpected(ok.error());
  }
  if (arrivals != nullptr) {
    if (Status ok = read_arrivals(*arrivals, file + ": arrivals", folder, workload); !ok)
      return tl::unexpected(ok.error());
  }
  if (workload.plan.arrivals == Arrivals::kTrace) {
    // All of it, unless the file says otherwise.
    if (load == nullptr || !load->contains("seconds")) workload.plan.measured = Duration(0);
    if (load == nullptr || !load->contains("warmup")) workload.plan.warmup = Duration(0);
  }
  for (const toml::node& node : *classes) {
    const std::string where = file + ": request[" + std::to_string(workload.requests.size()) + "]";
    if (!node.is_table()) return invalid(where + ": is a table; write [[request]]");
    auto words = read_request(*node.as_table(), where, folder);
    if (!words) return tl::unexpected(words.error());
    workload.requests.push_back(std::move(*words));
  }
  return workload;
}

}  // namespace

Result<LoadWorkload> parse_workload(std::string_view toml, std::string_view file, const std::string& folder,
                                    const LoadPlan& otherwise) {
  try {
    return read(toml::parse(toml, file), std::string(file), folder, otherwise);
  } catch (const toml::parse_error& error) {
    std::string message(file);
    message.append(":")
        .append(std::to_string(error.source().begin.line))
        .append(": ")
        .append(error.description());
    return invalid(std::move(message));
  }
}

Result<LoadWorkload> read_workload(const std::string& path, const LoadPlan& otherwise) {
  std::ifstream file(path);
  if (!file) return invalid("cannot read the workload in '" + path + "'; check the path");
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() > kMostBytes) return invalid("'" + path + "' is too long for a workload");
  const std::size_t slash = path.rfind('/');
  return parse_workload(text, path, slash == std::string::npos ? std::string() : path.substr(0, slash),
                        otherwise);
}

}  // namespace volvox
