#include "actors/cluster/routed_models.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/text.h"

namespace volvox {
namespace {

constexpr std::size_t kMostPutAway = 256;  // versions that nobody offers, and what was counted of them

}  // namespace

void RoutedModels::offered(NodeId node, std::span<const ClusterOffer> offers) {
  const std::lock_guard lock(mutex_);
  forget(node, offers);
  for (const ClusterOffer& offer : offers) {
    Version& version = models_[offer.model][offer.version];
    const std::pair own(node.index, node.generation);
    if (version.nodes.size() == version.nodes.count(own)) version.offer = offer;
    if (!version.statistics) version.statistics = take_up({offer.model, offer.version});
    version.nodes.insert(own);
  }
}

void RoutedModels::left(NodeId node) {
  const std::lock_guard lock(mutex_);
  forget(node, {});
  resting_.erase({node.index, node.generation});
}

void RoutedModels::clear() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, versions] : models_) {
    for (const auto& [number, version] : versions) put_away({name, number}, version);
  }
  models_.clear();
  resting_.clear();
  settled_ = false;
}

void RoutedModels::settle() {
  const std::lock_guard lock(mutex_);
  settled_ = true;
}

void RoutedModels::takes_work(NodeId node, bool takes) {
  const std::lock_guard lock(mutex_);
  const Node own(node.index, node.generation);
  takes ? void(resting_.erase(own)) : void(resting_.insert(own));
}

// What it offers, but for these.
void RoutedModels::forget(NodeId node, std::span<const ClusterOffer> but) {
  const auto stays = [&](const std::string& name, std::uint32_t number) {
    return std::any_of(but.begin(), but.end(), [&](const ClusterOffer& offer) {
      return offer.model == name && offer.version == number;
    });
  };
  for (auto& [name, versions] : models_) {
    for (auto entry = versions.begin(); entry != versions.end();) {
      Version& version = entry->second;
      if (!stays(name, entry->first)) version.nodes.erase({node.index, node.generation});
      if (version.nodes.empty()) put_away({name, entry->first}, version);
      entry = version.nodes.empty() ? versions.erase(entry) : std::next(entry);
    }
  }
  std::erase_if(models_, [](const auto& entry) { return entry.second.empty(); });
}

void RoutedModels::put_away(const Name& name, const Version& version) {
  if (put_away_.size() >= kMostPutAway) put_away_.pop_front();
  put_away_.emplace_back(name, version.statistics);
}

std::shared_ptr<ModelStatistics> RoutedModels::take_up(const Name& name) {
  const auto found = std::find_if(put_away_.begin(), put_away_.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == put_away_.end()) return std::make_shared<ModelStatistics>();
  const auto statistics = found->second;
  put_away_.erase(found);
  return statistics;
}

const RoutedModels::Version* RoutedModels::look_up(std::string_view name, std::uint32_t version) const {
  const auto versions = models_.find(name);
  if (versions == models_.end()) return nullptr;
  if (version == 0) {
    const auto& all = versions->second;
    const auto is_taken = [this](const auto& entry) {
      return std::ranges::any_of(entry.second.nodes,
                                 [this](const Node& node) { return !resting_.contains(node); });
    };
    const auto newest = std::find_if(all.rbegin(), all.rend(), is_taken);
    return newest == all.rend() ? &all.rbegin()->second : &newest->second;
  }
  const auto found = versions->second.find(version);
  return found == versions->second.end() ? nullptr : &found->second;
}

void RoutedModels::answered(const IncomingRequest& request, std::uint32_t version, const Outcome& outcome) {
  const std::uint64_t total_us = microseconds(steady_now() - request.arrival);
  const std::lock_guard lock(mutex_);
  const RequestHeader& header = request.header;
  const Version* known = look_up(header.model, version != 0 ? version : header.model_version);
  if (known != nullptr) known->statistics->ended(request, outcome, total_us);
}

Result<HttpModel> RoutedModels::find(std::string_view name, std::uint32_t version) const {
  const std::lock_guard lock(mutex_);
  if (const Version* known = look_up(name, version))
    return HttpModel{known->offer.model, known->offer.version, nullptr};
  const auto versions = models_.find(name);
  // A router that has just started does not know yet what there is: not a reason to give a model up.
  if (models_.empty()) return fail(ErrorCode::kUnavailable, "no node offers a model yet; try again soon");
  if (!settled_)
    return fail(ErrorCode::kUnavailable, "this router does not know all of its nodes yet; try again soon");
  if (versions == models_.end()) {
    const auto name_of = [](const auto& known) { return in_quotes(known.first); };
    return fail(ErrorCode::kModelNotFound,
                "no node offers a model of this name; there are " + listed(models_, name_of));
  }
  const auto number_of = [](const auto& known) { return std::to_string(known.first); };
  return fail(ErrorCode::kModelNotFound,
              "no node offers this version of the model; there are " + listed(versions->second, number_of));
}

V2ModelMetadata RoutedModels::metadata(const HttpModel& model) const {
  const std::lock_guard lock(mutex_);
  V2ModelMetadata metadata;
  metadata.name = model.name;
  if (const auto versions = models_.find(model.name); versions != models_.end()) {
    for (const auto& [number, ignored] : versions->second) metadata.versions.push_back(number);
  }
  if (const Version* known = look_up(model.name, model.version)) {
    metadata.inputs = v2_tensors(known->offer.inputs);
    metadata.outputs = v2_tensors(known->offer.outputs);
  }
  return metadata;
}

V2Statistics RoutedModels::statistics(const HttpModel& model) const {
  const std::lock_guard lock(mutex_);
  const Version* known = look_up(model.name, model.version);
  return v2_sums(model, known == nullptr ? ModelStatistics::Sums{} : known->statistics->sums());
}

std::vector<ModelRequests> RoutedModels::requests() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelRequests> all;
  for (const auto& [name, versions] : models_) {
    for (const auto& [number, version] : versions)
      all.push_back(version.statistics->requests(name + "/" + std::to_string(number)));
  }
  return all;
}

}  // namespace volvox
