#include "protocol/codec/packed_body.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "protocol/codec/codec.h"

namespace volvox {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::size_t padded(std::size_t bytes) {
  return (bytes + kWord - 1) / kWord * kWord;
}

// Calls `see` with each view of a structure.
template <class See>
struct StructureViews {
  See& see;

  void operator()(NoStructure&) const {}
  void operator()(ChainStructure&) const {}
  void operator()(SequencesStructure& sequences) const {
    see(sequences.lengths);
    for (std::string_view& name : sequences.names) see(name);
  }
  void operator()(TreeStructure& tree) const { see(tree.parents); }
  void operator()(LatticeStructure& lattice) const {
    see(lattice.starts);
    see(lattice.ends);
  }
  void operator()(GraphStructure& graph) const {
    see(graph.type_of);
    see(graph.offsets);
    see(graph.predecessors);
    for (std::string_view& name : graph.cell_types) see(name);
  }
};

template <class See>
void each_view(RequestBody& body, See see) {
  for (WireTensor& input : body.inputs) see(input.bytes);
  std::visit(StructureViews<See>{see}, body.structure);
  for (WireTensor& input : body.inputs) see(input.name);
  for (std::string_view& name : body.outputs) see(name);
}

// Copies what the view shows to `at`, and zeros up to the next word; the view then shows the copy.
template <class View>
void move_view(View& view, std::byte*& at) {
  using Element = std::remove_cvref_t<decltype(*view.data())>;
  const auto bytes = std::as_bytes(std::span(view));
  const std::size_t size = bytes.size();
  std::copy(bytes.begin(), bytes.end(), at);
  std::fill(at + size, at + padded(size), std::byte{});
  view = View(reinterpret_cast<const Element*>(at), view.size());
  at += padded(size);
}

}  // namespace

Result<RequestBody> pack_request_body(const RequestBody& body, const WireLimits& limits) {
  if (auto fits = encoded_size(body, limits); !fits) return tl::unexpected(std::move(fits).error());
  RequestBody packed = body;
  std::size_t total = 0;
  each_view(packed, [&](const auto& view) { total += padded(std::as_bytes(std::span(view)).size()); });
  WireBuffer buffer = WireBuffer::unwritten(total);
  std::byte* at = buffer.data();
  each_view(packed, [&](auto& view) { move_view(view, at); });
  packed.storage = std::make_shared<const WireBuffer>(std::move(buffer));
  return packed;
}

Digest digest_of(const RequestBody& body, const HashKey& key) {
  KeyedHash hash(key);
  RequestBody views = body;
  for (const WireTensor& input : body.inputs) {
    hash.add(static_cast<std::uint64_t>(input.type));
    hash.add(std::as_bytes(input.shape.dims()));
  }
  hash.add(std::uint64_t{body.inputs.size()});
  hash.add(std::uint64_t{body.outputs.size()});
  hash.add(std::uint64_t{body.structure.index()});
  if (const auto* chain = std::get_if<ChainStructure>(&body.structure))
    hash.add(std::uint64_t{chain->length});
  if (const auto* lattice = std::get_if<LatticeStructure>(&body.structure))
    hash.add(std::uint64_t{lattice->length});
  each_view(views, [&](const auto& view) { hash.add(std::as_bytes(std::span(view))); });
  return hash.digest();
}

}  // namespace volvox
