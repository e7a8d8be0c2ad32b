#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cells/unfold/unfolding.h"
#include "cli/admin/admin.h"
#include "cli/commands.h"
#include "cli/help_format.h"
#include "cli/option.h"
#include "repository/model_writer.h"
#include "repository/repository.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

struct ModelsArguments {
  NewModel model;
  NewSizes sizes;
  std::string kind;  // of a new model
  std::string repository = "models";
  std::vector<std::string> folders;
  std::string name, admin = kAutoAdmin;
  std::string listed_server;  // its admin socket; empty: the repository is listed
  std::uint32_t version = 0;
};

int report(const Status& status) {
  if (status) return 0;
  std::fprintf(stderr, "volvox models: %s\n", to_string(status.error()).c_str());
  return 1;
}

int report_written(const NewModel& model, const Status& status) {
  if (status) std::printf("wrote %s\n", model.path.c_str());
  return report(status);
}

std::string join(const std::vector<std::uint32_t>& versions) {
  std::string text;
  for (const std::uint32_t version : versions)
    text.append(text.empty() ? "" : ",").append(std::to_string(version));
  return text.empty() ? "none" : text;
}

std::string mib(double bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f MiB", bytes / (1 << 20));
  return text.data();
}

int list_served(const ModelsArguments& arguments) {
  const auto answer = ask_admin(arguments.listed_server, {{"command", "models.list"}});
  if (!answer) return report(tl::unexpected(answer.error()));
  std::printf("%-28s %-8s %-9s %-17s %-11s %s\n", "model", "version", "state", "digest", "states", "folded");
  for (const auto& model : answer->at("models")) {
    std::printf("%-28s %-8u %-9s %-17s %-11s %s\n", model.value("name", "").c_str(),
                model.value("version", 0U), model.value("state", "").c_str(),
                model.value("digest", "").c_str(), mib(model.value("state_bytes", 0.0)).c_str(),
                mib(model.value("folded_bytes", 0.0)).c_str());
  }
  return 0;
}

int change(const ModelsArguments& arguments, const char* command) {
  const auto answer = ask_admin(
      arguments.admin, {{"command", command}, {"model", arguments.name}, {"version", arguments.version}});
  if (!answer) return report(tl::unexpected(answer.error()));
  const std::string version = arguments.version == 0 ? "" : " version " + std::to_string(arguments.version);
  std::printf("%sed %s%s\n", std::strrchr(command, '.') + 1, arguments.name.c_str(), version.c_str());
  return 0;
}

int list(const ModelsArguments& arguments) {
  if (!arguments.listed_server.empty()) return list_served(arguments);
  const auto entries = list_models(arguments.repository);
  if (!entries) return report(tl::unexpected(entries.error()));
  std::printf("%-32s %-12s %s\n", "model", "versions", "folder");
  for (const RepositoryEntry& entry : *entries) {
    std::printf("%-32s %-12s %s\n", entry.name.c_str(), join(entry.versions).c_str(), entry.path.c_str());
  }
  return 0;
}

void print_model(const Model& model, const fs::path& folder) {
  std::printf("%s: good. %s version %u, digest %016llx\n", folder.c_str(), model.name.c_str(), model.version,
              static_cast<unsigned long long>(model.digest));
  for (const CellTypeSpec& type : model.types) {
    std::printf("  cell %s: at most %u rows a task\n", type.name.c_str(), type.max_batch);
  }
  const std::string each(model.unfolding->row_name());
  for (const SequenceSpec& sequence : model.sequences) {
    if (sequence.min_length > 1)
      std::printf("  requests of %u to %u %ss\n", sequence.min_length, sequence.max_length, each.c_str());
  }
  for (const InputSpec& input : model.inputs) {
    std::printf("  input %s: %s %s a %s", input.name.c_str(), std::string(to_string(input.dtype)).c_str(),
                to_string(input.shape).c_str(), each.c_str());
    if (input.vocabulary > 0) std::printf(", below %lld", static_cast<long long>(input.vocabulary));
    std::printf("\n");
  }
  for (const OutputSpec& output : model.outputs) {
    std::string rows = output.every ? "for each " + each : std::string(model.unfolding->last_row_name());
    if (output.path) rows += ", along the best path";
    if (output.fewer > 0) rows += " but the last " + std::to_string(output.fewer);
    std::printf("  output %s: %s %s %s\n", output.name.c_str(), std::string(to_string(output.dtype)).c_str(),
                to_string(output.path ? Shape{} : output.shape).c_str(), rows.c_str());
  }
}

// What is allowed, and hardly meant.
void print_warnings(const Model& model) {
  for (const auto& [name, tensor] : model.weights.all()) {
    if (tensor.dtype != DType::kF32) continue;
    const std::span<const float> values(tensor.f32(), tensor.bytes.size() / sizeof(float));
    const auto odd =
        std::count_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    if (odd == 0) continue;
    std::printf("  warning: %lld of %zu values of the weight %s are infinite or no numbers\n",
                static_cast<long long>(odd), values.size(), name.c_str());
  }
}

// Of a repository all its models.
std::vector<std::string> models_in(const std::vector<std::string>& folders) {
  std::vector<std::string> models;
  for (const std::string& folder : folders) {
    const auto entries = fs::exists(fs::path(folder) / "model.toml") ? Result<std::vector<RepositoryEntry>>()
                                                                     : list_models(folder);
    if (!entries || entries->empty()) {
      models.push_back(folder);  // a model, or the error says what is missing
    } else {
      for (const RepositoryEntry& entry : *entries) models.push_back(entry.path.string());
    }
  }
  return models;
}

// Loads every version as a server would.
int check_models(const ModelsArguments& arguments) {
  int failures = 0;
  for (const std::string& folder : models_in(arguments.folders)) {
    auto versions = list_versions(folder);
    if (versions.empty()) versions.push_back(0);  // the error then says what is missing
    for (const std::uint32_t version : versions) {
      LoadOptions options;
      options.version = version;
      const auto model = load_model(folder, options);
      if (model) {
        print_model(**model, folder);
        print_warnings(**model);
      } else {
        failures += report(tl::unexpected(model.error()));
      }
    }
  }
  return failures == 0 ? 0 : 1;
}

using Arguments = std::shared_ptr<ModelsArguments>;

void when_chosen(CLI::App* command, CommandBody& run, const Arguments& arguments,
                 const std::function<int(const ModelsArguments&)>& body) {
  command->callback([arguments, &run, body] { run = [arguments, body] { return body(*arguments); }; });
}

// Every kind, a line each.
std::string kinds_help() {
  std::vector<std::pair<std::string_view, std::string_view>> rows;
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) rows.emplace_back(kind.name, kind.says);
  }
  return help_rows("Kinds:", rows);
}

// The options that only some kinds have.
struct SizeOptions {
  std::vector<std::pair<CLI::Option*, ModelKind::Size>> sizes;
  CLI::Option* layers = nullptr;
  CLI::Option* every = nullptr;
};

// What was said and the kind does not have would be silently ignored.
Status check_options(const ModelsArguments& arguments, const SizeOptions& options) {
  const ModelKind* kind = find_model_kind(arguments.kind);
  if (kind == nullptr) return {};  // the writer says which there are
  const auto refuse = [&](const CLI::Option* option) {
    return invalid("a " + arguments.kind + " has no " + option->get_name());
  };
  for (const auto& [option, size] : options.sizes) {
    if (option->count() > 0 && (kind->sizes & size) == 0) return refuse(option);
  }
  if (options.layers->count() > 0 && kind->most_layers == 0) return refuse(options.layers);
  if (options.every->count() > 0 && !kind->may_push_every) return refuse(options.every);
  return {};
}

void add_new(CLI::App& models, CommandBody& run, const Arguments& arguments) {
  CLI::App* command = models.add_subcommand("new", "Writes a model of some kind with random weights");
  NewModel& model = arguments->model;
  NewSizes& sizes = arguments->sizes;
  add_option(*command, "kind KIND", arguments->kind, "What kind of model: see below")->required();
  add_option(*command, "folder FOLDER", model.path, "The folder to write: REPOSITORY/NAME")->required();
  add_option(*command, "--name NAME", model.name, "The model's name, if it is not the folder's");
  add_option(*command, "--max-batch ROWS", model.max_batch, "Rows of one task at most; 0 for the default");
  command->add_flag("--overwrite", model.overwrite, "Replace what is there");
  SizeOptions options;
  options.every = command->add_flag("--every-step", model.every_step,
                                    "The output has a row for every step or node, not only the last one's");
  const auto add = [&](const char* text, auto& value, const char* help, ModelKind::Size size) {
    options.sizes.emplace_back(add_option(*command, text, value, help), size);
  };
  add("--hidden WIDTH", sizes.hidden, "Width of its states", ModelKind::kHidden);
  add("--input WIDTH", sizes.input,
      "Width of its embedding, or of what it reads; 0: the kind's own, mostly as --hidden",
      ModelKind::kHidden);
  add("--vocabulary COUNT", sizes.vocabulary, "Number of token ids", ModelKind::kVocabulary);
  add("--steps COUNT", sizes.steps, "Tokens of an answer at most", ModelKind::kSteps);
  add("--labels COUNT", sizes.labels, "Labels that it chooses among", ModelKind::kLabels);
  add("--seed SEED", sizes.seed, "The same seed gives the same weights", ModelKind::kHidden);
  options.layers = add_option(*command, "--layers COUNT", sizes.layers,
                              "Layers above each other; 0 for the kind's own number");
  command->footer(kinds_help());
  when_chosen(command, run, arguments, [options](const ModelsArguments& chosen) {
    Status status = check_options(chosen, options);
    if (status) status = write_new_model(chosen.model, chosen.kind, chosen.sizes);
    return report_written(chosen.model, status);
  });
}

void add_change(CLI::App& models, CommandBody& run, const Arguments& arguments, const char* name,
                const char* help, const char* version_help) {
  CLI::App* command = models.add_subcommand(name, help);
  add_option(*command, "model NAME", arguments->name, "The model's name")->required();
  add_option(*command, "--version VERSION", arguments->version, version_help);
  add_option(*command, "--admin SOCKET", arguments->admin,
             "The server's admin socket; auto: of the one on port 7100");
  const std::string asked = std::string("models.") + name;
  when_chosen(command, run, arguments,
              [asked](const ModelsArguments& chosen) { return change(chosen, asked.c_str()); });
}

void add_changes(CLI::App& models, CommandBody& run, const Arguments& arguments) {
  add_change(models, run, arguments, "load", "Loads a version into a running server",
             "Which; the newest in the server's repository if not given");
  add_change(models, run, arguments, "unload",
             "Takes a version out of a running server, when its requests have ended",
             "Which; all that are loaded if not given");
  add_change(models, run, arguments, "reload",
             "Makes a version the only one that a running server serves, without a gap",
             "Which; the newest in the server's repository if not given");
}

}  // namespace

void add_models_command(CLI::App& app, CommandBody& run) {
  const auto arguments = std::make_shared<ModelsArguments>();
  CLI::App* models =
      app.add_subcommand("models", "Writes, lists and checks models, and changes what a server serves");
  models->require_subcommand(1);
  add_new(*models, run, arguments);
  CLI::App* lister = models->add_subcommand("list", "Lists the models of a repository");
  add_option(*lister, "repository FOLDER", arguments->repository, "The repository's folder");
  add_option(*lister, "--admin SOCKET", arguments->listed_server,
             "Lists what the server with this admin socket has loaded instead");
  when_chosen(lister, run, arguments, list);
  add_changes(*models, run, arguments);
  CLI::App* checker =
      models->add_subcommand("check", "Loads models as a server would, and says what is wrong");
  add_option(*checker, "folders FOLDER", arguments->folders,
             "Models: REPOSITORY/NAME; or repositories: all of their models")
      ->required();
  when_chosen(checker, run, arguments, check_models);
}

}  // namespace volvox
