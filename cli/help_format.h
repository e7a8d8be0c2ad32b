#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

namespace volvox {

// How all subcommands' help is laid out: 80 columns, with what an option does beside or below its name,
// its value by the word that add_option() was given or by the words to choose from, and its default.
class HelpFormat final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
};

// A heading and rows, laid out as those of options are: for a command's footer.
std::string help_rows(std::string_view heading,
                      std::span<const std::pair<std::string_view, std::string_view>> rows);

}  // namespace volvox
