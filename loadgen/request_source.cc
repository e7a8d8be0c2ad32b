#include "loadgen/request_source.h"

#include <span>

namespace volvox {

void RequestSource::make(std::uint64_t index, RequestContent& content) const {
  SeededRandom random = SeededRandom::for_item(seed_, index);
  if (const auto* trees = std::get_if<TreeSource>(&shapes_)) {
    trees->draw(random, content.parents);
    content.tokens.resize(content.parents.size());
  } else {
    content.parents.clear();
    content.tokens.resize(std::get<LengthSource>(shapes_).draw(random));
  }
  for (std::int32_t& token : content.tokens) token = static_cast<std::int32_t>(random.below(vocabulary_));
}

std::string RequestSource::description() const {
  const auto* trees = std::get_if<TreeSource>(&shapes_);
  return trees != nullptr ? trees->description() : "lengths " + std::get<LengthSource>(shapes_).description();
}

void fill_request(ClientRequest& request, const RequestContent& content) {
  const auto length = static_cast<std::uint32_t>(content.tokens.size());
  request.header.cells_hint = length;
  request.body.structure = ChainStructure{length};
  if (!content.parents.empty()) request.body.structure = TreeStructure{content.parents};
  if (request.body.inputs.empty()) return;
  WireTensor& input = request.body.inputs.front();
  input = wire_tensor(input.name, std::span<const std::int32_t>(content.tokens));
}

}  // namespace volvox
