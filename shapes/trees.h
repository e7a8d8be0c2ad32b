#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "shapes/lengths.h"
#include "shapes/random.h"

namespace volvox {

// The trees that requests are made of: node -> its parent, -1 for the root; children come before
// parents. Draws are independent of each other. Immutable once made: any number of threads.
class TreeSource {
 public:
  // One of the file's trees with equal chance: one a line, as parse_tree() reads them. INVALID_ARGUMENT with
  // the line's number for anything else, or an empty file.
  static Result<TreeSource> from_file(const std::string& path);

  // Of an inner node of random trees that need not be binary.
  static constexpr std::uint32_t kMostChildren = 5;

  // A tree over as many leaves as `leaves` says, whose inner nodes join two neighbours, or from one to
  // `most_children` of them.
  static TreeSource random(LengthSource leaves, std::uint32_t most_children = 2);

  // From parts as the next three show them, whoever wrote them. INVALID_ARGUMENT for what is no tree.
  static Result<TreeSource> from_table(std::vector<std::vector<std::int32_t>> trees, LengthSource leaves,
                                       std::uint32_t most_children, std::string description);
  const std::vector<std::vector<std::int32_t>>& trees() const { return trees_; }  // empty: random ones
  const LengthSource& leaves() const { return leaves_; }
  std::uint32_t most_children() const { return most_children_; }

  // Replaces `parents`.
  void draw(SeededRandom& random, std::vector<std::int32_t>& parents) const;

  // For reports: "random trees, leaves built-in (…)", or the file's path and size.
  const std::string& description() const { return description_; }

 private:
  TreeSource(std::vector<std::vector<std::int32_t>> trees, LengthSource leaves, std::uint32_t most_children,
             std::string description)
      : trees_(std::move(trees)),
        leaves_(std::move(leaves)),
        most_children_(most_children),
        description_(std::move(description)) {}

  std::vector<std::vector<std::int32_t>> trees_;  // empty: random ones
  LengthSource leaves_;
  std::uint32_t most_children_;
  std::string description_;
};

// A tree in brackets, as treebanks write them: "(3 (2 It) (4 (2 works) (2 well)))". Each pair of brackets is
// a node, and the pairs in it are its children, from left to right; labels and words are not looked at. The
// nodes are numbered by their closing brackets.
Result<std::vector<std::int32_t>> parse_tree(std::string_view line);

// The same with the words: words[node] is the last one that stands in the node's brackets and in no child's,
// empty if there is none. Views `line`.
struct WordTree {
  std::vector<std::int32_t> parents;
  std::vector<std::string_view> words;
};
Result<WordTree> parse_word_tree(std::string_view line);

}  // namespace volvox
