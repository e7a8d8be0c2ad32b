#include "shapes/lattices.h"

#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

namespace volvox {
namespace {

constexpr std::uint32_t kLongestRandomWord = 4;

bool is_lattice(const LatticeShape& lattice) {
  if (lattice.length == 0 || lattice.length > LengthSource::kMaxLength) return false;
  const auto length = static_cast<std::int32_t>(lattice.length);
  if (lattice.starts.size() != lattice.ends.size()) return false;
  for (std::size_t i = 0; i < lattice.starts.size(); ++i) {
    if (lattice.starts[i] < 0 || lattice.ends[i] > length || lattice.starts[i] >= lattice.ends[i] - 1)
      return false;
  }
  return true;
}

}  // namespace

Result<LatticeShape> parse_lattice(std::string_view line) {
  using nlohmann::json;
  const json parsed = json::parse(line, nullptr, false);
  const auto is_count = [](const json& number, std::uint64_t most) {
    return number.is_number_unsigned() && number.get<std::uint64_t>() <= most;
  };
  const bool whole = parsed.is_object() && parsed.contains("chars") && parsed.contains("words") &&
                     is_count(parsed["chars"], LengthSource::kMaxLength) && parsed["words"].is_array() &&
                     parsed["words"].size() <= LengthSource::kMaxLength;
  if (!whole || parsed["chars"] == 0)
    return invalid("expected a lattice like {\"chars\": 5, \"words\": [[0, 2], [3, 5]]}");
  LatticeShape lattice{.length = parsed["chars"].get<std::uint32_t>()};
  for (const json& word : parsed["words"]) {
    if (!word.is_array() || word.size() != 2 || !is_count(word[0], lattice.length) ||
        !is_count(word[1], lattice.length) || word[1].get<std::uint32_t>() < word[0].get<std::uint32_t>() + 2)
      return invalid(word.dump() + " is no word of two or more of " + std::to_string(lattice.length) +
                     " characters, [first, one behind the last]");
    lattice.starts.push_back(word[0].get<std::int32_t>());
    lattice.ends.push_back(word[1].get<std::int32_t>());
  }
  return lattice;
}

Result<LatticeSource> LatticeSource::from_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return invalid("cannot read the lattices in '" + path + "'; check the path");
  std::vector<LatticeShape> lattices;
  std::string line;
  while (std::getline(file, line)) {
    auto lattice = parse_lattice(line);
    if (!lattice)
      return invalid(path + ":" + std::to_string(lattices.size() + 1) + ": " + lattice.error().message);
    lattices.push_back(std::move(*lattice));
  }
  if (lattices.empty()) return invalid("'" + path + "' holds no lattices");
  std::string description = "lattices " + path + " (" + std::to_string(lattices.size()) + " lines)";
  return LatticeSource(std::move(lattices), LengthSource::fixed(1), std::move(description));
}

Result<LatticeSource> LatticeSource::from_table(std::vector<LatticeShape> lattices, LengthSource lengths,
                                                std::string description) {
  if (!std::ranges::all_of(lattices, is_lattice))
    return invalid("a lattice has characters, and words over two or more of them");
  return LatticeSource(std::move(lattices), std::move(lengths), std::move(description));
}

LatticeSource LatticeSource::random(LengthSource lengths) {
  std::string description = "random lattices, characters " + lengths.description();
  return {{}, std::move(lengths), std::move(description)};
}

LatticeShape LatticeSource::draw(SeededRandom& random) const {
  if (!lattices_.empty()) return lattices_[random.below(lattices_.size())];
  LatticeShape lattice{.length = lengths_.draw(random)};
  for (std::uint32_t end = 2; end <= lattice.length; ++end) {
    if (random.below(2) == 0) continue;
    const auto longest = std::min(end, kLongestRandomWord);
    lattice.starts.push_back(static_cast<std::int32_t>(end - 2 - random.below(longest - 1)));
    lattice.ends.push_back(static_cast<std::int32_t>(end));
  }
  return lattice;
}

}  // namespace volvox
