#include "loadgen/request_source.h"

namespace volvox {

void RequestSource::make(std::uint64_t index, std::vector<std::int32_t>& tokens) const {
  SeededRandom random = SeededRandom::for_item(seed_, index);
  tokens.resize(lengths_.draw(random));
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random.below(vocabulary_));
}

}  // namespace volvox
