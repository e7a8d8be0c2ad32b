#include "routing/model_table.h"

#include <algorithm>
#include <utility>

namespace volvox {

ModelTable::Node* ModelTable::node(NodeId id) {
  return const_cast<Node*>(std::as_const(*this).node(id));
}

const ModelTable::Node* ModelTable::node(NodeId id) const {
  return id.index < nodes_.size() && nodes_[id.index].id == id ? &nodes_[id.index] : nullptr;
}

bool ModelTable::offers(const Node& node, const Version& version) const {
  return std::any_of(node.offers.begin(), node.offers.end(),
                     [&](const Offer& offer) { return offer.version == &version; });
}

void ModelTable::add(NodeId id, std::span<const ModelOffer> offered, std::vector<DigestConflict>& conflicts) {
  remove(id, conflicts);
  if (id.index >= nodes_.size()) nodes_.resize(id.index + 1);
  Node& added = nodes_[id.index];
  added.id = id;
  added.use = NodeUse::kAnything;
  for (std::uint32_t i = 0; i < offered.size(); ++i) {
    added.offers.push_back(
        {nullptr, offered[i].digest, offered[i].cell_cost, offered[i].cells, offered[i].max_cells, {}});
    take_up(added, i, offered[i], conflicts);
  }
}

// An offer that is ignored keeps its place, so that costs find theirs by number.
void ModelTable::take_up(Node& node, std::uint32_t number, const ModelOffer& offered,
                         std::vector<DigestConflict>& conflicts) {
  Version& version = models_[offered.model][offered.version];
  if (offers(node, version)) return;
  node.offers[number].version = &version;
  if (version.offering.empty()) version = {offered.model, offered.version, offered.digest, {}, {}, {}};
  version.offering.push_back(node.id);
  if (offered.digest != version.digest) {
    conflicts.push_back({node.id, offered.model, offered.version, offered.digest, version.digest});
  } else {
    list(node, number);
  }
}

void ModelTable::update(NodeId id, std::span<const ModelOffer> offered,
                        std::vector<DigestConflict>& conflicts) {
  Node* changed = node(id);
  if (changed == nullptr) return;
  for (std::uint32_t i = 0; i < changed->offers.size(); ++i) unlist(*changed, i);
  std::vector<Offer> before = std::exchange(changed->offers, {});
  for (const ModelOffer& offer : offered) {
    const auto kept = std::find_if(before.begin(), before.end(), [&](const Offer& old) {
      return old.version != nullptr && old.version->model == offer.model &&
             old.version->number == offer.version && old.digest == offer.digest;
    });
    Version* version = kept == before.end() ? nullptr : std::exchange(kept->version, nullptr);
    changed->offers.push_back({version, offer.digest, offer.cell_cost, offer.cells, offer.max_cells, {}});
  }
  // What is kept is there again before anything goes: the digest that counts does not change for nothing.
  for (const Offer& gone : before) {
    if (gone.version != nullptr) withdraw(*gone.version, id, conflicts);
  }
  for (std::uint32_t i = 0; i < offered.size(); ++i) {
    if (changed->offers[i].version == nullptr) {
      take_up(*changed, i, offered[i], conflicts);
    } else {
      list(*changed, i);
    }
  }
}

void ModelTable::remove(NodeId id, std::vector<DigestConflict>& conflicts) {
  Node* gone = node(id);
  if (gone == nullptr) return;
  use(id, NodeUse::kNothing);
  const std::vector<Offer> offers = std::exchange(gone->offers, {});
  gone->id = {};
  for (const Offer& offer : offers) {
    if (offer.version != nullptr) withdraw(*offer.version, id, conflicts);
  }
}

void ModelTable::withdraw(Version& version, NodeId id, std::vector<DigestConflict>& conflicts) {
  std::erase(version.offering, id);
  if (!version.offering.empty()) return choose_digest(version, conflicts);
  const auto model = models_.find(version.model);
  model->second.erase(std::uint32_t{version.number});
  if (model->second.empty()) models_.erase(model);
}

// When nobody offers the digest that counted, the one that was offered first among the rest counts.
void ModelTable::choose_digest(Version& version, std::vector<DigestConflict>& conflicts) {
  const auto digest_of = [&](NodeId id) {
    for (const Offer& offer : nodes_[id.index].offers)
      if (offer.version == &version) return offer.digest;
    return std::uint64_t{0};
  };
  const auto serves = [&](NodeId id) { return digest_of(id) == version.digest; };
  if (std::any_of(version.offering.begin(), version.offering.end(), serves)) return;
  version.digest = digest_of(version.offering.front());
  for (const NodeId id : version.offering) {
    Node& offering = nodes_[id.index];
    for (std::uint32_t i = 0; i < offering.offers.size(); ++i) {
      if (offering.offers[i].version != &version) continue;
      if (offering.offers[i].digest != version.digest) {
        conflicts.push_back({id, version.model, version.number, offering.offers[i].digest, version.digest});
      } else {
        list(offering, i);
      }
    }
  }
}

void ModelTable::use(NodeId id, NodeUse use) {
  Node* switched = node(id);
  if (switched == nullptr || switched->use == use) return;
  for (std::uint32_t i = 0; i < switched->offers.size(); ++i) unlist(*switched, i);
  switched->use = use;
  for (std::uint32_t i = 0; i < switched->offers.size(); ++i) list(*switched, i);
}

std::vector<ModelTable::Candidate>& ModelTable::listed_with(const Node& node, Version& version) {
  return node.use == NodeUse::kAnything ? version.candidates : version.last_resorts;
}

void ModelTable::list(Node& listed, std::uint32_t number) {
  Offer& offer = listed.offers[number];
  if (listed.use == NodeUse::kNothing || offer.version == nullptr || offer.place != kNowhere ||
      offer.digest != offer.version->digest)
    return;
  auto& candidates = listed_with(listed, *offer.version);
  offer.place = static_cast<std::uint32_t>(candidates.size());
  candidates.push_back({listed.id, number});
}

void ModelTable::unlist(Node& listed, std::uint32_t number) {
  Offer& offer = listed.offers[number];
  if (offer.place == kNowhere) return;
  auto& candidates = listed_with(listed, *offer.version);
  const Candidate last = candidates.back();
  candidates[offer.place] = last;
  nodes_[last.node.index].offers[last.offer].place = offer.place;
  candidates.pop_back();
  offer.place = kNowhere;
}

void ModelTable::set_costs(NodeId id, std::span<const Duration> cell_costs) {
  Node* measured = node(id);
  if (measured == nullptr) return;
  const std::size_t count = std::min(cell_costs.size(), measured->offers.size());
  for (std::size_t i = 0; i < count; ++i) measured->offers[i].cell_cost = cell_costs[i];
}

void ModelTable::set_waits(NodeId id, std::span<const Duration> waits) {
  Node* busy = node(id);
  if (busy == nullptr) return;
  for (std::size_t i = 0; i < busy->offers.size(); ++i)
    busy->offers[i].wait = i < waits.size() ? waits[i] : Duration::zero();
}

std::uint32_t ModelTable::version(const Candidate& candidate) const {
  return nodes_[candidate.node.index].offers[candidate.offer].version->number;
}

Duration ModelTable::wait(const Candidate& candidate) const {
  return nodes_[candidate.node.index].offers[candidate.offer].wait;
}

Duration ModelTable::cost(const Candidate& candidate, std::uint32_t cells) const {
  const Offer& offer = nodes_[candidate.node.index].offers[candidate.offer];
  const std::uint32_t believed = std::min(cells == 0 ? offer.cells : cells, offer.max_cells);
  if (believed != 0 && offer.cell_cost > kMostWork / believed) return kMostWork;
  return offer.cell_cost * believed;
}

std::optional<std::uint64_t> ModelTable::digest(std::string_view model, std::uint32_t version) const {
  const auto known = models_.find(model);
  if (known == models_.end()) return std::nullopt;
  const auto entry = known->second.find(version);
  if (entry == known->second.end()) return std::nullopt;
  return entry->second.digest;
}

Result<std::span<const ModelTable::Candidate>> ModelTable::candidates(std::string_view model,
                                                                      std::uint32_t version) const {
  const auto known = models_.find(model);
  if (known == models_.end())
    return fail(ErrorCode::kModelNotFound,
                "no node offers '" + std::string(model) + "'; see `volvox status`");
  const Versions& versions = known->second;
  const auto [first, last] =
      version == 0 ? std::pair(versions.begin(), versions.end()) : versions.equal_range(version);
  if (first == last) {
    return fail(ErrorCode::kModelNotFound, "no node offers version " + std::to_string(version) + " of '" +
                                               std::string(model) + "'; leave it out for the newest");
  }
  for (const auto among : {&Version::candidates, &Version::last_resorts})
    for (auto entry = first; entry != last; ++entry)
      if (!(entry->second.*among).empty()) return std::span<const Candidate>(entry->second.*among);
  return fail(ErrorCode::kUnavailable, "no node can run '" + std::string(model) + "' now; try again soon");
}

}  // namespace volvox
