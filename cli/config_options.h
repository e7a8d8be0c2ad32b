#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/option.h"
#include "config/cluster.h"
#include "config/fields.h"

namespace volvox {

// What a command line changes of the configuration, in its order.
using ConfigChanges = std::vector<std::function<void(ClusterConfig&)>>;

// Options that each change one field of the configuration; their help shows its default. `words` are an
// option's name and what its help calls the value, as in cli/option.h.
class ConfigOptions {
 public:
  ConfigOptions(CLI::App& command, std::shared_ptr<ConfigChanges> changes)
      : command_(command), changes_(std::move(changes)) {}

  template <class Config, class Section, class Value>
  void value(std::string_view words, const char* help, Section Config::*section, Value Section::*field) {
    const OptionWords said(words);
    CLI::Option* made = command_.add_option_function<Value>(
        said.names,
        [changes = changes_, section, field](const Value& value) {
          changes->push_back([=](ClusterConfig& config) { config.*section.*field = value; });
        },
        help);
    made->type_name(said.value);
    std::ostringstream text;
    text << ClusterConfig().*section.*field;
    if (!text.str().empty()) made->default_str(text.str());
  }

  // One of a few words.
  template <class Config, class Section, class Enum>
  void choice(const char* option, const char* help, Section Config::*section, Enum Section::*field) {
    const std::vector<std::string> names(ChoiceNames<Enum>::kNames.begin(), ChoiceNames<Enum>::kNames.end());
    command_
        .add_option_function<std::string>(
            option,
            [changes = changes_, section, field, names](const std::string& name) {
              const auto value =
                  static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
              changes->push_back([=](ClusterConfig& config) { config.*section.*field = value; });
            },
            help)
        ->check(CLI::IsMember(names))
        ->type_name("")
        ->default_str(names[static_cast<std::size_t>(ClusterConfig().*section.*field)]);
  }

  void flag(const char* option, const char* help, const std::function<void(ClusterConfig&)>& change) {
    command_.add_flag_callback(
        option, [changes = changes_, change] { changes->push_back(change); }, help);
  }

 private:
  CLI::App& command_;
  std::shared_ptr<ConfigChanges> changes_;
};

}  // namespace volvox
