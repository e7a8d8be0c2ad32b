#include "repository/toml_table.h"

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "cells/model/model_definition.h"

namespace volvox {
namespace {

// Of one row: 64 MiB of f32, more than a request can carry. What is computed from it then fits in 64 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 24;

std::optional<DType> dtype_from(std::string_view name) {
  for (DType dtype : {DType::kF32, DType::kI32, DType::kU64}) {
    if (to_string(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace

void TomlTable::refuse(std::uint32_t line, std::string_view key, const std::string& why) {
  if (error_) return;
  error_ = std::string(file_);
  *error_ += ':';
  *error_ += std::to_string(line);
  *error_ += ": ";
  *error_ += key;
  *error_ += ": ";
  *error_ += why;
}

void TomlTable::refuse(const toml::node& node, std::string_view key, const std::string& why) {
  refuse(node.source().begin.line, key, why);
}

const toml::node* TomlTable::find(std::string_view key, bool required) {
  known_.push_back(key);
  const toml::node* node = table_.get(key);
  if (node == nullptr && required) refuse(line(), key, "is missing");
  return node;
}

void TomlTable::text(std::string_view key, std::string& to, bool required) {
  const toml::node* node = find(key, required);
  if (node == nullptr) return;
  if (const auto value = node->value_exact<std::string>()) {
    to = *value;
  } else {
    refuse(*node, key, "must be a string");
  }
}

void TomlTable::name(std::string_view key, std::string& to, bool required) {
  text(key, to, required);
  const toml::node* node = table_.get(key);
  if (node != nullptr && node->is_string() && !is_valid_name(to)) {
    refuse(*node, key,
           in_quotes(to) +
               " is no name: 1 to 64 letters, digits, '_', '-' and '.', the first a letter or digit");
  }
}

void TomlTable::texts(std::string_view key, std::vector<std::string>& to) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return refuse(*node, key, "must be a list of strings");
  for (const toml::node& item : *array) {
    const auto value = item.value_exact<std::string>();
    if (!value) return refuse(item, key, "must be a list of strings");
    to.push_back(*value);
  }
}

void TomlTable::flag(std::string_view key, bool& to) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return;
  if (const auto value = node->value_exact<bool>()) {
    to = *value;
  } else {
    refuse(*node, key, "must be true or false");
  }
}

std::optional<std::int64_t> TomlTable::bounded(std::string_view key, std::int64_t least, std::int64_t most,
                                               bool required) {
  const toml::node* node = find(key, required);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= least && *value <= most) return value;
  refuse(*node, key, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

void TomlTable::real(std::string_view key, double& to, double least, double most) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return;
  const auto value = node->value<double>();
  if (node->is_number() && value && *value >= least && *value <= most) {
    to = *value;
  } else {
    std::ostringstream bounds;
    bounds << least << " to " << most;
    refuse(*node, key, "must be a number from " + bounds.str());
  }
}

void TomlTable::dtype(std::string_view key, std::optional<DType>& to) {
  std::string name;
  text(key, name);
  if (name.empty()) return;
  to = dtype_from(name);
  if (!to) refuse(*table_.get(key), key, in_quotes(name) + " is no type: f32, i32 or u64");
}

void TomlTable::shape(std::string_view key, std::optional<Shape>& to) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->size() > 4) return refuse(*node, key, "must be a list of at most 4 extents");
  Shape shape;
  std::int64_t elements = 1;
  for (const toml::node& item : *array) {
    const auto extent = item.value_exact<std::int64_t>();
    if (!extent || *extent < 1 || *extent > kMaxElements)
      return refuse(item, key, "has an extent that is not in 1 to " + std::to_string(kMaxElements));
    elements *= *extent;
    if (elements > kMaxElements)
      return refuse(item, key, "has more than " + std::to_string(kMaxElements) + " elements");
    shape.push_back(*extent);
  }
  to = std::move(shape);
}

std::vector<const toml::table*> TomlTable::tables(std::string_view key) {
  std::vector<const toml::table*> result;
  const toml::node* node = find(key, false);
  if (node == nullptr) return result;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    refuse(*node, key, "must be written [[" + std::string(key) + "]]");
    return result;
  }
  for (const toml::node& item : *array) {
    if (!item.is_table()) refuse(item, key, "must be a table");
    if (item.is_table()) result.push_back(item.as_table());
  }
  return result;
}

Status TomlTable::finish() {
  for (const auto& [key, node] : table_) {
    const bool known = std::find(known_.begin(), known_.end(), key.str()) != known_.end();
    if (known) continue;
    refuse(key.source().begin.line, key.str(), "is unknown; there are " + listed(known_));
  }
  if (error_) return invalid(*error_);
  return {};
}

}  // namespace volvox
