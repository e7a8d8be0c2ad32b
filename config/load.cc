#include "config/load.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "config/fields.h"
#include "config/toml_text.h"
#include "config/validate.h"

namespace volvox {
namespace {

// Reads the fields of one document; remembers where each stood, and the first error.
class TomlReader {
 public:
  TomlReader(const toml::table& root, std::string_view file) : root_(root), file_(file) {}

  void section(std::string_view name) {
    finish_section();
    section_ = name;
    table_ = nullptr;
    sections_.insert(section_);
    const toml::node* node = root_.get(name);
    if (node == nullptr) return;
    table_ = node->as_table();
    if (table_ == nullptr) refuse(node, section_, "must be a section: write [" + section_ + "]");
  }

  void text(std::string_view key, std::string& value) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto* text = node->as_string()) {
      value = text->get();
    } else {
      refuse(node, path(key), "must be a string in quotes");
    }
  }

  void number(std::string_view key, std::uint32_t& value, std::uint32_t least, std::uint32_t most) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto* number = node->as_integer();
    if (number == nullptr) return refuse(node, path(key), "must be a whole number");
    if (number->get() < std::int64_t{least} || number->get() > std::int64_t{most}) {
      return refuse(node, path(key),
                    "must be between " + std::to_string(least) + " and " + std::to_string(most) + ", not " +
                        std::to_string(number->get()));
    }
    value = static_cast<std::uint32_t>(number->get());
  }

  void real(std::string_view key, double& value, double, double) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto number = node->value<double>();
    if (!number || !node->is_number()) return refuse(node, path(key), "must be a number");
    value = *number;
  }

  template <class Table, class Fields>
  void tables(std::string_view name, std::vector<Table>& values, Fields fields) {
    finish_section();
    table_ = nullptr;
    sections_.insert(std::string(name));
    const toml::node* node = root_.get(name);
    if (node == nullptr) return;
    const auto* list = node->as_array();
    if (list == nullptr || !list->is_homogeneous<toml::table>()) {
      return refuse(node, std::string(name), "must be a list of tables: write [[" + std::string(name) + "]]");
    }
    for (const toml::node& element : *list) {
      section_ = table_name(name, values.size());
      table_ = element.as_table();
      fields(values.emplace_back(), *this);
      finish_section();
    }
    table_ = nullptr;
  }

  template <class Enum>
  void choice(std::string_view key, Enum& value) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto& names = ChoiceNames<Enum>::kNames;
    const auto* text = node->as_string();
    const auto* at = text == nullptr ? names.end() : std::find(names.begin(), names.end(), text->get());
    if (at == names.end()) return refuse(node, path(key), "must be one of " + listed(names));
    value = static_cast<Enum>(at - names.begin());
  }

  void flag(std::string_view key, bool& value) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto* boolean = node->as_boolean();
    if (boolean == nullptr) return refuse(node, path(key), "must be true or false");
    value = boolean->get();
  }

  // Whatever was not asked for is unknown.
  Status finish() {
    finish_section();
    for (const auto& [key, node] : root_) {
      if (!sections_.contains(key.str())) {
        refuse(&node, std::string(key.str()), "is unknown; there are " + listed(sections_));
      }
    }
    return error_;
  }

  // An error at the place of `key`; at the file if the key is not in it.
  tl::unexpected<Error> at(const std::string& key, const std::string& message) const {
    const auto line = lines_.find(key);
    const std::string where = line == lines_.end() ? file_ : file_ + ":" + std::to_string(line->second);
    return invalid(where + ": " + key + ": " + message);
  }

 private:
  std::string path(std::string_view key) const { return section_ + "." + std::string(key); }

  const toml::node* find(std::string_view key) {
    known_.insert(std::string(key));
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    if (node != nullptr) lines_[path(key)] = node->source().begin.line;
    return node;
  }

  void finish_section() {
    if (table_ != nullptr) {
      for (const auto& [key, node] : *table_) {
        if (!known_.contains(key.str())) {
          refuse(&node, path(key.str()), "is unknown; [" + section_ + "] has " + listed(known_));
        }
      }
    }
    known_.clear();
  }

  void refuse(const toml::node* node, const std::string& key, const std::string& message) {
    lines_[key] = node->source().begin.line;
    if (error_) error_ = at(key, message);
  }

  const toml::table& root_;
  std::string file_;
  std::string section_;
  const toml::table* table_ = nullptr;
  std::set<std::string, std::less<>> known_, sections_;
  std::map<std::string, std::uint32_t> lines_;
  Status error_;
};

class TomlWriter {
 public:
  void section(std::string_view name) { out_ << (out_.tellp() > 0 ? "\n[" : "[") << name << "]\n"; }
  void text(std::string_view key, const std::string& value) {
    out_ << key << " = " << toml::value<std::string>(value) << "\n";
  }
  void number(std::string_view key, std::uint32_t value, std::uint32_t, std::uint32_t) {
    out_ << key << " = " << value << "\n";
  }
  void real(std::string_view key, double value, double, double) {
    out_ << key << " = " << toml::value<double>(value) << "\n";
  }
  template <class Enum>
  void choice(std::string_view key, Enum value) {
    out_ << key << " = \"" << choice_name(value) << "\"\n";
  }
  void flag(std::string_view key, bool value) { out_ << key << (value ? " = true\n" : " = false\n"); }
  template <class Table, class Fields>
  void tables(std::string_view name, const std::vector<Table>& values, Fields fields) {
    for (const Table& value : values) {
      out_ << "\n[[" << name << "]]\n";
      fields(value, *this);
    }
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

// Checked as `Used`: a server on its own and a member of a cluster have rules that the other has not.
template <class Used>
Result<Used> read(const toml::table& root, std::string_view name) {
  ClusterConfig config;
  TomlReader reader(root, name);
  visit_fields(config, reader);
  visit_cluster(config, reader);
  if (const Status status = reader.finish(); !status) return tl::unexpected(status.error());
  ConfigProblem problem;
  Used& used = config;
  if (find_problem(used, problem)) return reader.at(problem.key, problem.message);
  return std::move(used);
}

template <class Used>
Result<Used> parse(std::string_view toml, std::string_view name) {
  return read_toml(toml, name, [name](const toml::table& root) { return read<Used>(root, name); });
}

template <class Used>
Result<Used> load(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse<Used>(*text, file.string());
}

}  // namespace

const ModelSection& model_section(const ServeConfig& config, std::string_view name) {
  static const ModelSection kDefaults;
  const auto found = std::find_if(config.model.begin(), config.model.end(),
                                  [name](const ModelSection& model) { return model.name == name; });
  return found == config.model.end() ? kDefaults : *found;
}

Result<ServeConfig> parse_config(std::string_view toml, std::string_view name) {
  return parse<ServeConfig>(toml, name);
}

Result<ClusterConfig> parse_cluster_config(std::string_view toml, std::string_view name) {
  return parse<ClusterConfig>(toml, name);
}

Result<ServeConfig> load_config(const std::filesystem::path& file) {
  return load<ServeConfig>(file);
}

Result<ClusterConfig> load_cluster_config(const std::filesystem::path& file) {
  return load<ClusterConfig>(file);
}

Result<std::string> read_text_file(const std::filesystem::path& file) {
  std::error_code ignored;
  std::ifstream stream;
  if (!std::filesystem::is_directory(file, ignored)) stream.open(file, std::ios::binary);
  std::ostringstream text;
  if (stream.is_open()) text << stream.rdbuf();
  if (!stream.is_open() || stream.bad())
    return invalid(file.string() + ": cannot be read; is the path right?");
  return text.str();
}

std::string to_toml(const ServeConfig& config) {
  TomlWriter writer;
  visit_fields(config, writer);
  return writer.text();
}

std::string to_toml(const ClusterConfig& config) {
  TomlWriter writer;
  visit_fields(config, writer);
  visit_cluster(config, writer);
  return writer.text();
}

}  // namespace volvox
