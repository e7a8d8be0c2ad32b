#include "simulation/workload.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

namespace volvox {
namespace {

constexpr std::uint32_t kLongest = 1U << 20;

// Calls `take` for each line that is not empty; its error is told with the line's number.
Status each_line(const std::string& path, const std::function<Status(const std::string&)>& take) {
  std::ifstream file(path);
  if (!file) return invalid("cannot read '" + path + "'");
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    if (Status ok = take(line); !ok) {
      return invalid(path + ":" + std::to_string(number) + ": " + ok.error().message);
    }
  }
  return {};
}

template <class T, class Parse>
Result<std::vector<T>> read_all(const std::string& path, Parse parse) {
  std::vector<T> all;
  const Status ok = each_line(path, [&](const std::string& line) -> Status {
    Result<T> one = parse(line);
    if (!one) return tl::unexpected(one.error());
    all.push_back(std::move(*one));
    return {};
  });
  if (!ok) return tl::unexpected(ok.error());
  if (all.empty()) return invalid("'" + path + "' is empty");
  return all;
}

Result<std::uint32_t> parse_length(const std::string& line) {
  std::uint32_t length = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), length);
  const bool ended = end == line.data() + line.size() || *end == '\t';
  if (error != std::errc{} || !ended || length == 0 || length > kLongest)
    return invalid("'" + line + "' is not a length");
  return length;
}

}  // namespace

Result<std::vector<std::uint32_t>> read_lengths(const std::string& path) {
  return read_all<std::uint32_t>(path, parse_length);
}

std::vector<std::uint32_t> typical_lengths(std::size_t count, Chance& chance) {
  std::vector<std::uint32_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    const double length = std::exp(2.914 + 0.727 * chance.normal());
    lengths.push_back(static_cast<std::uint32_t>(std::clamp(std::round(length), 1.0, 330.0)));
  }
  return lengths;
}

Result<std::vector<Tree>> read_trees(const std::string& path) {
  return read_all<Tree>(path, parse_tree);
}

Result<Tree> parse_tree(const std::string& line) {
  Tree tree;
  std::vector<std::vector<std::uint32_t>> open;  // children so far of each open bracket
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '(') {
      if (open.empty() && !tree.nodes.empty()) return invalid("text follows the tree");
      open.emplace_back();
    } else if (line[i] == ')') {
      if (open.empty()) return invalid("a bracket closes that was not open");
      const std::vector<std::uint32_t> children = std::move(open.back());
      open.pop_back();
      if (children.size() == 1 || children.size() > 2)
        return invalid("a node has neither two children nor none");
      tree.nodes.push_back(children.empty() ? Tree::Node{} : Tree::Node{children[0], children[1]});
      if (!open.empty()) open.back().push_back(static_cast<std::uint32_t>(tree.nodes.size() - 1));
    }
  }
  if (!open.empty()) return invalid("a bracket is not closed");
  if (tree.nodes.empty()) return invalid("there is no tree");
  return tree;
}

Tree random_tree(std::uint32_t leaves, Chance& chance) {
  Tree tree;
  tree.nodes.resize(leaves);
  std::vector<std::uint32_t> roots(leaves);
  for (std::uint32_t i = 0; i < leaves; ++i) roots[i] = i;
  while (roots.size() > 1) {
    const std::size_t at = chance.below(roots.size() - 1);
    tree.nodes.push_back({roots[at], roots[at + 1]});
    roots[at] = static_cast<std::uint32_t>(tree.nodes.size() - 1);
    roots.erase(roots.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return tree;
}

Result<std::vector<Lattice>> read_lattices(const std::string& path) {
  return read_all<Lattice>(path, parse_lattice);
}

Result<Lattice> parse_lattice(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto count = [](const nlohmann::json& n) {
    return n.is_number_unsigned() && n.get<std::uint64_t>() <= kLongest;
  };
  if (!json.is_object() || !json.contains("chars") || !count(json["chars"]))
    return invalid("there are no chars");
  Lattice lattice;
  lattice.chars = json["chars"];
  if (lattice.chars == 0) return invalid("a lattice has at least one character");
  for (const auto& word : json.value("words", nlohmann::json::array())) {
    const bool pair = word.is_array() && word.size() == 2 && count(word[0]) && count(word[1]);
    if (!pair) return invalid("a word is not a pair of numbers");
    const std::array<std::uint32_t, 2> span{word[0], word[1]};
    if (span[0] + 2 > span[1] || span[1] > lattice.chars)
      return invalid("a word does not lie over two characters");
    lattice.words.push_back(span);
  }
  return lattice;
}

Lattice random_lattice(std::uint32_t chars, Chance& chance) {
  Lattice lattice{chars, {}};
  for (std::uint32_t begin = 0; begin + 2 <= chars; ++begin) {
    if (chance.uniform() >= 0.5) continue;
    const auto longest = std::min<std::uint64_t>(3, chars - begin - 1);
    lattice.words.push_back({begin, begin + 2 + static_cast<std::uint32_t>(chance.below(longest))});
  }
  return lattice;
}

Result<std::shared_ptr<const NodeGraph>> tree_graph(const Tree& tree, CellTypeId leaf, CellTypeId inner) {
  auto graph = std::make_shared<NodeGraph>();
  std::uint32_t words = 0;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Tree::Node& from = tree.nodes[i];
    NodeGraph::Node node;
    node.push = i + 1 == tree.nodes.size();
    node.type = from.left == Tree::kNone ? leaf : inner;
    if (from.left == Tree::kNone) {
      node.pull_row = words++;
      graph->add(node, {});
    } else {
      const std::array<NodeGraph::Edge, 2> edges{{{from.left, 0}, {from.right, 1}}};
      graph->add(node, edges);
    }
  }
  if (Status ok = graph->finish(); !ok) return tl::unexpected(ok.error());
  return graph;
}

Result<std::shared_ptr<const NodeGraph>> lattice_graph(const Lattice& lattice, CellTypeId character,
                                                       CellTypeId word) {
  std::vector<std::vector<std::uint32_t>> ending(lattice.chars), beginning(lattice.chars);
  for (const auto& [begin, end] : lattice.words) beginning[begin].push_back(end - 1);
  auto graph = std::make_shared<NodeGraph>();
  std::uint32_t previous = 0;
  std::vector<NodeGraph::Edge> edges;
  for (std::uint32_t c = 0; c < lattice.chars; ++c) {
    edges.clear();
    if (c > 0) edges.push_back({previous, 0});
    for (std::uint32_t w : ending[c]) edges.push_back({w, NodeGraph::kRagged});
    NodeGraph::Node node;
    node.type = character;
    node.pull_row = c;
    node.push = c + 1 == lattice.chars;
    previous = graph->add(node, edges);
    for (std::uint32_t end : beginning[c]) {
      const NodeGraph::Edge from{previous, 0};
      NodeGraph::Node over;
      over.type = word;
      over.pull_row = c;
      ending[end].push_back(graph->add(over, {&from, 1}));
    }
  }
  if (Status ok = graph->finish(); !ok) return tl::unexpected(ok.error());
  return graph;
}

}  // namespace volvox
