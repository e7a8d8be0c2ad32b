#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace volvox {

// What add_option() is told of an option: "--json FILE" is the names and what the help calls the value.
struct OptionWords {
  explicit OptionWords(std::string_view words)
      : names(words.substr(0, words.find(' '))),
        value(words.substr(std::min(names.size() + 1, words.size()))) {}

  std::string names, value;
};

// Adds an option to `command`. `words` are its names, and then, after a space, what its help calls the value
// and the unit of it: "--json FILE", "--wait SECONDS"; nothing where a check lists the words to choose from.
// The help shows what `value` holds now as the default, unless that is empty or 0, which means "not given".
template <class Value>
CLI::Option* add_option(CLI::App& command, std::string_view words, Value& value, const std::string& help) {
  const OptionWords said(words);
  CLI::Option* option = command.add_option(said.names, value, help);
  option->type_name(said.value);
  if (value != Value{}) option->capture_default_str();
  return option;
}

}  // namespace volvox
