#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/option.h"
#include "import/onnx/import_onnx.h"

namespace volvox {
namespace {

struct ImportArguments {
  OnnxImport import;
  std::string name, repository = "models";
  std::vector<std::string> constants, shapes, windows, states, sequences;
  bool no_states = false, operators = false;
};

// "name=value"; of states "name:value", since names have both.
std::optional<std::pair<std::string, std::string>> parted(const std::string& text, char at) {
  const std::size_t middle = text.rfind(at);
  if (middle == std::string::npos || middle == 0 || middle + 1 == text.size()) return std::nullopt;
  return std::pair(text.substr(0, middle), text.substr(middle + 1));
}

// "1,576"; nothing if it is no list of numbers.
std::optional<std::vector<double>> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const char* at = text.c_str();; ++at) {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at || (*end != ',' && *end != '\0')) return std::nullopt;
    at = end;
    if (*at == '\0') return numbers;
  }
}

// "576/512"
std::optional<OnnxImport::Window> window_of(const std::string& text) {
  OnnxImport::Window window;
  const char *at = text.data(), *const end = at + text.size();
  for (std::int64_t* number : {&window.samples, &window.hop}) {
    const auto [behind, error] = std::from_chars(at, end, *number);
    if (error != std::errc{} || *number < 1 || *number > (std::int64_t{1} << 24)) return std::nullopt;
    at = behind;
    const bool last = number == &window.hop;
    if (last ? at != end : at == end || *at++ != '/') return std::nullopt;
  }
  return window;
}

constexpr const char* kShapeForm = "INPUT=EXTENT,… with whole extents of 1 to 65536";

int wrong(const std::string& option, const std::string& text, const char* form) {
  std::fprintf(stderr, "volvox import: %s %s: is not %s\n", option.c_str(), text.c_str(), form);
  return 2;
}

int read_arguments(ImportArguments& arguments) {
  for (const std::string& text : arguments.constants) {
    const auto pair = parted(text, '=');
    const auto numbers = pair ? numbers_of(pair->second) : std::nullopt;
    if (!numbers) return wrong("--set", text, "INPUT=NUMBER,…");
    arguments.import.constants[pair->first] = *numbers;
  }
  for (const std::string& text : arguments.shapes) {
    const auto pair = parted(text, '=');
    const auto numbers = pair ? numbers_of(pair->second) : std::nullopt;
    if (!numbers) return wrong("--shape", text, kShapeForm);
    Shape& shape = arguments.import.shapes[pair->first];
    shape.clear();
    for (const double extent : *numbers) {
      if (!(extent >= 1 && extent <= 65536) || extent != std::floor(extent))
        return wrong("--shape", text, kShapeForm);
      shape.push_back(static_cast<std::int64_t>(extent));
    }
  }
  for (const std::string& text : arguments.windows) {
    const auto pair = parted(text, '=');
    const auto window = pair ? window_of(pair->second) : std::nullopt;
    if (!window) return wrong("--window", text, "INPUT=SAMPLES/NEW, whole numbers of 1 to 16777216");
    arguments.import.windows[pair->first] = *window;
  }
  for (const std::string& text : arguments.states) {
    const auto pair = parted(text, ':');
    if (!pair) return wrong("--state", text, "INPUT:OUTPUT");
    arguments.import.states.push_back(*pair);
  }
  for (const std::string& text : arguments.sequences) {
    const auto pair = parted(text, '=');
    const auto numbers = pair ? numbers_of(pair->second) : std::nullopt;
    const bool fits = !pair || (numbers && numbers->size() == 1 && (*numbers)[0] >= 0 && (*numbers)[0] < 8 &&
                                (*numbers)[0] == std::floor((*numbers)[0]));
    if (!fits) return wrong("--sequence", text, "INPUT or INPUT=AXIS with an axis of 0 to 7");
    auto& axis = arguments.import.sequences[pair ? pair->first : text];
    if (pair) axis = static_cast<std::size_t>((*numbers)[0]);
  }
  return 0;
}

int run(ImportArguments& arguments) {
  if (arguments.operators) {
    std::printf("| operator | takes |\n|---|---|\n%s", onnx_operator_table().c_str());
    return 0;
  }
  if (const int refused = read_arguments(arguments); refused != 0) return refused;
  OnnxImport& import = arguments.import;
  if (import.file.empty()) {
    std::fprintf(stderr, "volvox import: which file?\n");
    return 2;
  }
  import.find_states = !arguments.no_states;
  const std::string name = arguments.name.empty() ? import.file.stem().string() : arguments.name;
  import.model.path = std::filesystem::path(arguments.repository) / name;
  const auto done = import_onnx(import);
  if (!done) {
    std::fprintf(stderr, "volvox import: %s\n", to_string(done.error()).c_str());
    return 1;
  }
  std::printf("%swrote %s\n", done->c_str(), import.model.path.c_str());
  return 0;
}

}  // namespace

void add_import_command(CLI::App& app, CommandBody& body) {
  const auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = app.add_subcommand("import", "Makes a model of an ONNX file");
  add_option(*command, "file FILE", arguments->import.file, "The ONNX file, with all of its weights inside");
  add_option(*command, "--as NAME", arguments->name, "The model's name, if it is not the file's");
  add_option(*command, "--into FOLDER", arguments->repository, "The repository that it is written into");
  add_option(*command, "--set INPUT=NUMBER", arguments->constants, "An input that is the same for everybody");
  add_option(*command, "--shape INPUT=EXTENTS", arguments->shapes,
             "The whole shape of an input that the file leaves open, with 1 for the batch");
  add_option(*command, "--window INPUT=SAMPLES/NEW", arguments->windows,
             "An input that overlaps, as 576/512: clients send the new samples of each step alone");
  add_option(
      *command, "--state INPUT:OUTPUT", arguments->states,
      "INPUT:OUTPUT, an input that is this output of the step before; those whose names or shapes tell "
      "are found");
  command->add_flag("--no-states", arguments->no_states,
                    "Take no other states than those given with --state");
  add_option(
      *command, "--sequence INPUT", arguments->sequences,
      "INPUT or INPUT=AXIS, whose steps along an axis are a sequence of any length; an axis that is open "
      "and along which recurrent layers go is found");
  add_option(*command, "--output NAME", arguments->import.outputs, "An output to keep, instead of all");
  for (const char* option : {"--set", "--shape", "--window", "--state", "--sequence", "--output"})
    command->get_option(option)->allow_extra_args(false);
  add_option(*command, "--max-batch ROWS", arguments->import.model.max_batch,
             "Rows of one task at most; 0 for the default");
  add_option(*command, "--max-length STEPS", arguments->import.max_length,
             "Steps of a request at most, for which memory is kept; 0 for as many as can be");
  command->add_flag("--overwrite", arguments->import.model.overwrite, "Replace what is there");
  command->add_flag("--operators", arguments->operators,
                    "Print the table of operators that are read, and do no more");
  command->callback([arguments, &body] { body = [arguments] { return run(*arguments); }; });
}

}  // namespace volvox
