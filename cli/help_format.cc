#include "cli/help_format.h"

#include <cstddef>
#include <set>
#include <sstream>

#include "base/text.h"

namespace volvox {
namespace {

constexpr std::size_t kColumns = 80, kMargin = 2, kTextAt = 30;

// `text` word by word, from column `at` on, where the line stands at column `now`.
std::string wrapped(const std::string& text, std::size_t now, std::size_t at) {
  std::string out;
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && now + 1 + word.size() > kColumns) {
      out += '\n' + std::string(at, ' ');
      now = at;
    } else if (!first) {
      out += ' ';
      ++now;
    }
    out += word;
    now += word.size();
  }
  return out;
}

std::string row(const std::string& name, const std::string& text) {
  std::string out(kMargin, ' ');
  out += wrapped(name, kMargin, kMargin + kMargin);
  const bool beside = kMargin + name.size() + 1 < kTextAt;
  out += beside ? std::string(kTextAt - kMargin - name.size(), ' ') : '\n' + std::string(kTextAt, ' ');
  return out + wrapped(text, kTextAt, kTextAt) + '\n';
}

// What the value is called: the words of a list to choose from, or the option's own word for it.
std::string value_name(const CLI::Option& option) {
  const std::string all = option.get_type_name();  // "WORD:what a check says of itself:…"
  const auto from = all.find('{'), to = all.find('}');
  if (from != std::string::npos && to != std::string::npos) return all.substr(from, to + 1 - from);
  return all.substr(0, all.find(':'));
}

std::string names_of(const std::set<CLI::Option*>& options) {
  return " " + listed(options, [](const CLI::Option* option) { return option->get_name(); });
}

}  // namespace

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_type_size() != 0) {
    const std::string value = value_name(*option);
    if (!value.empty()) text += " " + value;
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
  }
  if (!option->get_needs().empty()) text += "; needs" + names_of(option->get_needs());
  if (!option->get_excludes().empty()) text += "; not with" + names_of(option->get_excludes());
  return text;
}

std::string HelpFormat::make_footer(const CLI::App* app) const {
  return app->get_footer();
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return row(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  return row(command->get_name(), command->get_description());
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0, 0) + '\n';
}

std::string help_rows(std::string_view heading,
                      std::span<const std::pair<std::string_view, std::string_view>> rows) {
  std::string text(heading);
  text += '\n';
  for (const auto& [name, help] : rows) text += row(std::string(name), std::string(help));
  return text;
}

}  // namespace volvox
