#include "cli/load/load_requests.h"

#include <algorithm>
#include <utility>

#include "cli/option.h"
#include "repository/repository.h"

namespace volvox {
namespace {

constexpr std::uint32_t kMostModels = 64;

Duration milliseconds_of(double ms) {
  return Duration(static_cast<Duration::rep>(ms * 1e6));
}

Result<TreeSource> trees_of(const RequestWords& words, bool binary) {
  const bool sized = words.length > 0 || !words.lengths.empty();
  if (!words.trees.empty() && words.trees != "random") {
    if (sized)
      return invalid("the trees of a file have sizes of their own; leave out --length and --lengths");
    return TreeSource::from_file(words.trees);
  }
  auto leaves = lengths_of(words);
  if (!leaves) return tl::unexpected(leaves.error());
  return TreeSource::random(std::move(*leaves), binary ? 2 : TreeSource::kMostChildren);
}

Result<LatticeSource> lattices_of(const RequestWords& words) {
  if (!words.lattices.empty() && words.lattices != "random") return LatticeSource::from_file(words.lattices);
  auto lengths = lengths_of(words);
  if (!lengths) return tl::unexpected(lengths.error());
  return LatticeSource::random(std::move(*lengths));
}

// Of a model over graphs: the nodes of a tree, each of a cell type that fits, or of a text.
Result<GraphSource> graphs_of(const RequestWords& words, const Model& model) {
  const std::vector<GraphCellType> types = graph_cell_types(model);
  auto trees = trees_of(words, joins_two(types));
  if (!trees) return tl::unexpected(trees.error());
  return GraphSource::make(std::move(*trees), types);
}

Result<SequencesSource> sequences_of(const RequestWords& words, const Model& model) {
  auto lengths = lengths_of(words);
  if (!lengths) return tl::unexpected(lengths.error());
  SequencesSource source{.lengths = std::move(*lengths)};
  std::vector<std::size_t> number(model.sequences.size(), SequencesSource::kOnce);
  for (std::size_t i = 0; i < model.sequences.size(); ++i) {
    if (model.sequences[i].kind != SequenceSpec::Kind::kGiven) continue;
    number[i] = source.names.size();
    source.names.push_back(model.sequences[i].name);
  }
  for (const InputSpec& input : model.inputs) source.of_input.push_back(number[input.sequence]);
  return source;
}

// A sequence for each column of the file. All inputs are of the first: the other one ends by itself, if not
// after so many steps.
Result<SequencesSource> pairs_of(const RequestWords& words) {
  const std::size_t comma = words.sequences.find(',');
  if (comma == std::string::npos || words.sequences.find(',', comma + 1) != std::string::npos)
    return invalid("--sequences takes two names, with a comma between: 'steps,target'");
  if (words.lengths.empty() || !words.trees.empty() || !words.lattices.empty())
    return invalid("--sequences needs --lengths with source<TAB>target a line, and no other shape");
  auto lengths = LengthSource::from_file(words.lengths, LengthColumn::kSource);
  if (!lengths) return tl::unexpected(lengths.error());
  auto partners = LengthSource::from_file(words.lengths, LengthColumn::kTarget);
  if (!partners) return tl::unexpected(partners.error());
  SequencesSource source{.lengths = std::move(*lengths)};
  source.names = {words.sequences.substr(0, comma), words.sequences.substr(comma + 1)};
  source.of_input.assign(1 + static_cast<std::size_t>(std::ranges::count(words.input, ',')), 0);
  source.partners = partners->table();
  if (Status ok = check_pairs(source); !ok) return tl::unexpected(ok.error());
  return source;
}

using Shapes = RequestSource::Shapes;

// What is asked for, or what the model is known to take; `known` may be null.
Result<Shapes> shapes_of(const RequestWords& words, const ModelVerifier* known) {
  const auto either = [](auto&& shapes) { return Shapes(std::forward<decltype(shapes)>(shapes)); };
  if (!words.sequences.empty()) return pairs_of(words).map(either);
  const std::string_view takes = known != nullptr ? known->takes() : std::string_view();
  if (takes == "graph") return graphs_of(words, known->loaded()).map(either);
  const auto refuse = [&](const std::string& option, const std::string& asked, bool fits) -> Status {
    if (asked.empty() || takes.empty() || fits) return {};
    return invalid("model '" + words.model + "' unfolds along a " + std::string(takes) + "; leave out " +
                   option);
  };
  const bool takes_trees = takes.ends_with("tree");
  Status fits = refuse("--trees", words.trees, takes_trees);
  if (fits) fits = refuse("--lattices", words.lattices, takes == "lattice");
  if (!fits) return tl::unexpected(fits.error());
  if (takes == "sequences" || (takes == "chain" && known->loaded().inputs.size() > 1))
    return sequences_of(words, known->loaded()).map(either);
  if (takes == "lattice" || !words.lattices.empty()) return lattices_of(words).map(either);
  if (words.trees.empty() && !takes_trees) return lengths_of(words).map(either);
  return trees_of(words, takes.empty() || takes == "binary tree").map(either);
}

Result<std::unique_ptr<ModelVerifier>> open_verifier(const RequestWords& words, const ModelFolders& folders) {
  const std::string folder = folders.models.empty() ? folders.model : folders.models + "/" + words.model;
  if (folder.empty()) return nullptr;
  auto model = load_model(folder, {.version = words.version, .eager = false});
  if (!model) return tl::unexpected(model.error());
  auto verifier = ModelVerifier::make(std::move(*model));
  if (!verifier) return tl::unexpected(verifier.error());
  if (Status fine = (*verifier)->can_be_loaded(); !fine) return tl::unexpected(fine.error());
  return std::move(*verifier);
}

}  // namespace

void add_request_options(CLI::App& command, RequestWords& words) {
  auto* file = add_option(command, "--lengths FILE", words.lengths,
                          "Lengths from a file: a number a line, or source<TAB>target");
  add_option(command, "--column", words.column, "Which column of --lengths: 'source' or 'target'")
      ->check(CLI::IsMember({"source", "target"}));
  add_option(
      command, "--sequences NAMES", words.sequences,
      "Two of the model's sequences, with a comma: the first is as long as the source column of --lengths "
      "says; the second, which ends by itself, has no more steps than the target column says")
      ->needs(file);
  add_option(command, "--length STEPS", words.length, "Every request has this many steps")
      ->check(CLI::Range(1U, LengthSource::kMaxLength))
      ->excludes(file);
  add_option(command, "--trees FILE", words.trees,
             "Trees from a file: one in brackets a line, labels and words are ignored; or 'random': "
             "binary ones, with as many leaves as there would be steps");
  add_option(command, "--lattices FILE", words.lattices,
             "Lattices from a file: {\"chars\": 5, \"words\": [[0, 2], [3, 5]]} a line; or 'random', with as "
             "many characters as there would be steps");
  add_option(command, "--input NAME", words.input,
             "The model's inputs that take the tokens, with commas; '' if it has none");
  add_option(command, "--vocabulary COUNT", words.vocabulary, "Token ids are below this")
      ->check(CLI::Range(1U, 1U << 31));
  add_option(command, "--deadline-ms MS", words.deadline_ms,
             "Tell the server that each answer is due in this time")
      ->check(CLI::NonNegativeNumber);
  add_option(command, "--priority WORDS", words.priority,
             "'high', 'normal' or 'low', or how often each comes: 'high=1,normal=8,low=1'");
  add_option(command, "--cancel-fraction FRACTION", words.cancel_fraction,
             "Take back so many of the requests")
      ->check(CLI::Range(0.0, 1.0));
  add_option(command, "--cancel-after-ms MS", words.cancel_after_ms, "How long after they were sent")
      ->check(CLI::NonNegativeNumber);
}

Result<LengthSource> lengths_of(const RequestWords& words) {
  if (words.length > 0) return LengthSource::fixed(words.length);
  if (words.lengths.empty()) return LengthSource::built_in();
  const auto column = words.column == "target" ? LengthColumn::kTarget : LengthColumn::kSource;
  return LengthSource::from_file(words.lengths, column);
}

Result<std::unique_ptr<LoadRequests>> LoadRequests::make(std::vector<RequestWords> classes,
                                                         const ModelFolders& folders, std::uint64_t seed,
                                                         const std::string& trace, double speed) {
  auto requests = std::make_unique<LoadRequests>();
  std::vector<RequestClass> made;
  if (classes.size() > kMostModels) return invalid("a load has at most 64 classes of requests");
  for (RequestWords& words : classes) {
    auto one = requests->make_class(std::move(words), folders, seed);
    if (!one) return tl::unexpected(one.error());
    made.push_back(std::move(*one));
  }
  std::shared_ptr<const Trace> entries;
  if (!trace.empty()) {
    std::vector<std::string> models;
    for (const RequestClass& one : made) models.push_back(one.common.model);
    auto read = read_trace(trace, models, speed);
    if (!read) return tl::unexpected(read.error());
    entries = std::make_shared<const Trace>(std::move(*read));
  }
  requests->mix_ = std::make_unique<RequestMix>(seed, std::move(made), std::move(entries));
  return requests;
}

Result<RequestClass> LoadRequests::make_class(RequestWords words, const ModelFolders& folders,
                                              std::uint64_t seed) {
  if (words.model.empty() && folders.model.empty()) return invalid("which model? Name it with --model");
  auto verifier = open_verifier(words, folders);
  if (!verifier) return tl::unexpected(verifier.error());
  std::vector<std::uint32_t> more, row_shape;
  const ModelVerifier* known = verifier->get();
  if (known != nullptr) {
    words.input = known->input();
    const auto vocabulary = [&](std::size_t input) {
      const std::int64_t count = known->vocabulary(input);
      return count > 0 ? static_cast<std::uint32_t>(count) : words.vocabulary;
    };
    words.vocabulary = vocabulary(0);
    for (std::size_t i = 1; i < known->loaded().inputs.size(); ++i) more.push_back(vocabulary(i));
    row_shape = known->row_shape();
    if (words.model.empty()) words.model = known->model();
  }
  auto priorities = parse_priority_mix(words.priority);
  if (!priorities) return tl::unexpected(priorities.error());
  auto shapes = shapes_of(words, known);
  if (!shapes) return tl::unexpected(shapes.error());
  if (known != nullptr) verifiers_.push_back(std::move(*verifier));
  RequestTemplate common{.model = words.model,
                         .model_version = words.version,
                         .input = words.input,
                         .priorities = *priorities,
                         .deadline = milliseconds_of(words.deadline_ms),
                         .cancel_fraction = words.cancel_fraction,
                         .cancel_after = milliseconds_of(words.cancel_after_ms)};
  return RequestClass{
      std::move(common),
      RequestSource(seed, std::move(*shapes), words.vocabulary, std::move(more), std::move(row_shape)),
      words.weight};
}

bool LoadRequests::exact() const {
  for (const auto& verifier : verifiers_) {
    if (!verifier->exact()) return false;
  }
  return true;
}

Result<std::string> LoadRequests::check(const RequestContent& content, const ReplyBody& answer) {
  return verifiers_.at(content.of_class)->check(content, answer);
}

}  // namespace volvox
