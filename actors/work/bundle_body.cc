#include "actors/work/bundle_body.h"

#include "protocol/codec/packed_body.h"
#include "protocol/codec/structure_check.h"

namespace volvox {
namespace {

std::size_t row_bytes(const WireTensor& input) {
  const auto rows = static_cast<std::size_t>(input.shape[0]);
  return rows == 0 ? 0 : input.bytes.size() / rows;
}

}  // namespace

BundleBody::BundleBody(RequestBundle bundle, InFlightShare share, ClientShare client_share)
    : bundle_(std::move(bundle)), share_(std::move(share)), client_share_(std::move(client_share)) {
  first_rows_.reserve(bundle_.parts());
  std::uint64_t row = 0;
  for (const std::uint32_t length : bundle_.lengths) {
    first_rows_.push_back(row);
    row += length;
  }
  for (const WireTensor& input : bundle_.inputs) row_bytes_ += row_bytes(input);
}

Result<RequestBody> BundleBody::part(std::size_t part, const WireLimits& limits) const {
  RequestBody body;
  const std::uint32_t steps = bundle_.lengths[part];
  body.structure = ChainStructure{steps};
  if (Status ok = check_structure(body.structure, limits); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  body.outputs = bundle_.outputs;
  if (steps == 0) return body;
  body.inputs = bundle_.inputs;
  for (WireTensor& input : body.inputs) {
    const std::size_t row = row_bytes(input);
    input.bytes = input.bytes.subspan(first_rows_[part] * row, steps * row);
    WireShape shape{static_cast<std::int64_t>(steps)};
    for (const std::int64_t dim : input.shape.dims().subspan(1)) shape.append(dim);
    input.shape = shape;
  }
  if (packs()) return pack_request_body(body, limits);
  body.storage = bundle_.storage;
  return body;
}

}  // namespace volvox
