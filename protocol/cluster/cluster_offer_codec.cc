#include "protocol/cluster/cluster_offer_codec.h"

#include <utility>

#include "protocol/codec/capnp_message.h"

namespace volvox {
namespace {

using TensorList = capnp::List<wire::ClusterTensor>;

Status check_sizes(std::size_t tensors, std::size_t rank, const WireLimits& limits) {
  if (tensors <= limits.max_tensors && rank <= limits.max_rank) return {};
  return invalid("an offered model has more inputs, outputs or dimensions than the limits allow");
}

Result<std::vector<ClusterTensor>> read(TensorList::Reader list, const WireLimits& limits) {
  if (Status ok = check_sizes(list.size(), 0, limits); !ok) return tl::unexpected(std::move(ok).error());
  std::vector<ClusterTensor> tensors;
  for (const auto reader : list) {
    auto name = read_name("tensor name", reader.getName(), limits);
    if (!name) return tl::unexpected(std::move(name).error());
    if (Status ok = check_sizes(0, reader.getShape().size(), limits); !ok)
      return tl::unexpected(std::move(ok).error());
    if (reader.getType() >= kWireTypes) return invalid("an offered model has a tensor of an unknown type");
    ClusterTensor& tensor = tensors.emplace_back();
    tensor.name = std::move(*name);
    tensor.type = static_cast<WireType>(reader.getType());
    for (const std::int64_t dim : reader.getShape()) tensor.shape.push_back(dim);
  }
  return tensors;
}

Status check(const std::vector<ClusterTensor>& tensors, const WireLimits& limits) {
  Status ok = check_sizes(tensors.size(), 0, limits);
  for (const ClusterTensor& tensor : tensors) {
    if (ok) ok = check_given_name("tensor name", tensor.name, limits);
    if (ok) ok = check_sizes(0, tensor.shape.size(), limits);
  }
  return ok;
}

void write(const std::vector<ClusterTensor>& tensors, TensorList::Builder list) {
  for (unsigned i = 0; i < list.size(); ++i) {
    const ClusterTensor& tensor = tensors[i];
    put_text(tensor.name, [&](unsigned size) { return list[i].initName(size); });
    list[i].setType(static_cast<std::uint16_t>(tensor.type));
    auto shape = list[i].initShape(static_cast<unsigned>(tensor.shape.size()));
    for (unsigned d = 0; d < shape.size(); ++d) shape.set(d, tensor.shape[d]);
  }
}

std::size_t words(const std::vector<ClusterTensor>& tensors) {
  std::size_t words = 2;
  for (const ClusterTensor& tensor : tensors) words += 8 + text_words(tensor.name) + tensor.shape.size();
  return words;
}

}  // namespace

Result<std::string> read_name(std::string_view what, capnp::Text::Reader text, const WireLimits& limits) {
  const std::string_view name = view_of(text);
  if (auto ok = check_given_name(what, name, limits); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  return std::string(name);
}

Result<ClusterOffer> read_offer(wire::ClusterOffer::Reader reader, const WireLimits& limits) {
  auto model = read_name("model name", reader.getModel(), limits);
  if (!model) return tl::unexpected(std::move(model).error());
  auto inputs = read(reader.getInputs(), limits);
  if (!inputs) return tl::unexpected(std::move(inputs).error());
  auto outputs = read(reader.getOutputs(), limits);
  if (!outputs) return tl::unexpected(std::move(outputs).error());
  return ClusterOffer{std::move(*model), reader.getVersion(), reader.getDigest(),  reader.getCellNs(),
                      reader.getCells(), std::move(*inputs),  std::move(*outputs), reader.getMaxCells()};
}

Status check_offer(const ClusterOffer& offer, const WireLimits& limits) {
  Status ok = check_given_name("model name", offer.model, limits);
  if (ok) ok = check(offer.inputs, limits);
  if (ok) ok = check(offer.outputs, limits);
  return ok;
}

void write_offer(const ClusterOffer& offer, wire::ClusterOffer::Builder builder) {
  put_text(offer.model, [&](unsigned size) { return builder.initModel(size); });
  builder.setVersion(offer.version);
  builder.setDigest(offer.digest);
  builder.setCellNs(offer.cell_ns);
  builder.setCells(offer.cells);
  builder.setMaxCells(offer.max_cells);
  write(offer.inputs, builder.initInputs(static_cast<unsigned>(offer.inputs.size())));
  write(offer.outputs, builder.initOutputs(static_cast<unsigned>(offer.outputs.size())));
}

std::size_t offer_words(const ClusterOffer& offer) {
  return 8 + text_words(offer.model) + words(offer.inputs) + words(offer.outputs);
}

}  // namespace volvox
