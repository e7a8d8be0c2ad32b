#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace volvox {

// How all subcommands' help is laid out: 80 columns, with what an option does beside or below its name.
class HelpFormat final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;
};

}  // namespace volvox
