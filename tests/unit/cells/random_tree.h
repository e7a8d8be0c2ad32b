#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "cells/ir/cell.h"
#include "cells/ir/check_hash.h"

namespace volvox {

// The parents of a random tree with so many leaves: two children for each inner node, or from one to
// `most_children`. Children come before parents, and siblings need not stand together.
inline std::vector<std::int32_t> random_parents(std::mt19937_64& random, std::uint32_t leaves,
                                                std::uint32_t least_children = 2,
                                                std::uint32_t most_children = 2) {
  std::vector<std::int32_t> parents;
  std::vector<std::uint32_t> open;  // without a parent so far
  const auto add = [&] {
    open.push_back(static_cast<std::uint32_t>(parents.size()));
    parents.push_back(-1);
  };
  std::uint32_t left = std::max(leaves, 1U);
  while (left > 0 || open.size() > 1) {
    if (left > 0 && (open.size() < least_children || random() % 2 == 0)) {
      add();
      --left;
      continue;
    }
    const auto most = std::min<std::uint64_t>(open.size(), most_children);
    const auto children =
        least_children + random() % (most - std::min<std::uint64_t>(most, least_children) + 1);
    const auto parent = static_cast<std::uint32_t>(parents.size());
    for (std::uint64_t c = 0; c < children; ++c) {
      const std::size_t which = random() % open.size();
      parents[open[which]] = static_cast<std::int32_t>(parent);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    }
    add();
  }
  return parents;
}

// A row for each node.
inline std::vector<std::int32_t> random_tokens(std::mt19937_64& random, std::size_t nodes,
                                               std::int32_t vocabulary) {
  std::vector<std::int32_t> tokens(nodes);
  for (std::int32_t& token : tokens)
    token = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocabulary));
  return tokens;
}

// What a check_tree model says of every node: by the definition, from the leaves up.
inline std::vector<std::uint64_t> hashes_of(const std::vector<std::int32_t>& tokens,
                                            const std::vector<std::int32_t>& parents) {
  std::vector<std::uint64_t> states;
  for (std::size_t v = 0; v < tokens.size(); ++v) {
    std::uint64_t state = check_hash(0, static_cast<std::uint64_t>(tokens[v]));
    for (std::size_t child = 0; child < v; ++child) {
      if (parents[child] == static_cast<std::int32_t>(v)) state = check_hash(state, states[child]);
    }
    states.push_back(state);
  }
  return states;
}

}  // namespace volvox
