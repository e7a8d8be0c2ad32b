#include "cli/json_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "protocol/codec/structure_check.h"
#include "shapes/trees.h"

namespace volvox {
namespace {

using nlohmann::json;

// Calls `visit` with a value of the C++ type behind `type`. False for types that JSON has no numbers for.
template <class Visit>
bool with_type(WireType type, Visit visit) {
  switch (type) {
    case WireType::kF32:
      visit(float{});
      return true;
    case WireType::kF64:
      visit(double{});
      return true;
    case WireType::kI8:
      visit(std::int8_t{});
      return true;
    case WireType::kI16:
      visit(std::int16_t{});
      return true;
    case WireType::kI32:
      visit(std::int32_t{});
      return true;
    case WireType::kI64:
      visit(std::int64_t{});
      return true;
    case WireType::kU8:
      visit(std::uint8_t{});
      return true;
    case WireType::kU16:
      visit(std::uint16_t{});
      return true;
    case WireType::kU32:
      visit(std::uint32_t{});
      return true;
    case WireType::kU64:
      visit(std::uint64_t{});
      return true;
    default:
      return false;
  }
}

template <class T>
bool fits(const json& number) {
  if (!number.is_number()) return false;
  if constexpr (std::is_floating_point_v<T>) return true;
  if (number.is_number_unsigned()) {
    return number.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  }
  if (!number.is_number_integer()) return false;
  const auto value = number.get<std::int64_t>();  // negative, or it would be unsigned
  return std::is_signed_v<T> && value >= static_cast<std::int64_t>(std::numeric_limits<T>::min());
}

template <class T>
Status append_numbers(const json& data, const std::string& name, const std::string& type,
                      std::vector<std::byte>& bytes) {
  bytes.resize(data.size() * sizeof(T));
  std::size_t at = 0;
  for (const json& number : data) {
    if (!fits<T>(number)) {
      return invalid("input '" + name + "': " + number.dump() + " at " + std::to_string(at) + " is no " +
                     type);
    }
    const T value = number.get<T>();
    std::memcpy(bytes.data() + at++ * sizeof(T), &value, sizeof(T));
  }
  return {};
}

Result<WireShape> shape_from(const json& tensor, const std::string& name, std::size_t elements) {
  WireShape shape;
  if (!tensor.contains("shape")) {
    shape.append(static_cast<std::int64_t>(elements));
    return shape;
  }
  if (!tensor["shape"].is_array()) return invalid("input '" + name + "': \"shape\" must be a list");
  for (const json& dim : tensor["shape"]) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > (1ULL << 40) ||
        !shape.append(dim.get<std::int64_t>())) {
      return invalid("input '" + name + "': \"shape\" must hold at most eight sizes");
    }
  }
  return shape;
}

Status check_keys(const json& object, std::span<const std::string_view> known, const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return invalid(where + "unknown key \"" + key + "\"; there are " + listed(known));
  }
  return {};
}

Status add_input(const std::string& name, const json& tensor, OwnedRequest& owned) {
  const std::string where = "input '" + name + "': ";
  if (!tensor.is_object() || !tensor.contains("data") || !tensor["data"].is_array()) {
    return invalid(where + "must be {\"data\": [numbers]}, with \"type\" and \"shape\" if needed");
  }
  constexpr std::array<std::string_view, 3> kKeys{"data", "shape", "type"};
  if (auto ok = check_keys(tensor, kKeys, where); !ok) return ok;
  const json type_name = tensor.value("type", json("i32"));
  const auto type = type_name.is_string() ? wire_type_from(type_name.get<std::string>()) : std::nullopt;
  if (!type) return invalid(where + type_name.dump() + " is no type; use f32, i32, u64 and so on");
  std::vector<std::byte>& bytes = owned.tensors.emplace_back();
  Status filled;
  const bool supported = with_type(*type, [&](auto zero) {
    filled = append_numbers<decltype(zero)>(tensor["data"], name, std::string(to_string(*type)), bytes);
  });
  if (!supported) return invalid(where + "numbers of this type cannot be written here");
  if (!filled) return filled;
  const auto shape = shape_from(tensor, name, tensor["data"].size());
  if (!shape) return tl::unexpected(shape.error());
  WireTensor wire;
  wire.name = owned.names.emplace_back(name);
  wire.type = *type;
  wire.shape = *shape;
  wire.bytes = bytes;
  owned.request.body.inputs.push_back(wire);
  return {};
}

Status add_inputs(const json& request, OwnedRequest& owned) {
  if (request.contains("tokens")) {
    if (auto ok = add_input("tokens", {{"data", request["tokens"]}}, owned); !ok) return ok;
  }
  if (!request.contains("inputs")) return {};
  if (!request["inputs"].is_object()) return invalid("\"inputs\" must be an object of tensors by name");
  for (const auto& [name, tensor] : request["inputs"].items()) {
    if (auto ok = add_input(name, tensor, owned); !ok) return ok;
  }
  return {};
}

// ---- Text ----

Status add_ids(const std::string& name, std::span<const std::int32_t> ids, OwnedRequest& owned) {
  const auto bytes = std::as_bytes(ids);
  auto& kept = owned.tensors.emplace_back(bytes.begin(), bytes.end());
  WireTensor tensor = wire_tensor(owned.names.emplace_back(name), ids);
  tensor.bytes = kept;
  owned.request.body.inputs.push_back(tensor);
  return {};
}

std::span<const std::int32_t> keep(std::vector<std::int32_t> ints, OwnedRequest& owned) {
  return owned.ints.emplace_back(std::move(ints));
}

Status add_text(const json& request, const Vocabulary& vocabulary, OwnedRequest& owned) {
  if (!request["text"].is_string()) return invalid("\"text\" must be a text");
  const auto text = request["text"].get<std::string>();
  const auto ids = vocabulary.ids(words_of(text));
  if (!ids) return tl::unexpected(ids.error());
  return add_ids("tokens", *ids, owned);
}

Status add_tree(const json& request, const Vocabulary& vocabulary, OwnedRequest& owned) {
  if (!request["tree"].is_string()) return invalid("\"tree\" must be a text: (3 (2 It) (4 works))");
  const auto text = request["tree"].get<std::string>();
  auto tree = parse_word_tree(text);
  if (!tree) return invalid("\"tree\": " + tree.error().message);
  std::vector<bool> inner(tree->parents.size(), false);
  for (const std::int32_t parent : tree->parents) {
    if (parent >= 0) inner[static_cast<std::size_t>(parent)] = true;
  }
  std::vector<std::int32_t> ids;
  for (std::size_t node = 0; node < inner.size(); ++node) {
    const auto id = vocabulary.id(tree->words[node]);
    if (!id && !inner[node]) return tl::unexpected(id.error());
    ids.push_back(id.value_or(0));
  }
  owned.request.header.cells_hint = static_cast<std::uint32_t>(ids.size());
  owned.request.body.structure = TreeStructure{keep(std::move(tree->parents), owned)};
  return add_ids("tokens", ids, owned);
}

// Characters of a lattice, as ids and, where they are given so, as text.
struct LatticeText {
  std::string text;
  std::vector<std::string_view> characters;
  std::vector<std::int32_t> ids;
};

Status read_characters(const json& lattice, const Vocabulary& vocabulary, LatticeText& read) {
  const json& given = lattice["characters"];
  if (given.is_string()) {
    read.text = given.get<std::string>();
    auto characters = characters_of(read.text);
    if (!characters) return tl::unexpected(characters.error());
    read.characters = std::move(*characters);
    auto ids = vocabulary.ids(read.characters);
    if (!ids) return tl::unexpected(ids.error());
    read.ids = std::move(*ids);
    return {};
  }
  if (!given.is_array()) return invalid("\"characters\" of a lattice must be ids or a text");
  for (const json& id : given) {
    if (!fits<std::int32_t>(id)) return invalid("\"characters\": " + id.dump() + " is no i32");
    read.ids.push_back(id.get<std::int32_t>());
  }
  return {};
}

// The id that is given, or that of the characters from the first to the end.
Result<std::int32_t> word_id(const json& word, const Vocabulary& vocabulary, const LatticeText& read) {
  if (word.size() == 3) return word[2].get<std::int32_t>();
  const auto first = word[0].get<std::int32_t>(), end = word[1].get<std::int32_t>();
  if (first < 0 || end <= first || static_cast<std::size_t>(end) > read.characters.size())
    return invalid("\"words\": " + word.dump() + " has no id, and is no part of a text");
  std::string text;
  for (std::int32_t at = first; at < end; ++at) text += read.characters[static_cast<std::size_t>(at)];
  return vocabulary.id(text);
}

Status add_lattice(const json& request, const Vocabulary& vocabulary, OwnedRequest& owned) {
  const json& lattice = request["lattice"];
  if (!lattice.is_object() || !lattice.contains("characters") || !lattice.contains("words") ||
      !lattice["words"].is_array())
    return invalid("\"lattice\" must be {\"characters\": [ids] or a text, \"words\": [[first, end, id]]}");
  LatticeText read;
  if (Status ok = read_characters(lattice, vocabulary, read); !ok) return ok;
  std::vector<std::int32_t> starts, ends, ids;
  for (const json& word : lattice["words"]) {
    const bool whole =
        word.is_array() && (word.size() == 2 || word.size() == 3) &&
        std::all_of(word.begin(), word.end(), [](const json& one) { return fits<std::int32_t>(one); });
    if (!whole) return invalid("\"words\": " + word.dump() + " is not [first, end, id]");
    const auto id = word_id(word, vocabulary, read);
    if (!id) return tl::unexpected(id.error());
    starts.push_back(word[0].get<std::int32_t>());
    ends.push_back(word[1].get<std::int32_t>());
    ids.push_back(*id);
  }
  owned.request.header.cells_hint = static_cast<std::uint32_t>(read.ids.size() + ids.size());
  owned.request.body.structure =
      LatticeStructure{static_cast<std::uint32_t>(read.ids.size()), keep(std::move(starts), owned),
                       keep(std::move(ends), owned)};
  if (Status ok = add_ids("characters", read.ids, owned); !ok) return ok;
  return add_ids("words", ids, owned);
}

// What the request is made of: one of these, or tokens, inputs, or neither.
using Adder = Status (*)(const json&, const Vocabulary&, OwnedRequest&);
constexpr std::array<std::pair<std::string_view, Adder>, 3> kTexts{
    {{"text", add_text}, {"tree", add_tree}, {"lattice", add_lattice}}};

Status add_texts(const json& request, const Vocabulary& vocabulary, OwnedRequest& owned) {
  for (const auto& [key, add] : kTexts) {
    if (!request.contains(key)) continue;
    for (const std::string_view other :
         {"tokens", "inputs", "text", "tree", "lattice", "structure", "length"}) {
      if (other != key && request.contains(other) && !(key == "text" && other == "structure"))
        return invalid("give \"" + std::string(key) + "\" or \"" + std::string(other) + "\", not both");
    }
    return add(request, vocabulary, owned);
  }
  return {};
}

// A whole number of at most `most`, or `absent` if the key is not there.
Result<std::uint64_t> whole_number(const json& request, const char* key, std::uint64_t most,
                                   std::uint64_t absent) {
  if (!request.contains(key)) return absent;
  const json& value = request[key];
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    return invalid(std::string("\"").append(key) + "\" must be a whole number of at most " +
                   std::to_string(most));
  }
  return value.get<std::uint64_t>();
}

Status add_written_structure(const json& request, OwnedRequest& owned) {
  if (request.contains("length")) return invalid("give \"length\" or \"structure\", not both");
  const WireLimits limits;
  auto structure = read_v2_structure_alone(request["structure"].dump(), limits);
  if (!structure) return tl::unexpected(structure.error());
  owned.structure = std::move(*structure);
  owned.request.body.structure = owned.structure.structure;
  owned.request.header.cells_hint = nodes_in(owned.structure.structure);
  return check_structure(owned.structure.structure, limits);
}

Status add_structure(const json& request, OwnedRequest& owned) {
  if (request.contains("tree") || request.contains("lattice"))
    return check_structure(owned.request.body.structure, {});
  if (request.contains("structure")) return add_written_structure(request, owned);
  std::uint64_t steps = 0;
  if (!owned.request.body.inputs.empty()) {
    const WireShape& shape = owned.request.body.inputs.front().shape;
    steps = shape.rank() > 0 ? static_cast<std::uint64_t>(shape[0]) : 1;
  } else if (!request.contains("length")) {
    return invalid("give \"tokens\", \"inputs\" or \"length\"");
  }
  const auto length = whole_number(request, "length", std::numeric_limits<std::uint32_t>::max(), steps);
  if (!length) return tl::unexpected(length.error());
  if (*length > std::numeric_limits<std::uint32_t>::max()) return invalid("the input has too many rows");
  owned.request.body.structure = ChainStructure{static_cast<std::uint32_t>(*length)};
  owned.request.header.cells_hint = static_cast<std::uint32_t>(*length);
  return {};
}

Status add_outputs(const json& request, OwnedRequest& owned) {
  if (!request.contains("outputs")) return {};
  if (!request["outputs"].is_array()) return invalid("\"outputs\" must be a list of names");
  for (const json& name : request["outputs"]) {
    if (!name.is_string()) return invalid("\"outputs\" must be a list of names");
    owned.request.body.outputs.push_back(owned.names.emplace_back(name.get<std::string>()));
  }
  return {};
}

Status add_header(const json& request, OwnedRequest& owned) {
  RequestHeader& header = owned.request.header;
  if (!request.contains("model") || !request["model"].is_string()) return invalid("\"model\" must be a name");
  header.model = request["model"].get<std::string>();
  const auto version = whole_number(request, "version", std::numeric_limits<std::uint32_t>::max(), 0);
  if (!version) return tl::unexpected(version.error());
  header.model_version = static_cast<std::uint32_t>(*version);
  const auto deadline_ms = whole_number(request, "deadline_ms", 1ULL << 40, 0);
  if (!deadline_ms) return tl::unexpected(deadline_ms.error());
  header.deadline_us = *deadline_ms * 1000;
  const json priority = request.value("priority", json("normal"));
  for (const WirePriority value : {WirePriority::kNormal, WirePriority::kHigh, WirePriority::kLow}) {
    if (priority != std::string(to_string(value))) continue;
    header.priority = value;
    return {};
  }
  return invalid("\"priority\" must be \"high\", \"normal\" or \"low\"");
}

// The double with the fewest digits that is this float again; json would print those of a double.
double in_few_digits(float value) {
  std::array<char, 32> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  double read = value;
  std::from_chars(text.data(), written.ptr, read);
  return read;
}

json tensor_to_json(const WireTensor& tensor) {
  json data = json::array();
  with_type(tensor.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at + sizeof(T) <= tensor.bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof(T));
      if constexpr (std::is_same_v<T, float>) {
        data.push_back(in_few_digits(value));
      } else {
        data.push_back(value);
      }
    }
  });
  json shape = json::array();
  for (const std::int64_t dim : tensor.shape.dims()) shape.push_back(dim);
  return {{"type", std::string(to_string(tensor.type))}, {"shape", shape}, {"data", data}};
}

}  // namespace

Result<OwnedRequest> request_from_json(const json& request) {
  return request_from_json(request, Vocabulary::of_numbers());
}

Result<OwnedRequest> request_from_json(const json& request, const Vocabulary& vocabulary) {
  if (!request.is_object())
    return invalid("a request is a JSON object: {\"model\": \"lstm\", \"tokens\": [1, 2]}");
  OwnedRequest owned;
  std::vector<std::string_view> keys;
  for (const auto& [key, help] : kRequestKeys) keys.push_back(key);
  Status ok = check_keys(request, keys, "");
  if (ok) ok = add_header(request, owned);
  if (ok) ok = add_texts(request, vocabulary, owned);
  for (const auto step : {add_inputs, add_structure, add_outputs}) {
    if (ok) ok = step(request, owned);
  }
  if (!ok) return tl::unexpected(ok.error());
  return owned;
}

std::string in_lines(const json& value) {
  const auto write = [](const auto& self, const json& part, std::size_t indent, std::string& out) -> void {
    const auto is_short = [](const json& one) { return !one.is_structured(); };
    if (!part.is_structured() || part.empty() ||
        (part.is_array() && std::all_of(part.begin(), part.end(), is_short))) {
      out += part.dump(-1, ' ', false, json::error_handler_t::replace);
      return;
    }
    out += part.is_array() ? "[" : "{";
    const char* between = "";
    for (const auto& [key, item] : part.items()) {
      out.append(between).append("\n").append(indent + 2, ' ');
      if (part.is_object()) {
        out += json(key).dump(-1, ' ', false, json::error_handler_t::replace) + ": ";
      }
      self(self, item, indent + 2, out);
      between = ",";
    }
    out.append("\n").append(indent, ' ').append(part.is_array() ? "]" : "}");
  };
  std::string out;
  write(write, value, 0, out);
  return out;
}

json error_to_json(const Error& error) {
  return {{"error", {{"code", std::string(to_string(error.code))}, {"message", error.message}}}};
}

json reply_to_json(const Reply& reply) {
  if (const Status ok = reply.status(); !ok) {
    json report = error_to_json(ok.error());
    if (reply.header.retry_after_us > 0) {
      report["error"]["retry_after_ms"] = static_cast<double>(reply.header.retry_after_us) * 1e-3;
    }
    return report;
  }
  json report;
  report["outputs"] = json::object();
  for (const WireTensor& tensor : reply.body.outputs) {
    report["outputs"][std::string(tensor.name)] = tensor_to_json(tensor);
  }
  const WireTimings& timings = reply.header.timings;
  report["timings_ms"] = {{"queue", static_cast<double>(timings.queue_us) / 1000},
                          {"compute", static_cast<double>(timings.compute_us) / 1000},
                          {"total", static_cast<double>(timings.total_us) / 1000}};
  report["cells"] = reply.header.cells;
  report["server"] = reply.header.server;
  return report;
}

}  // namespace volvox
