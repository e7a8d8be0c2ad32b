#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "base/error.h"
#include "cells/ir/types.h"

namespace volvox {

// Every key of a table must be read with its type, its bounds and its line, and none may be left over. Reads
// one table; the first error stays until finish(), so that calls need no error handling. Lives while the
// document lives. Private to repository/.
class TomlTable {
 public:
  TomlTable(const toml::table& table, std::string_view file) : table_(table), file_(file) {}

  std::uint32_t line() const { return table_.source().begin.line; }

  // Each leaves `to` as it is when the key is missing, which is an error only for required ones.
  void text(std::string_view key, std::string& to, bool required = false);
  void name(std::string_view key, std::string& to, bool required = false);  // a valid name
  void texts(std::string_view key, std::vector<std::string>& to);
  void flag(std::string_view key, bool& to);
  template <class Integer>
  void integer(std::string_view key, Integer& to, std::int64_t least, std::int64_t most,
               bool required = false) {
    if (const auto value = bounded(key, least, most, required)) to = static_cast<Integer>(*value);
  }
  void real(std::string_view key, double& to, double least, double most);
  void dtype(std::string_view key, std::optional<DType>& to);
  void shape(std::string_view key, std::optional<Shape>& to);
  // The tables of an array of tables ("[[key]]").
  std::vector<const toml::table*> tables(std::string_view key);

  // The first error, or a key that nobody asked for.
  Status finish();

 private:
  const toml::node* find(std::string_view key, bool required);
  std::optional<std::int64_t> bounded(std::string_view key, std::int64_t least, std::int64_t most,
                                      bool required);
  void refuse(const toml::node& node, std::string_view key, const std::string& why);
  void refuse(std::uint32_t line, std::string_view key, const std::string& why);

  const toml::table& table_;
  std::string_view file_;
  std::vector<std::string_view> known_;
  std::optional<std::string> error_;
};

}  // namespace volvox
