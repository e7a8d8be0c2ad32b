#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "install/installation.h"

namespace volvox {

// Whoever holds it may use the model: it stays on the device until the last one lets go.
using ModelPtr = std::shared_ptr<const InstalledModel>;

// Finds a model by name and version, while models come and go. A change is made on a copy, which then takes
// the place of what was there: a question sees all of a change or nothing. Any thread.
class Catalog {
 public:
  // Version 0: the newest. MODEL_NOT_FOUND names what there is.
  Result<ModelPtr> find(std::string_view name, std::uint32_t version) const;
  // Ascending; none for a name that is not known.
  std::vector<std::uint32_t> versions(std::string_view name) const;
  // By name, then version.
  std::vector<ModelPtr> all() const;

  // Shows the model from now on. Returns the one that had its name and version, if there was one.
  ModelPtr put(const ModelPtr& model);
  // Shows it no longer. Returns it; null if it was not there.
  ModelPtr take(std::string_view name, std::uint32_t version);

 private:
  using Versions = std::map<std::uint32_t, ModelPtr>;
  using Names = std::map<std::string, Versions, std::less<>>;

  std::shared_ptr<const Names> now() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Names> names_ = std::make_shared<const Names>();  // never changed, only replaced
};

}  // namespace volvox
