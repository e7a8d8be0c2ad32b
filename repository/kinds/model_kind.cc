#include "repository/kinds/model_kind.h"

namespace volvox {

const ModelKind* find_model_kind(std::string_view name) {
  for (const auto* kinds : model_kinds()) {
    for (const ModelKind& kind : *kinds) {
      if (kind.name == name) return &kind;
    }
  }
  return nullptr;
}

}  // namespace volvox
