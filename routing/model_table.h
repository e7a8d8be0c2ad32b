#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "routing/node_id.h"
#include "routing/node_load.h"

namespace volvox {

// A model version that a node has loaded.
struct ModelOffer {
  std::string model;
  std::uint32_t version = 0;                    // never 0
  std::uint64_t digest = 0;                     // of the weights
  Duration cell_cost{};                         // of a cell on this node when it is busy, as it measured
  std::uint32_t cells = 1;                      // of a request of it, on average
  std::uint32_t max_cells = ~std::uint32_t{0};  // of any request, however many its client says it has
};

// A node offers a version whose weights are not those that the others serve under this number.
struct DigestConflict {
  NodeId node;
  std::string model;
  std::uint32_t version = 0;
  std::uint64_t digest = 0, expected = 0;
};

// What a node gets.
enum class NodeUse : std::uint8_t {
  kNothing,
  kLastResort,  // what nobody else can do
  kAnything,
};

// Who can run which model? One request must not be answered from other weights than the next: of each version
// the digest that was offered first counts, for as long as anybody offers it, and only nodes with the same
// are candidates. Others are reported and get no traffic.
//
// Adding, removing and switching a node cost O(its offers); everything else O(1) and a look-up by name. Pure.
// One thread at a time.
class ModelTable {
 public:
  struct Candidate {
    NodeId node;
    std::uint32_t offer = 0;  // its number among the node's
  };

  // The node is known from now on, for anything. Offers of one version beyond the first are ignored.
  void add(NodeId node, std::span<const ModelOffer> offers, std::vector<DigestConflict>& conflicts);
  // It offers these now, in place of those before. What it still offers stays as it was, and so does its use.
  void update(NodeId node, std::span<const ModelOffer> offers, std::vector<DigestConflict>& conflicts);
  // Forgets it. Ids that are not in the table are ignored, as everywhere here.
  void remove(NodeId node, std::vector<DigestConflict>& conflicts);
  void use(NodeId node, NodeUse use);

  // By the number of the offer, as add() got them. Those beyond the offers are ignored.
  void set_costs(NodeId node, std::span<const Duration> cell_costs);
  // Of a request with so many cells, as its client says; 0: the average. At most kMostWork.
  Duration cost(const Candidate& candidate, std::uint32_t cells) const;
  // Until a request of this offer could begin. As set_costs(), but those that are not there wait for nothing.
  void set_waits(NodeId node, std::span<const Duration> waits);
  Duration wait(const Candidate& candidate) const;

  // The one that counts, if anybody offers the version.
  std::optional<std::uint64_t> digest(std::string_view model, std::uint32_t version) const;

  // Of the model that a candidate offers.
  std::uint32_t version(const Candidate& candidate) const;
  // The candidates for this version: those for anything or, where there are none, the last resorts. 0: for
  // the highest version that has any of the first kind, else of the second. MODEL_NOT_FOUND: nobody offers
  // it. UNAVAILABLE: nobody may run it now.
  Result<std::span<const Candidate>> candidates(std::string_view model, std::uint32_t version) const;

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  struct Version {
    std::string model;
    std::uint32_t number = 0;
    std::uint64_t digest = 0;  // the one that counts
    std::vector<NodeId> offering;
    std::vector<Candidate> candidates, last_resorts;
  };
  struct Offer {
    Version* version = nullptr;
    std::uint64_t digest = 0;
    Duration cell_cost{};
    std::uint32_t cells = 1, max_cells = ~std::uint32_t{0};
    Duration wait{};
    std::uint32_t place = kNowhere;  // among those of its node's use
  };
  struct Node {
    NodeId id;  // of nobody: the place is free
    NodeUse use = NodeUse::kNothing;
    std::vector<Offer> offers;
  };
  using Versions = std::map<std::uint32_t, Version, std::greater<>>;  // the highest first

  Node* node(NodeId id);
  const Node* node(NodeId id) const;
  bool offers(const Node& node, const Version& version) const;
  static std::vector<Candidate>& listed_with(const Node& node, Version& version);
  void list(Node& node, std::uint32_t offer);
  void unlist(Node& node, std::uint32_t offer);
  void take_up(Node& node, std::uint32_t offer, const ModelOffer& offered,
               std::vector<DigestConflict>& conflicts);
  void withdraw(Version& version, NodeId id, std::vector<DigestConflict>& conflicts);
  void choose_digest(Version& version, std::vector<DigestConflict>& conflicts);

  std::vector<Node> nodes_;  // by index
  std::map<std::string, Versions, std::less<>> models_;
};

}  // namespace volvox
