#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace volvox {

// Adds an option to `command`. `words` are its names, and then, after a space, what its help calls the value
// and the unit of it: "--json FILE", "--wait SECONDS"; nothing where a check lists the words to choose from.
// The help shows what `value` holds now as the default, unless that is empty or 0, which means "not given".
template <class Value>
CLI::Option* add_option(CLI::App& command, std::string_view words, Value& value, const std::string& help) {
  const auto names = words.substr(0, words.find(' '));
  CLI::Option* option = command.add_option(std::string(names), value, help);
  option->type_name(names.size() < words.size() ? std::string(words.substr(names.size() + 1)) : "");
  if (value != Value{}) option->capture_default_str();
  return option;
}

}  // namespace volvox
