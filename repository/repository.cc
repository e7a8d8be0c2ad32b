#include "repository/repository.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "repository/cell_file.h"
#include "repository/digest.h"
#include "repository/mapped_file.h"
#include "repository/model_toml.h"
#include "repository/safetensors.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefinitionFile = "model.toml";
constexpr const char* kWeightsFile = "weights.safetensors";
constexpr std::uintmax_t kMaxDefinitionBytes = 1U << 20;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// A whole number above zero, written in one way only.
std::optional<std::uint32_t> version_from(const std::string& folder) {
  std::uint32_t version = 0;
  const char* end = folder.data() + folder.size();
  const auto [at, error] = std::from_chars(folder.data(), end, version);
  if (error != std::errc{} || at != end || version == 0 || folder.front() == '0') return std::nullopt;
  return version;
}

Result<std::uint32_t> choose_version(const fs::path& model, std::uint32_t wanted) {
  const std::vector<std::uint32_t> versions = list_versions(model);
  if (wanted == 0 && !versions.empty()) return versions.back();
  if (std::binary_search(versions.begin(), versions.end(), wanted)) return wanted;
  const std::string what = wanted == 0 ? "any version" : "version " + std::to_string(wanted);
  return fail(ErrorCode::kModelNotFound,
              model.string() + ": has not " + what + " (<number>/" + kWeightsFile + ")");
}

struct Definition {
  ModelDefinition model;
  std::uint64_t digest = 0;
};

Result<Definition> read_definition(const fs::path& path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const std::span<const std::byte> bytes = (*file)->bytes();
  if (bytes.size() > kMaxDefinitionBytes) return invalid(path.string() + ": is too large for a definition");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<ModelDefinition> model = parse_model_definition(text, path.string());
  if (!model) return tl::unexpected(model.error());
  return Definition{std::move(*model), digest_of(bytes)};
}

// The cells that lie beside the definition.
Status read_cells(const fs::path& folder, Definition& definition) {
  for (CellDefinition& cell : definition.model.cells) {
    if (cell.kind != kFileCell) continue;
    const fs::path path = folder / cell_file_name(cell.name);
    Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    const std::span<const std::byte> bytes = (*file)->bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Result<Cell> read = parse_cell(text, path.string());
    if (!read) return tl::unexpected(read.error());
    cell.given = std::make_shared<const Cell>(std::move(*read));
    definition.digest = digest_of(bytes, definition.digest);
  }
  return {};
}

}  // namespace

std::vector<std::uint32_t> list_versions(const fs::path& model) {
  std::vector<std::uint32_t> versions;
  std::error_code error;
  for (fs::directory_iterator it(model, error), end; !error && it != end; it.increment(error)) {
    const auto version = version_from(it->path().filename().string());
    if (version && is_file(it->path() / kWeightsFile)) versions.push_back(*version);
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

Result<std::vector<RepositoryEntry>> list_models(const fs::path& repository) {
  std::vector<RepositoryEntry> models;
  std::error_code error;
  for (fs::directory_iterator it(repository, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    const std::string name = path.filename().string();
    if (name.starts_with('.') || !is_file(path / kDefinitionFile)) continue;
    models.push_back({path, name, list_versions(path)});
  }
  if (error) return invalid("cannot read the models in '" + repository.string() + "': " + error.message());
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return models;
}

Result<std::shared_ptr<const Model>> load_model(const fs::path& path, const LoadOptions& options) {
  const fs::path file = path / kDefinitionFile;
  if (!is_file(file)) return fail(ErrorCode::kModelNotFound, path.string() + ": holds no model (model.toml)");
  Result<Definition> definition = read_definition(file);
  if (!definition) return tl::unexpected(definition.error());
  if (Status read = read_cells(path, *definition); !read) return tl::unexpected(read.error());
  const Result<std::uint32_t> version = choose_version(path, options.version);
  if (!version) return tl::unexpected(version.error());

  const fs::path weights_file = path / std::to_string(*version) / kWeightsFile;
  Result<std::shared_ptr<const MappedFile>> map = MappedFile::open(weights_file);
  if (!map) return tl::unexpected(map.error());
  Result<Weights> weights = parse_safetensors((*map)->bytes(), *map, weights_file.string());
  if (!weights) return tl::unexpected(weights.error());
  Result<Model> model = assemble(definition->model, std::move(*weights), options, file.string());
  if (!model) return tl::unexpected(model.error());
  model->version = *version;
  model->digest = digest_of((*map)->bytes(), definition->digest);
  return std::make_shared<const Model>(std::move(*model));
}

}  // namespace volvox
