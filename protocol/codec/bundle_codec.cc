#include "protocol/codec/bundle_codec.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <capnp/any.h>

#include "protocol/codec/capnp_message.h"
#include "protocol/codec/header_bytes.h"
#include "protocol/codec/session_codec.h"
#include "protocol/codec/tensor_codec.h"
#include "protocol/text.h"
#include "protocol/volvox.capnp.h"

namespace volvox {
namespace {

template <class Number>
constexpr capnp::ElementSize element_size() {
  if constexpr (sizeof(Number) == 2) return capnp::ElementSize::TWO_BYTES;
  if constexpr (sizeof(Number) == 4) return capnp::ElementSize::FOUR_BYTES;
  return capnp::ElementSize::EIGHT_BYTES;
}

// The list's elements in place. A list of wider elements would be legal Cap'n Proto, but has gaps.
template <class Number>
Result<std::span<const Number>> read_column(std::string_view what,
                                            typename capnp::List<Number>::Reader list) {
  if (list.size() == 0) return std::span<const Number>{};
  const capnp::AnyList::Reader any(list);
  if (any.getElementSize() != element_size<Number>()) {
    return invalid(std::string(what) + " is not a plain list of " + std::to_string(8 * sizeof(Number)) +
                   "-bit integers");
  }
  const auto* first = reinterpret_cast<const Number*>(any.getRawBytes().begin());
  return std::span<const Number>(first, list.size());
}

// The same, with an entry for each of `count` parts; or with none where that is allowed.
template <class Number>
Status read_column(std::string_view what, typename capnp::List<Number>::Reader list, std::size_t count,
                   bool optional, std::span<const Number>& column) {
  const auto read = read_column<Number>(what, list);
  if (!read) return tl::unexpected<Error>(read.error());
  column = *read;
  if (column.size() == count || (optional && column.empty())) return {};
  return invalid(std::string(what) + " has " + std::to_string(column.size()) + " entries for " +
                 std::to_string(count) + " parts");
}

template <class Number>
void write_column(std::span<const Number> column, typename capnp::List<Number>::Builder list) {
  for (unsigned i = 0; i < column.size(); ++i) list.set(i, column[i]);
}

unsigned count(std::size_t size) {
  return static_cast<unsigned>(size);
}

template <class Number>
std::size_t column_words(std::span<const Number> column) {
  return data_words(column.size_bytes());
}

Status read_tokens(wire::TokenColumns::Reader reader, std::size_t parts, const WireLimits& limits,
                   TokenColumns& tokens) {
  const auto kinds = reader.getKinds();
  if (kinds.size() > parts) return invalid("a bundle has more kinds of tokens than parts");
  tokens.kinds.reserve(kinds.size());
  for (const auto kind : kinds) {
    auto token = read_session(kind, limits);
    if (!token) return tl::unexpected<Error>(std::move(token).error());
    tokens.kinds.push_back(std::move(*token));
  }
  const std::size_t rows = tokens.kinds.empty() ? 0 : parts;
  Status ok = read_column("tokens.kindOf", reader.getKindOf(), rows, true, tokens.kind_of);
  if (ok) ok = read_column("tokens.idHi", reader.getIdHi(), rows, false, tokens.id_hi);
  if (ok) ok = read_column("tokens.idLo", reader.getIdLo(), rows, false, tokens.id_lo);
  if (ok) ok = read_column("tokens.sequences", reader.getSequences(), rows, false, tokens.sequences);
  return ok;
}

void write_tokens(const TokenColumns& tokens, wire::TokenColumns::Builder builder) {
  auto kinds = builder.initKinds(count(tokens.kinds.size()));
  for (unsigned i = 0; i < kinds.size(); ++i) write_session(tokens.kinds[i], kinds[i]);
  write_column(tokens.kind_of, builder.initKindOf(count(tokens.kind_of.size())));
  write_column(tokens.id_hi, builder.initIdHi(count(tokens.id_hi.size())));
  write_column(tokens.id_lo, builder.initIdLo(count(tokens.id_lo.size())));
  write_column(tokens.sequences, builder.initSequences(count(tokens.sequences.size())));
}

std::size_t tokens_words(const TokenColumns& tokens) {
  std::size_t words = 8 + column_words(tokens.kind_of) + column_words(tokens.id_hi) +
                      column_words(tokens.id_lo) + column_words(tokens.sequences);
  for (const WireSessionToken& kind : tokens.kinds) words += session_words(kind);
  return words;
}

Status check_count(std::size_t parts, const WireLimits& limits) {
  if (parts > 0 && parts <= limits.max_bundle_parts) return {};
  return invalid("a bundle of " + std::to_string(parts) + " parts; it may have 1 to " +
                 std::to_string(limits.max_bundle_parts));
}

// Parts find their rows by their lengths.
Status check_rows(const RequestBundle& bundle) {
  std::uint64_t steps = 0;
  for (const std::uint32_t length : bundle.lengths) steps += length;
  for (const WireTensor& input : bundle.inputs) {
    const auto dims = input.shape.dims();
    if (!dims.empty() && static_cast<std::uint64_t>(dims[0]) == steps) continue;
    return invalid("input '" + std::string(input.name) + "' of the bundle has the shape " +
                   to_string(input.shape) + "; its parts have " + std::to_string(steps) +
                   " steps together, and a row for each");
  }
  return {};
}

Result<RequestBundle> read_fields(wire::BundleBody::Reader reader, const WireLimits& limits) {
  RequestBundle bundle;
  const auto lengths = read_column<std::uint32_t>("lengths", reader.getLengths());
  if (!lengths) return tl::unexpected<Error>(lengths.error());
  bundle.lengths = *lengths;
  Status ok = check_count(bundle.parts(), limits);
  if (ok) ok = read_tokens(reader.getTokens(), bundle.parts(), limits, bundle.tokens);
  if (!ok) return tl::unexpected<Error>(std::move(ok).error());
  auto inputs = read_tensors("input", reader.getInputs(), limits);
  if (!inputs) return tl::unexpected<Error>(std::move(inputs).error());
  auto outputs = read_names("wanted output", reader.getOutputs(), limits.max_tensors, limits);
  if (!outputs) return tl::unexpected<Error>(std::move(outputs).error());
  bundle.inputs = std::move(*inputs);
  bundle.outputs = std::move(*outputs);
  if (ok = check_rows(bundle); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return bundle;
}

Status check_bundle(const RequestBundle& bundle, const WireLimits& limits) {
  Status ok = check_count(bundle.parts(), limits);
  for (const WireSessionToken& kind : bundle.tokens.kinds) {
    if (ok) ok = check_session(kind, limits);
  }
  if (ok) ok = check_tensors("input", bundle.inputs, limits);
  if (ok) ok = check_names("wanted output", bundle.outputs, limits.max_tensors, limits);
  if (ok) ok = check_rows(bundle);
  return ok;
}

// Replies.

Status read_output(wire::BundleOutput::Reader reader, WireTensor tensor, std::size_t parts,
                   BundleOutput& output) {
  output.tensor = tensor;
  const Status ok = read_column("rows", reader.getRows(), parts, true, output.rows);
  if (!ok) return ok;
  const auto dims = tensor.shape.dims();
  std::uint64_t rows = output.rows.empty() ? parts : 0;
  for (const std::uint32_t count : output.rows) rows += count;
  if (dims.empty() || static_cast<std::uint64_t>(dims[0]) != rows) {
    return invalid("output '" + std::string(tensor.name) + "' has the shape " + to_string(tensor.shape) +
                   ", but its parts have " + std::to_string(rows) + " rows");
  }
  output.index();
  return {};
}

Status read_outputs(capnp::List<wire::BundleOutput>::Reader list, const WireLimits& limits,
                    ReplyBundle& bundle) {
  if (list.size() > limits.max_tensors) return invalid("a bundle has more outputs than max_tensors allows");
  bundle.outputs.resize(list.size());
  for (unsigned i = 0; i < list.size(); ++i) {
    const auto tensor = read_tensor("output", list[i].getTensor(), limits);
    if (!tensor) return tl::unexpected<Error>(tensor.error());
    for (unsigned j = 0; j < i; ++j) {
      if (bundle.outputs[j].tensor.name == tensor->name)
        return invalid("output '" + std::string(tensor->name) + "' is given twice");
    }
    if (auto ok = read_output(list[i], *tensor, bundle.with_outputs, bundle.outputs[i]); !ok) return ok;
  }
  return {};
}

Status read_errors(capnp::List<wire::PartError>::Reader list, const WireLimits& limits,
                   std::vector<PartError>& errors) {
  if (list.size() > limits.max_bundle_parts) return invalid("more errors than a bundle may have parts");
  errors.reserve(list.size());
  for (const auto reader : list) {
    PartError& error = errors.emplace_back();
    error.part = reader.getPart();
    error.undecided = reader.getUndecided();
    error.retry_after_us = reader.getRetryAfterUs();
    error.error.code = known_code(reader.getErrorCode());
    error.error.message = cleaned_text(view_of(reader.getMessage()), kMaxErrorTextBytes);
  }
  return {};
}

Result<ReplyBundle> read_fields(wire::BundleReplyBody::Reader reader, const WireLimits& limits) {
  ReplyBundle bundle;
  const auto done = read_column<std::uint32_t>("done", reader.getDone());
  if (!done) return tl::unexpected<Error>(done.error());
  bundle.done = *done;
  const std::size_t parts = bundle.done.size();
  bundle.with_outputs = reader.getWithOutputs();
  Status ok;
  if (parts > limits.max_bundle_parts) ok = invalid("more answers than a bundle may have parts");
  if (ok && bundle.with_outputs > parts) ok = invalid("more parts with outputs than parts that are done");
  if (ok) ok = read_tokens(reader.getTokens(), parts, limits, bundle.tokens);
  if (ok) ok = read_column("cells", reader.getCells(), parts, false, bundle.cells);
  if (ok) ok = read_column("queueUs", reader.getQueueUs(), parts, false, bundle.queue_us);
  if (ok) ok = read_column("computeUs", reader.getComputeUs(), parts, false, bundle.compute_us);
  if (ok) ok = read_column("totalUs", reader.getTotalUs(), parts, false, bundle.total_us);
  if (ok) ok = read_outputs(reader.getOutputs(), limits, bundle);
  if (ok) ok = read_errors(reader.getErrors(), limits, bundle.errors);
  // A client asks each answer for its token: one that makes no sense is the server's fault, and known here.
  for (std::size_t i = 0; ok && i < bundle.tokens.kind_of.size(); ++i) {
    if (bundle.tokens.kind_of[i] >= bundle.tokens.kinds.size())
      ok = invalid("an answer has no kind of token");
  }
  if (!ok) return tl::unexpected<Error>(std::move(ok).error());
  return bundle;
}

// How the outputs of the parts that have some lie together.
struct OutputLayout {
  WireTensor tensor;                // of all; its bytes are those of the first
  std::vector<std::uint32_t> rows;  // none: stacked
  std::size_t bytes = 0;
};

// Whether two parts' outputs can follow each other in one tensor.
bool alike(std::span<const WireTensor> one, std::span<const WireTensor> other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const WireTensor& a, const WireTensor& b) {
                      const auto x = a.shape.dims(), y = b.shape.dims();
                      return a.name == b.name && a.type == b.type && x.size() == y.size() &&
                             (x.empty() || std::equal(x.begin() + 1, x.end(), y.begin() + 1));
                    });
}

std::size_t output_bytes(const PartReply& reply) {
  std::size_t bytes = 0;
  for (const WireTensor& output : reply.outputs) bytes += output.bytes.size();
  return bytes;
}

// Bytes of a message that a part takes for sure, those of its outputs included.
std::size_t reply_bytes(const PartReply& reply) {
  if (reply.error != nullptr) return 48 + std::min(reply.error->message.size(), kMaxErrorTextBytes);
  return 2 + 3 * 8 + 5 * 4 + 4 * reply.outputs.size() + output_bytes(reply);
}

// What a message takes besides.
std::size_t frame_bytes(const PartReply& reply) {
  std::size_t bytes = 512;
  for (const WireTensor& output : reply.outputs) bytes += 256 + output.name.size();
  return bytes;
}

struct ReplyColumns {
  std::vector<std::uint32_t> done, cells, queue_us, compute_us, total_us;
  BundleParts tokens;
  std::size_t with_outputs = 0;
  std::vector<OutputLayout> outputs;
  std::vector<const PartReply*> good;
};

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

OutputLayout layout_of(std::span<const PartReply* const> parts, std::size_t output,
                       const WireLimits& limits) {
  const WireTensor& first = parts.front()->outputs[output];
  OutputLayout layout;
  layout.tensor = first;
  bool same = first.shape.rank() < std::min<std::size_t>(limits.max_rank, WireShape::kMaxRank);
  for (const PartReply* part : parts) {
    const WireTensor& tensor = part->outputs[output];
    layout.bytes += tensor.bytes.size();
    same = same && tensor.shape == first.shape;
  }
  WireShape shape;
  if (same) {
    shape.append(static_cast<std::int64_t>(parts.size()));
    for (const std::int64_t dim : first.shape.dims()) shape.append(dim);
  } else {
    std::int64_t rows = 0;
    for (const PartReply* part : parts) {
      const std::int64_t count = part->outputs[output].shape[0];
      layout.rows.push_back(static_cast<std::uint32_t>(count));
      rows += count;
    }
    shape.append(rows);
    for (const std::int64_t dim : first.shape.dims().subspan(1)) shape.append(dim);
  }
  layout.tensor.shape = shape;
  return layout;
}

ReplyColumns columns_of(std::span<const PartReply> replies, const WireLimits& limits) {
  ReplyColumns columns;
  columns.good.reserve(replies.size());
  for (const PartReply& reply : replies) {
    if (reply.error == nullptr && !reply.outputs.empty()) columns.good.push_back(&reply);
  }
  columns.with_outputs = columns.good.size();
  for (const PartReply& reply : replies) {
    if (reply.error == nullptr && reply.outputs.empty()) columns.good.push_back(&reply);
  }
  const WireSessionToken alone;
  for (const PartReply* reply : columns.good) {
    columns.done.push_back(reply->part);
    columns.cells.push_back(reply->cells);
    columns.queue_us.push_back(narrow(reply->timings.queue_us));
    columns.compute_us.push_back(narrow(reply->timings.compute_us));
    columns.total_us.push_back(narrow(reply->timings.total_us));
    columns.tokens.add_answer(reply->token == nullptr ? alone : *reply->token);
  }
  if (columns.with_outputs > 0) {
    const auto parts = std::span<const PartReply* const>(columns.good).first(columns.with_outputs);
    for (std::size_t i = 0; i < parts.front()->outputs.size(); ++i)
      columns.outputs.push_back(layout_of(parts, i, limits));
  }
  return columns;
}

std::size_t words_of(const ReplyColumns& columns, const TokenColumns& tokens,
                     std::span<const PartReply> replies) {
  std::size_t words =
      16 + tokens_words(tokens) + 5 * column_words(std::span<const std::uint32_t>(columns.done));
  for (const OutputLayout& output : columns.outputs) {
    words += 8 + text_words(output.tensor.name) + output.tensor.shape.rank() + data_words(output.bytes) +
             column_words(std::span<const std::uint32_t>(output.rows));
  }
  for (const PartReply& reply : replies) {
    if (reply.error != nullptr)
      words += 4 + 1 + std::min(reply.error->message.size(), kMaxErrorTextBytes) / sizeof(capnp::word) + 1;
  }
  return words;
}

void write_output(const ReplyColumns& columns, std::size_t number, wire::BundleOutput::Builder builder) {
  const OutputLayout& layout = columns.outputs[number];
  auto tensor = builder.initTensor();
  put_text(layout.tensor.name, [&](unsigned size) { return tensor.initName(size); });
  tensor.setType(static_cast<wire::ElementType>(layout.tensor.type));
  auto shape = tensor.initShape(count(layout.tensor.shape.rank()));
  for (unsigned axis = 0; axis < shape.size(); ++axis) shape.set(axis, layout.tensor.shape[axis]);
  kj::byte* at = tensor.initData(count(layout.bytes)).begin();
  for (std::size_t part = 0; part < columns.with_outputs; ++part) {
    const auto bytes = columns.good[part]->outputs[number].bytes;
    if (bytes.empty()) continue;
    std::memcpy(at, bytes.data(), bytes.size());
    at += bytes.size();
  }
  write_column(std::span<const std::uint32_t>(layout.rows), builder.initRows(count(layout.rows.size())));
}

void write_errors(std::span<const PartReply> replies, wire::BundleReplyBody::Builder builder) {
  const auto failed = std::count_if(replies.begin(), replies.end(),
                                    [](const PartReply& reply) { return reply.error != nullptr; });
  auto list = builder.initErrors(static_cast<unsigned>(failed));
  unsigned next = 0;
  for (const PartReply& reply : replies) {
    if (reply.error == nullptr) continue;
    auto error = list[next++];
    error.setPart(reply.part);
    error.setErrorCode(static_cast<std::uint16_t>(reply.error->code));
    error.setUndecided(reply.undecided);
    error.setRetryAfterUs(reply.retry_after_us);
    const std::string message = cleaned_text(reply.error->message, kMaxErrorTextBytes);
    put_text(message, [&](unsigned size) { return error.initMessage(size); });
  }
}

}  // namespace

Result<RequestBundle> read_request_bundle(std::shared_ptr<const WireBuffer> storage,
                                          const WireLimits& limits) {
  constexpr const char* kWhat = "bundle";
  const auto bytes = storage ? storage->bytes() : std::span<const std::byte>{};
  if (auto ok = check_frame_size(kWhat, bytes.size(), limits.max_body_bytes); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  auto bundle = read_message<wire::BundleBody>(
      kWhat, bytes, limits, [&](wire::BundleBody::Reader reader) { return read_fields(reader, limits); });
  if (bundle) bundle->storage = std::move(storage);
  return bundle;
}

Result<ReplyBundle> read_reply_bundle(std::shared_ptr<const WireBuffer> storage, const WireLimits& limits) {
  constexpr const char* kWhat = "bundle of replies";
  const auto bytes = storage ? storage->bytes() : std::span<const std::byte>{};
  if (auto ok = check_frame_size(kWhat, bytes.size(), limits.max_body_bytes); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  auto bundle = read_message<wire::BundleReplyBody>(
      kWhat, bytes, limits,
      [&](wire::BundleReplyBody::Reader reader) { return read_fields(reader, limits); });
  if (bundle) bundle->storage = std::move(storage);
  return bundle;
}

Result<WireBuffer> encode_request_bundle(const RequestBundle& bundle, const WireLimits& limits) {
  if (auto ok = check_bundle(bundle, limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
  const std::size_t words = 5 + tokens_words(bundle.tokens) + column_words(bundle.lengths) +
                            tensors_words(bundle.inputs) + names_words(bundle.outputs);
  if (auto ok = check_frame_size("bundle", 8 * words, limits.max_body_bytes); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  return caught("bundle", [&]() -> Result<WireBuffer> {
    MessageWriter writer(words);
    auto root = writer.initRoot<wire::BundleBody>();
    write_tokens(bundle.tokens, root.initTokens());
    write_column(bundle.lengths, root.initLengths(count(bundle.parts())));
    write_tensors(bundle.inputs, root.initInputs(count(bundle.inputs.size())));
    write_names(bundle.outputs, root.initOutputs(count(bundle.outputs.size())));
    return writer.finish();
  });
}

std::size_t bundled_replies(std::span<const PartReply> replies, const WireLimits& limits) {
  const PartReply* first = nullptr;  // that has outputs
  std::size_t bytes = 0, parts = 0;
  for (; parts < replies.size(); ++parts) {
    const PartReply& reply = replies[parts];
    if (reply.error == nullptr && !reply.outputs.empty()) {
      if (first != nullptr && !alike(first->outputs, reply.outputs)) break;
      if (first == nullptr) bytes += frame_bytes(reply);
      first = &reply;
    }
    bytes += reply_bytes(reply);
    if (reply.token != nullptr && (parts == 0 || replies[parts - 1].token == nullptr ||
                                   replies[parts - 1].token->home != reply.token->home))
      bytes += 8 * session_words(*reply.token);
    if (parts > 0 && bytes + 1024 > limits.max_body_bytes) break;
  }
  return parts;
}

Result<WireBuffer> encode_reply_bundle(std::span<const PartReply> replies, const WireLimits& limits) {
  return caught_unless_memory("bundle of replies", [&]() -> Result<WireBuffer> {
    const ReplyColumns columns = columns_of(replies, limits);
    TokenColumns tokens = columns.tokens.bundle().tokens;
    const bool any = std::any_of(tokens.kinds.begin(), tokens.kinds.end(), [](const WireSessionToken& kind) {
      return kind.operation != SessionOperation::kNone;
    });
    if (!any) tokens = {};
    for (const WireSessionToken& kind : tokens.kinds) {
      if (auto ok = check_session(kind, limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
    }
    const std::size_t words = words_of(columns, tokens, replies);
    if (auto ok = check_frame_size("bundle of replies", 8 * words, limits.max_body_bytes); !ok)
      return tl::unexpected<Error>(std::move(ok).error());
    MessageWriter writer(words);
    auto root = writer.initRoot<wire::BundleReplyBody>();
    const auto put = [](std::span<const std::uint32_t> column, auto list) { write_column(column, list); };
    put(columns.done, root.initDone(count(columns.done.size())));
    root.setWithOutputs(count(columns.with_outputs));
    write_tokens(tokens, root.initTokens());
    put(columns.cells, root.initCells(count(columns.cells.size())));
    put(columns.queue_us, root.initQueueUs(count(columns.queue_us.size())));
    put(columns.compute_us, root.initComputeUs(count(columns.compute_us.size())));
    put(columns.total_us, root.initTotalUs(count(columns.total_us.size())));
    auto outputs = root.initOutputs(count(columns.outputs.size()));
    for (unsigned i = 0; i < outputs.size(); ++i) write_output(columns, i, outputs[i]);
    write_errors(replies, root);
    return writer.finish();
  });
}

}  // namespace volvox
