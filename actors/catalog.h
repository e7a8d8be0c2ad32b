#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "batching/installation.h"

namespace volvox {

// Finds an installed model by name and version. Read-only after construction; the installation must outlive
// it.
class Catalog {
 public:
  explicit Catalog(const Installation& installation);

  // Version 0: the newest. MODEL_NOT_FOUND names what there is.
  Result<const InstalledModel*> find(std::string_view name, std::uint32_t version) const;
  // Ascending; none for a name that is not known.
  std::vector<std::uint32_t> versions(std::string_view name) const;

 private:
  using Versions = std::map<std::uint32_t, const InstalledModel*>;
  std::map<std::string, Versions, std::less<>> models_;
};

}  // namespace volvox
