#include "protocol/v2/structure_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/text.h"

namespace volvox {
namespace {

using nlohmann::json;

enum class Kind : std::uint8_t { kChain, kTree, kLattice, kGraph, kSequences };
enum class Form : std::uint8_t { kNumber, kList, kNames };

struct Field {
  Kind kind;
  std::string_view name;
  Form form;
};

constexpr std::array<std::pair<std::string_view, Kind>, 5> kKinds{{{"chain", Kind::kChain},
                                                                   {"tree", Kind::kTree},
                                                                   {"lattice", Kind::kLattice},
                                                                   {"graph", Kind::kGraph},
                                                                   {"sequences", Kind::kSequences}}};
constexpr std::string_view kThereAre = "chain, sequences, tree, lattice and graph";
constexpr std::array<Field, 11> kFields{{{Kind::kChain, "length", Form::kNumber},
                                         {Kind::kTree, "parents", Form::kList},
                                         {Kind::kLattice, "length", Form::kNumber},
                                         {Kind::kLattice, "starts", Form::kList},
                                         {Kind::kLattice, "ends", Form::kList},
                                         {Kind::kGraph, "cellTypes", Form::kNames},
                                         {Kind::kGraph, "typeOf", Form::kList},
                                         {Kind::kGraph, "predecessorOffsets", Form::kList},
                                         {Kind::kGraph, "predecessors", Form::kList},
                                         {Kind::kSequences, "names", Form::kNames},
                                         {Kind::kSequences, "lengths", Form::kList}}};

std::string in_quotes(std::string_view text) {
  return std::string("\"").append(cleaned_text(text, 64)).append("\"");
}

// Takes the parser's events; each says whether to go on.
class StructureReader final : public nlohmann::json_sax<json> {
 public:
  StructureReader(const WireLimits& limits, bool whole_text)
      : limits_(limits), next_(whole_text), whole_text_(whole_text) {}

  const std::optional<Error>& error() const { return error_; }
  // The structure as a text that is still to be read; nothing: it was an object.
  const std::optional<std::string>& text() const { return text_; }

  Result<V2Structure> take() {
    if (!kind_) return invalid("parameter 'structure' is missing");
    for (const Field& field : kFields) {
      if (kind_ != field.kind || values_[index_of(field)].seen) continue;
      return invalid(where() + "\"" + std::string(field.name) + "\" is missing");
    }
    V2Structure taken;
    taken.structure = assemble(taken);
    return taken;
  }

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("true or false"); }
  bool number_float(double, const std::string&) override { return scalar("a fraction"); }
  bool binary(json::binary_t&) override { return true; }
  bool number_integer(std::int64_t value) override { return number(value); }
  bool number_unsigned(std::uint64_t value) override {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return number(static_cast<std::int64_t>(std::min(value, kMost)));
  }

  bool string(std::string& value) override {
    if (next_ && !whole_text_) {
      next_ = false;
      text_ = value;
      return true;
    }
    if (level_ != Level::kList || kFields[field_].form != Form::kNames) return scalar("a text");
    if (names_.size() >= limits_.max_tensors) return too_long("max_tensors");
    names_.push_back(value);
    return true;
  }

  bool start_object(std::size_t) override {
    if (next_) {
      next_ = false;
      level_ = Level::kStructure;
      return true;
    }
    if (level_ == Level::kStructure) {
      level_ = Level::kFields;
      return true;
    }
    if (level_ != Level::kOutside) return scalar("an object");
    ++depth_;
    return true;
  }

  bool end_object() override {
    if (level_ == Level::kFields) {
      level_ = Level::kStructure;
    } else if (level_ == Level::kStructure) {
      level_ = Level::kOutside;
      if (!kind_) return refuse("is empty; give one of " + std::string(kThereAre));
    } else {
      --depth_;
    }
    return true;
  }

  bool key(std::string& name) override {
    switch (level_) {
      case Level::kStructure:
        return choose_kind(name);
      case Level::kFields:
        return choose_field(name);
      default:
        break;
    }
    if (depth_ == 1) in_parameters_ = name == "parameters";
    next_ = depth_ == 2 && in_parameters_ && name == "structure";
    if (next_ && (kind_ || text_)) return refuse("is given twice");
    return true;
  }

  bool start_array(std::size_t) override {
    if (level_ == Level::kFields && kFields[field_].form != Form::kNumber) {
      level_ = Level::kList;
      return true;
    }
    if (next_ || level_ != Level::kOutside) return scalar("a list");
    ++depth_;
    return true;
  }

  bool end_array() override {
    if (level_ == Level::kList) {
      level_ = Level::kFields;
    } else {
      --depth_;
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return refuse("is a text that is no JSON");
  }

 private:
  enum class Level : std::uint8_t { kOutside, kStructure, kFields, kList };
  struct Value {
    bool seen = false;
    std::uint32_t number = 0;
    std::vector<std::int32_t> list;
  };

  static std::size_t index_of(const Field& field) {
    return static_cast<std::size_t>(&field - kFields.data());
  }

  std::string where() const {
    std::string text = "parameter 'structure': ";
    for (const auto& [name, kind] : kKinds) {
      if (kind_ == kind) text.append(name).append(": ");
    }
    return text;
  }
  bool refuse(const std::string& what) {
    error_ = Error{ErrorCode::kInvalidArgument, where() + what};
    return false;
  }
  bool too_long(const char* limit) {
    return refuse(in_quotes(kFields[field_].name) + " has more entries than wire." + limit + " allows");
  }

  bool choose_kind(const std::string& name) {
    const auto* found =
        std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& kind) { return kind.first == name; });
    if (found == kKinds.end())
      return refuse(in_quotes(name) + " is none; there are " + std::string(kThereAre));
    if (kind_) return refuse("give one of " + std::string(kThereAre) + ", once");
    kind_ = found->second;
    return true;
  }

  bool choose_field(const std::string& name) {
    const auto* found = std::find_if(kFields.begin(), kFields.end(), [&](const Field& field) {
      return field.kind == kind_ && field.name == name;
    });
    if (found == kFields.end()) return refuse(in_quotes(name) + " is no field of it");
    field_ = index_of(*found);
    if (std::exchange(values_[field_].seen, true)) return refuse(in_quotes(name) + " is given twice");
    return true;
  }

  bool number(std::int64_t value) {
    const Form form = kFields[field_].form;
    if (level_ == Level::kFields && form == Form::kNumber) {
      if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) return no_number(value);
      values_[field_].number = static_cast<std::uint32_t>(value);
      return true;
    }
    if (level_ != Level::kList || form != Form::kList) return scalar("a number");
    std::vector<std::int32_t>& list = values_[field_].list;
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
      return no_number(value);
    if (list.size() > std::max(limits_.max_nodes, limits_.max_edges)) return too_long("max_edges");
    list.push_back(static_cast<std::int32_t>(value));
    return true;
  }

  bool no_number(std::int64_t value) {
    return refuse(std::to_string(value) + " in " + in_quotes(kFields[field_].name) + " is out of range");
  }

  // A value that is not what should stand there. Outside of the structure anything may.
  bool scalar(const char* what) {
    if (next_) return refuse(std::string("must be an object, not ") + what);
    switch (level_) {
      case Level::kOutside:
        return true;
      case Level::kStructure:
        return refuse(std::string("must hold objects, not ") + what);
      default:
        break;
    }
    constexpr std::array<const char*, 3> kForms{"a whole number", "a list of whole numbers",
                                                "a list of texts"};
    return refuse(in_quotes(kFields[field_].name) + " must be " +
                  kForms[static_cast<std::size_t>(kFields[field_].form)] + "; there is " + what);
  }

  // Hands the lists over; views of them stay good.
  Structure assemble(V2Structure& taken) {
    const auto number = [&](std::size_t field) { return values_[field].number; };
    const auto list = [&](std::size_t field) {
      return std::span<const std::int32_t>(taken.lists.emplace_back(std::move(values_[field].list)));
    };
    switch (*kind_) {
      case Kind::kChain:
        return ChainStructure{number(0)};
      case Kind::kTree:
        return TreeStructure{list(1)};
      case Kind::kLattice:
        return LatticeStructure{number(2), list(3), list(4)};
      case Kind::kGraph:
      case Kind::kSequences:
        break;
    }
    taken.names = std::move(names_);
    if (kind_ == Kind::kSequences) {
      SequencesStructure sequences;
      sequences.names.assign(taken.names.begin(), taken.names.end());
      sequences.lengths = list(10);
      return sequences;
    }
    GraphStructure graph;
    graph.cell_types.assign(taken.names.begin(), taken.names.end());
    graph.type_of = list(6);
    graph.offsets = list(7);
    graph.predecessors = list(8);
    return graph;
  }

  const WireLimits& limits_;
  std::optional<Error> error_;
  std::optional<std::string> text_;
  std::size_t depth_ = 0;  // open containers outside of the structure
  bool in_parameters_ = false;
  bool next_;  // the value that comes is the structure
  const bool whole_text_;
  Level level_ = Level::kOutside;
  std::optional<Kind> kind_;
  std::size_t field_ = 0;
  std::array<Value, kFields.size()> values_{};
  std::deque<std::string> names_;
};

Result<V2Structure> read_structure(std::string_view text, const WireLimits& limits, bool whole_text) {
  StructureReader reader(limits, whole_text);
  const bool parsed = json::sax_parse(text, &reader);
  if (reader.error()) return tl::unexpected(*reader.error());
  if (!parsed) return invalid("parameter 'structure' is no JSON");
  if (reader.text()) return read_structure(*reader.text(), limits, true);
  return reader.take();
}

}  // namespace

Result<V2Structure> read_v2_structure(std::string_view text, const WireLimits& limits) {
  return read_structure(text, limits, false);
}

Result<V2Structure> read_v2_structure_alone(std::string_view text, const WireLimits& limits) {
  return read_structure(text, limits, true);
}

}  // namespace volvox
