#include "repository/cell_file.h"

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cells/ir/inference.h"
#include "cells/ops/op.h"
#include "repository/strict_json.h"

namespace volvox {
namespace {

using Json = nlohmann::ordered_json;  // for writing
using Read = nlohmann::json;

constexpr std::size_t kMaxDepth = 5;  // the cell, its operators, one, its convolution, a list
constexpr std::size_t kMaxItems = 1U << 16;
constexpr std::size_t kMaxText = 1024;
constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of whatever counts elements

// Every member of an object must be read with its type and its bounds, and none may be left over. The first
// error stays until finish(), so that calls need no error handling.
class Members {
 public:
  explicit Members(const Read& object) : object_(object) {
    if (!object.is_object()) refuse("is no object");
  }

  void text(const char* key, std::string& to, bool required = false) {
    const Read* found = find(key, required);
    if (found == nullptr) return;
    if (!found->is_string() || found->get_ref<const std::string&>().size() > kMaxText)
      return refuse(in_quotes(key) + " is no text of at most " + std::to_string(kMaxText) + " bytes");
    to = found->get<std::string>();
  }
  template <class Integer>
  void integer(const char* key, Integer& to, std::int64_t least, std::int64_t most, bool required = false) {
    const Read* found = find(key, required);
    if (found == nullptr) return;
    if (const auto number = bounded(*found, least, most)) {
      to = static_cast<Integer>(*number);
    } else {
      refuse(in_quotes(key) + " is no whole number from " + std::to_string(least) + " to " +
             std::to_string(most));
    }
  }
  void flag(const char* key, bool& to) {
    const Read* found = find(key, false);
    if (found == nullptr) return;
    if (!found->is_boolean()) return refuse(in_quotes(key) + " is neither true nor false");
    to = found->get<bool>();
  }
  template <class Integer>
  void integers(const char* key, std::vector<Integer>& to, std::int64_t least, std::int64_t most) {
    each(key, [&](const Read& item) {
      const auto number = bounded(item, least, most);
      if (number) to.push_back(static_cast<Integer>(*number));
      return number.has_value();
    });
  }
  void pair(const char* key, std::array<std::int64_t, 2>& to) {
    std::vector<std::int64_t> two;
    integers(key, two, -kMost, kMost);
    if (two.size() == 2) {
      to = {two[0], two[1]};
    } else if (object_.contains(key)) {
      refuse(in_quotes(key) + " is no pair");
    }
  }
  void texts(const char* key, std::vector<std::string>& to) {
    each(key, [&](const Read& item) {
      if (!item.is_string() || item.get_ref<const std::string&>().size() > kMaxText) return false;
      to.push_back(item.get<std::string>());
      return true;
    });
  }
  void reals(const char* key, std::vector<double>& to) {
    each(key, [&](const Read& item) {
      const auto real = real_of(item);
      if (real) to.push_back(*real);
      return real.has_value();
    });
  }
  void real(const char* key, double& to) {
    const Read* found = find(key, false);
    if (found == nullptr) return;
    const auto real = real_of(*found);
    if (!real) return refuse(in_quotes(key) + " is no number");
    to = *real;
  }
  void dtype(const char* key, DType& to) {
    std::string name;
    text(key, name);
    if (name.empty()) return;
    for (const DType type : {DType::kF32, DType::kI32, DType::kU64}) {
      if (to_string(type) != name) continue;
      to = type;
      return;
    }
    refuse(in_quotes(name) + " is no type: f32, i32 or u64");
  }
  // Null when there is none.
  const Read* find(const char* key, bool required) {
    if (error_) return nullptr;
    known_.insert(key);
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    if (required) refuse("has no " + in_quotes(key));
    return nullptr;
  }
  void refuse(std::string why) {
    if (!error_) error_ = std::move(why);
  }

  // The first error, or a member that nobody asked for.
  Status finish() {
    if (error_) return invalid(*error_);
    for (const auto& item : object_.items()) {
      if (!known_.contains(item.key())) return invalid("has an unknown member " + in_quotes(item.key()));
    }
    return {};
  }

 private:
  static std::optional<std::int64_t> bounded(const Read& item, std::int64_t least, std::int64_t most) {
    if (!item.is_number_integer()) return std::nullopt;
    if (item.is_number_unsigned() &&
        item.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::nullopt;
    const auto number = item.get<std::int64_t>();
    return number < least || number > most ? std::nullopt : std::optional(number);
  }
  // JSON has no word for those that are not finite.
  static std::optional<double> real_of(const Read& item) {
    if (item.is_number()) return item.get<double>();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (item == "inf") return kInfinity;
    if (item == "-inf") return -kInfinity;
    if (item == "nan") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
  }
  template <class Take>
  void each(const char* key, Take take) {
    const Read* found = find(key, false);
    if (found == nullptr) return;
    if (!found->is_array() || found->size() > kMaxItems)
      return refuse(in_quotes(key) + " is no list of at most " + std::to_string(kMaxItems) + " items");
    for (const Read& item : *found) {
      if (!take(item)) return refuse(in_quotes(key) + " holds what cannot be there: " + item.dump());
    }
  }

  const Read& object_;
  std::set<std::string, std::less<>> known_;
  std::optional<std::string> error_;
};

Result<Convolution> read_convolution(const Read& json) {
  Convolution c;
  Members members(json);
  members.integer("channels", c.channels, 1, kMost);
  members.integer("height", c.height, 1, kMost);
  members.integer("width", c.width, 1, kMost);
  members.integer("kernels", c.kernels, 1, kMost);
  members.integer("kernel_height", c.kernel_height, 1, kMost);
  members.integer("kernel_width", c.kernel_width, 1, kMost);
  members.pair("stride", c.stride);
  members.pair("padding", c.padding);
  members.integer("groups", c.groups, 1, kMost);
  members.pair("dilation", c.dilation);
  if (Status status = members.finish(); !status) return tl::unexpected(status.error());
  return c;
}

Status read_value(const Read& json, std::vector<Value>& values) {
  Value value;
  Members members(json);
  members.dtype("dtype", value.dtype);
  members.integers("shape", value.shape, 1, kMost);
  if (value.shape.size() > kMaxAxes) members.refuse("has more than 8 axes");
  values.push_back(std::move(value));
  return members.finish();
}

bool holds(DType dtype, double value) {
  constexpr double kMostU64 = 18446744073709549568.0;  // the largest that is less than 2^64
  switch (dtype) {
    case DType::kF32:
      return std::isinf(value) || std::abs(value) <= std::numeric_limits<float>::max();
    case DType::kI32:
      return value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max();
    case DType::kU64:
      return value >= 0 && value <= kMostU64;
  }
  return false;
}

Status read_state(const Read& json, std::vector<StateKind>& states) {
  StateKind state;
  Members members(json);
  members.text("name", state.name, true);
  members.dtype("dtype", state.dtype);
  members.integers("shape", state.shape, 1, kMost);
  members.real("initial", state.initial);
  if (!holds(state.dtype, state.initial)) {
    members.refuse("initial: a state of " + std::string(to_string(state.dtype)) + " cannot hold it");
  }
  states.push_back(std::move(state));
  return members.finish();
}

Status read_operator(const Read& json, std::vector<Operator>& operators) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  Operator op;
  std::string kind;
  Members members(json);
  members.text("op", kind, true);
  members.integers("inputs", op.inputs, 0, kMaxCellValues);
  members.texts("weights", op.weights);
  members.text("name", op.name);
  members.integer("index", op.index, 0, kMaxItems);
  members.integer("begin", op.begin, 0, kMost);
  members.integer("end", op.end, 0, kMost);
  members.integers("integers", op.attributes.integers, -kAny, kAny);
  members.reals("reals", op.attributes.reals);
  members.flag("has_bias", op.has_bias);
  members.flag("has_start", op.has_start);
  members.integer("output", op.output, 0, kMaxCellValues);
  if (const Read* shape = members.find("convolution", false)) {
    Result<Convolution> read = read_convolution(*shape);
    read ? void(op.convolution = *read) : members.refuse("convolution: " + read.error().message);
  }
  if (Status status = members.finish(); !status) return status;
  op.def = find_op(kind);
  if (op.def == nullptr) return invalid("there is no operator " + in_quotes(kind));
  operators.push_back(std::move(op));
  return {};
}

template <class T>
Status read_list(Members& cell, const char* key, std::size_t most, std::vector<T>& to,
                 Status (*read)(const Read&, std::vector<T>&)) {
  const Read* list = cell.find(key, true);
  if (list == nullptr) return {};  // finish() says so
  if (!list->is_array() || list->size() > most)
    return invalid(in_quotes(key) + " is no list of at most " + std::to_string(most));
  for (const Read& item : *list) {
    if (Status status = read(item, to); !status) {
      const bool of_operator = std::string_view(key) == "operators" && item.is_object();
      const std::string name = of_operator ? item.value("op", Read()).dump() : std::string();
      return invalid(std::string(key) + " " + std::to_string(&item - &list->front()) +
                     (name.empty() ? "" : " (" + name + ")") + ": " + status.error().message);
    }
  }
  return {};
}

Json real_json(double real) {
  if (std::isfinite(real)) return real;
  return std::isnan(real) ? "nan" : real > 0 ? "inf" : "-inf";
}

Json reals_json(const std::vector<double>& reals) {
  Json list = Json::array();
  for (const double real : reals) list.push_back(real_json(real));
  return list;
}

Json convolution_json(const Convolution& c) {
  return {{"channels", c.channels},
          {"height", c.height},
          {"width", c.width},
          {"kernels", c.kernels},
          {"kernel_height", c.kernel_height},
          {"kernel_width", c.kernel_width},
          {"stride", c.stride},
          {"padding", c.padding},
          {"groups", c.groups},
          {"dilation", c.dilation}};
}

Json operator_json(const Operator& op) {
  Json json = {{"op", op.def->name}};
  if (!op.inputs.empty()) json["inputs"] = op.inputs;
  if (!op.weights.empty()) json["weights"] = op.weights;
  if (!op.name.empty()) json["name"] = op.name;
  if (op.index != 0) json["index"] = op.index;
  if (op.begin != 0) json["begin"] = op.begin;
  if (op.end != 0) json["end"] = op.end;
  if (!op.attributes.integers.empty()) json["integers"] = op.attributes.integers;
  if (!op.attributes.reals.empty()) json["reals"] = reals_json(op.attributes.reals);
  if (!(op.convolution == Convolution{})) json["convolution"] = convolution_json(op.convolution);
  if (op.has_bias) json["has_bias"] = true;
  if (op.has_start) json["has_start"] = true;
  if (op.output != kNoValue) json["output"] = op.output;
  return json;
}

Json typed_json(DType dtype, const Shape& shape) {
  return {{"dtype", to_string(dtype)}, {"shape", shape}};
}

void write_list(std::string& text, const char* key, const std::vector<Json>& items) {
  text.append(text.empty() ? "{" : ",").append("\n\"").append(key).append("\": [");
  for (std::size_t i = 0; i < items.size(); ++i) text.append(i == 0 ? "\n" : ",\n").append(items[i].dump());
  text.append("]");
}

}  // namespace

std::string cell_file_name(std::string_view name) {
  return std::string(name) + ".cell.json";
}

Result<Cell> parse_cell(std::string_view json, std::string_view file) {
  const auto refused = [&](const std::string& why) { return invalid(std::string(file) + ": " + why); };
  if (json.size() > kMaxCellFileBytes) return refused("is too large for a cell");
  const Result<Read> parsed = parse_strict_json(json, kMaxDepth);
  if (!parsed) return refused(parsed.error().message);
  Cell cell;
  Members members(*parsed);
  Status status = read_list(members, "states", kMaxItems, cell.states, read_state);
  if (status) status = read_list(members, "values", kMaxCellValues, cell.values, read_value);
  if (status) status = read_list(members, "operators", kMaxCellOperators, cell.operators, read_operator);
  if (status) status = members.finish();
  if (!status) return refused(status.error().message);
  return cell;
}

std::string to_json(const Cell& cell) {
  std::vector<Json> states, values, operators;
  for (const StateKind& state : cell.states) {
    Json json = {{"name", state.name}};
    json.update(typed_json(state.dtype, state.shape));
    json["initial"] = real_json(state.initial);
    states.push_back(std::move(json));
  }
  for (const Value& value : cell.values) values.push_back(typed_json(value.dtype, value.shape));
  for (const Operator& op : cell.operators) operators.push_back(operator_json(op));
  std::string text;
  write_list(text, "states", states);
  write_list(text, "values", values);
  write_list(text, "operators", operators);
  return text + "}\n";
}

}  // namespace volvox
