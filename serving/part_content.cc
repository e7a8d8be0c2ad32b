#include "serving/part_content.h"

namespace volvox {

Digest digest_of(const PartContent& part, const HashKey& key) {
  KeyedHash hash(key);
  hash.add(std::uint64_t{part.steps});
  hash.add(std::as_bytes(part.outputs));
  hash.add(std::uint64_t{part.inputs.size()});
  for (const auto& input : part.inputs) hash.add(input);
  return hash.digest();
}

}  // namespace volvox
