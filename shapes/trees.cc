#include "shapes/trees.h"

#include <algorithm>
#include <fstream>

namespace volvox {
namespace {

bool is_tree(const std::vector<std::int32_t>& parents) {
  if (parents.empty() || parents.size() > LengthSource::kMaxLength || parents.back() != -1) return false;
  const auto nodes = static_cast<std::int32_t>(parents.size());
  for (std::int32_t node = 0; node + 1 < nodes; ++node) {
    const std::int32_t parent = parents[static_cast<std::size_t>(node)];
    if (parent <= node || parent >= nodes) return false;
  }
  return true;
}

// Numbers nodes as they are finished, children before parents.
class TreeWriter {
 public:
  explicit TreeWriter(std::vector<std::int32_t>& parents) : parents_(parents) { parents_.clear(); }

  std::size_t open() const { return open_.size(); }  // nodes without a parent so far

  // The newest `children` of these get a parent.
  void add(std::size_t children) {
    const auto node = static_cast<std::uint32_t>(parents_.size());
    for (; children > 0; --children) {
      parents_[open_.back()] = static_cast<std::int32_t>(node);
      open_.pop_back();
    }
    parents_.push_back(-1);
    open_.push_back(node);
  }

 private:
  std::vector<std::int32_t>& parents_;
  std::vector<std::uint32_t> open_;
};

}  // namespace

Result<WordTree> parse_word_tree(std::string_view line) {
  struct Bracket {
    std::size_t open;       // how many nodes were open there
    std::string_view word;  // the last one in it
  };
  WordTree tree;
  TreeWriter writer(tree.parents);
  std::vector<Bracket> brackets;  // those that are not closed
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    const bool outside = brackets.empty();
    if (c == ' ' || c == '\r' || c == '\t') continue;
    if (outside && (c != '(' || writer.open() > 0))
      return invalid("expected one tree in brackets, like (3 (2 It) (4 works))");
    if (c == '(') {
      brackets.push_back({writer.open(), {}});
    } else if (c == ')') {
      writer.add(writer.open() - brackets.back().open);
      tree.words.push_back(brackets.back().word);
      brackets.pop_back();
      if (tree.parents.size() > LengthSource::kMaxLength)
        return invalid("the tree has more than " + std::to_string(LengthSource::kMaxLength) + " nodes");
    } else {
      const std::size_t end = std::min(line.find_first_of(" \t\r()", at), line.size());
      brackets.back().word = line.substr(at, end - at);
      at = end - 1;
    }
  }
  if (!brackets.empty()) return invalid("a bracket is not closed");
  if (tree.parents.empty()) return invalid("expected one tree in brackets, like (3 (2 It) (4 works))");
  return tree;
}

Result<std::vector<std::int32_t>> parse_tree(std::string_view line) {
  auto tree = parse_word_tree(line);
  if (!tree) return tl::unexpected(tree.error());
  return std::move(tree->parents);
}

Result<TreeSource> TreeSource::from_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return invalid("cannot read the trees in '" + path + "'; check the path");
  std::vector<std::vector<std::int32_t>> trees;
  std::string line;
  while (std::getline(file, line)) {
    auto tree = parse_tree(line);
    if (!tree) return invalid(path + ":" + std::to_string(trees.size() + 1) + ": " + tree.error().message);
    trees.push_back(std::move(*tree));
  }
  if (trees.empty()) return invalid("'" + path + "' holds no trees");
  std::string description = "trees " + path + " (" + std::to_string(trees.size()) + " lines)";
  return TreeSource(std::move(trees), LengthSource::fixed(1), 2, std::move(description));
}

Result<TreeSource> TreeSource::from_table(std::vector<std::vector<std::int32_t>> trees, LengthSource leaves,
                                          std::uint32_t most_children, std::string description) {
  if (!std::ranges::all_of(trees, is_tree)) return invalid("in a tree children come before their parents");
  if (most_children < 2) return invalid("a node of a random tree may have two children at least");
  return TreeSource(std::move(trees), std::move(leaves), most_children, std::move(description));
}

TreeSource TreeSource::random(LengthSource leaves, std::uint32_t most_children) {
  std::string description = "random trees, leaves " + leaves.description();
  return {{}, std::move(leaves), std::max(most_children, 2U), std::move(description)};
}

void TreeSource::draw(SeededRandom& random, std::vector<std::int32_t>& parents) const {
  if (!trees_.empty()) {
    parents = trees_[random.below(trees_.size())];
    return;
  }
  const std::uint32_t least = most_children_ == 2 ? 2 : 1;
  TreeWriter writer(parents);
  for (std::uint32_t left = leaves_.draw(random); left > 0 || writer.open() > 1;) {
    if (left > 0 && (writer.open() < 2 || random.below(2) == 0)) {
      writer.add(0);
      --left;
    } else {
      const std::uint64_t most = std::min<std::uint64_t>(writer.open(), most_children_);
      writer.add(least + random.below(most - least + 1));
    }
  }
}

}  // namespace volvox
