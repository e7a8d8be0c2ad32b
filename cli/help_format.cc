#include "cli/help_format.h"

#include <cstddef>
#include <sstream>

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

}  // namespace

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return row(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  return row(command->get_name(), command->get_description());
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0, 0) + '\n';
}

}  // namespace volvox
