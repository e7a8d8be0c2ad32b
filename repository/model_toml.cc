#include "repository/model_toml.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

#include <toml++/toml.h>

#include "base/text.h"
#include "repository/toml_table.h"

namespace volvox {
namespace {

constexpr std::int64_t kMaxWidth = 65536;
constexpr std::int64_t kMaxRows = 65536;
constexpr double kLeastTemperature = 1e-3;
constexpr std::int64_t kMaxBeams = 64;
constexpr double kMostPenalty = 10;
constexpr std::int64_t kMaxSymbols = 16;
constexpr std::int64_t kMaxWindow = std::int64_t{1} << 24;
constexpr std::int64_t kMaxLength = std::int64_t{1} << 24;

template <class T>
using Read = Result<T>;

Read<CellDefinition> read_cell(TomlTable table) {
  CellDefinition cell{.line = table.line()};
  table.name("name", cell.name, true);
  table.text("kind", cell.kind, true);
  table.integer("input", cell.input, 1, kMaxWidth);
  table.integer("hidden", cell.hidden, 1, kMaxWidth);
  table.integer("start", cell.start, 0, std::numeric_limits<std::int32_t>::max());
  table.integer("top_k", cell.top_k, 1, kMaxWidth);
  table.real("temperature", cell.temperature, kLeastTemperature, 1 / kLeastTemperature);
  table.integer("beams", cell.beams, 1, kMaxBeams);
  table.real("length_penalty", cell.length_penalty, 0, kMostPenalty);
  table.integer("end", cell.end, 0, std::numeric_limits<std::int32_t>::max());
  table.integer("symbols", cell.symbols, 1, kMaxSymbols);
  table.integer("priority", cell.priority, -1000, 1000);
  table.integer("min_batch", cell.min_batch, 1, kMaxRows);
  table.integer("max_batch", cell.max_batch, 1, kMaxRows);
  table.integer("max_edges", cell.max_edges, 1, std::int64_t{1} << 24);
  if (Status status = table.finish(); !status) return tl::unexpected(status.error());
  return cell;
}

Read<LaneDefinition> read_lane(TomlTable table) {
  LaneDefinition lane{.line = table.line()};
  table.name("name", lane.name);
  table.text("cell", lane.cell, true);
  table.texts("from", lane.from);
  table.text("initial", lane.initial);
  table.text("over", lane.over);
  table.flag("reverse", lane.reverse);
  table.texts("pull", lane.pull);
  table.texts("push", lane.push);
  if (Status status = table.finish(); !status) return tl::unexpected(status.error());
  return lane;
}

Read<SequenceDefinition> read_sequence(TomlTable table) {
  SequenceDefinition sequence{.line = table.line()};
  table.name("name", sequence.name, true);
  table.integer("max_length", sequence.max_length, 1, kMaxLength);
  table.text("until", sequence.until);
  table.integer("equals", sequence.equals, std::numeric_limits<std::int32_t>::min(),
                std::numeric_limits<std::int32_t>::max(), !sequence.until.empty());
  table.flag("once", sequence.once);
  if (Status status = table.finish(); !status) return tl::unexpected(status.error());
  return sequence;
}

Read<InputDefinition> read_input(TomlTable table) {
  InputDefinition input{.line = table.line()};
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  table.name("name", input.name, true);
  table.dtype("dtype", dtype);
  table.shape("shape", shape);
  table.text("sequence", input.sequence);
  table.integer("vocabulary", input.vocabulary, 0, std::numeric_limits<std::int32_t>::max());
  table.integer("window", input.window, 2, kMaxWindow);
  table.integer("hop", input.hop, 1, kMaxWindow);
  if (Status status = table.finish(); !status) return tl::unexpected(status.error());
  input.dtype = dtype.value_or(DType::kI32);
  input.shape = shape.value_or(Shape{});
  return input;
}

Read<OutputDefinition> read_output(TomlTable table) {
  OutputDefinition output{.line = table.line()};
  table.name("name", output.name, true);
  table.dtype("dtype", output.dtype);
  table.shape("shape", output.shape);
  table.flag("every", output.every);
  table.flag("path", output.path);
  table.integer("fewer", output.fewer, 0, kMaxLength);
  if (Status status = table.finish(); !status) return tl::unexpected(status.error());
  return output;
}

template <class T, class Reader>
Status read_all(TomlTable& root, std::string_view key, std::string_view file, std::vector<T>& to,
                Reader read) {
  for (const toml::table* table : root.tables(key)) {
    Read<T> item = read(TomlTable(*table, file));
    if (!item) return tl::unexpected(item.error());
    to.push_back(std::move(*item));
  }
  return {};
}

Result<ModelDefinition> read_model(const toml::table& document, std::string_view file) {
  ModelDefinition model;
  TomlTable root(document, file);
  root.name("name", model.name, true);
  root.text("unfolding", model.unfolding);
  root.integer("min_length", model.min_length, 1, kMaxLength);
  root.integer("max_length", model.max_length, 1, kMaxLength);
  Status status = read_all(root, "cell", file, model.cells, read_cell);
  if (status) status = read_all(root, "lane", file, model.lanes, read_lane);
  if (status) status = read_all(root, "sequence", file, model.sequences, read_sequence);
  if (status) status = read_all(root, "input", file, model.inputs, read_input);
  if (status) status = read_all(root, "output", file, model.outputs, read_output);
  if (status) status = root.finish();
  if (!status) return tl::unexpected(status.error());
  return model;
}

std::string quoted_toml(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

void write_texts(std::ostream& out, const char* key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out << key << " = [";
  for (std::size_t i = 0; i < texts.size(); ++i) out << (i > 0 ? ", " : "") << quoted_toml(texts[i]);
  out << "]\n";
}

void write_cell(std::ostream& out, const CellDefinition& cell) {
  out << "\n[[cell]]\nname = " << quoted_toml(cell.name) << "\nkind = " << quoted_toml(cell.kind) << '\n';
  if (cell.input > 0) out << "input = " << cell.input << '\n';
  if (cell.hidden > 0) out << "hidden = " << cell.hidden << '\n';
  if (cell.start > 0) out << "start = " << cell.start << '\n';
  if (cell.top_k > 1) out << "top_k = " << cell.top_k << '\n';
  if (cell.temperature != 1) out << "temperature = " << toml::value<double>(cell.temperature) << '\n';
  if (cell.beams != CellDefinition().beams) out << "beams = " << cell.beams << '\n';
  if (cell.length_penalty != 0)
    out << "length_penalty = " << toml::value<double>(cell.length_penalty) << '\n';
  if (cell.end > 0) out << "end = " << cell.end << '\n';
  if (cell.symbols != CellDefinition().symbols) out << "symbols = " << cell.symbols << '\n';
  out << "priority = " << cell.priority << "\nmin_batch = " << cell.min_batch
      << "\nmax_batch = " << cell.max_batch << "\nmax_edges = " << cell.max_edges << '\n';
}

void write_text(std::ostream& out, const char* key, const std::string& text) {
  if (!text.empty()) out << key << " = " << quoted_toml(text) << '\n';
}

void write_lane(std::ostream& out, const LaneDefinition& lane) {
  out << "\n[[lane]]\n";
  write_text(out, "name", lane.name);
  write_text(out, "cell", lane.cell);
  write_texts(out, "from", lane.from);
  write_text(out, "initial", lane.initial);
  write_text(out, "over", lane.over);
  if (lane.reverse) out << "reverse = true\n";
  write_texts(out, "pull", lane.pull);
  write_texts(out, "push", lane.push);
}

void write_sequence(std::ostream& out, const SequenceDefinition& sequence) {
  out << "\n[[sequence]]\nname = " << quoted_toml(sequence.name) << '\n';
  if (sequence.max_length > 0) out << "max_length = " << sequence.max_length << '\n';
  if (sequence.once) out << "once = true\n";
  if (sequence.until.empty()) return;
  write_text(out, "until", sequence.until);
  out << "equals = " << sequence.equals << '\n';
}

void write_output(std::ostream& out, const OutputDefinition& output) {
  out << "\n[[output]]\nname = " << quoted_toml(output.name) << '\n';
  if (output.dtype) out << "dtype = \"" << to_string(*output.dtype) << "\"\n";
  if (output.shape) out << "shape = " << to_string(*output.shape) << '\n';
  out << "every = " << (output.every ? "true" : "false") << '\n';
  if (output.path) out << "path = true\n";
  if (output.fewer > 0) out << "fewer = " << output.fewer << '\n';
}

}  // namespace

Result<ModelDefinition> parse_model_definition(std::string_view toml, std::string_view file) {
  try {
    return read_model(toml::parse(toml, file), file);
  } catch (const toml::parse_error& error) {
    std::string message(file);
    message += ':';
    message += std::to_string(error.source().begin.line);
    message += ": ";
    message += error.description();
    return invalid(message);
  }
}

std::string to_toml(const ModelDefinition& model) {
  std::ostringstream out;
  out << "name = " << quoted_toml(model.name) << "\nunfolding = " << quoted_toml(model.unfolding) << '\n';
  if (model.min_length > 1) out << "min_length = " << model.min_length << '\n';
  out << "max_length = " << model.max_length << '\n';
  for (const CellDefinition& cell : model.cells) write_cell(out, cell);
  for (const LaneDefinition& lane : model.lanes) write_lane(out, lane);
  for (const SequenceDefinition& sequence : model.sequences) write_sequence(out, sequence);
  for (const InputDefinition& input : model.inputs) {
    out << "\n[[input]]\nname = " << quoted_toml(input.name) << "\ndtype = \"" << to_string(input.dtype)
        << "\"\nshape = " << to_string(input.shape) << "\nvocabulary = " << input.vocabulary << '\n';
    write_text(out, "sequence", input.sequence);
    if (input.window > 0) out << "window = " << input.window << "\nhop = " << input.hop << '\n';
  }
  for (const OutputDefinition& output : model.outputs) write_output(out, output);
  return out.str();
}

}  // namespace volvox
