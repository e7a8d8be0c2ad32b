#include "protocol/bundle.h"

#include <algorithm>
#include <utility>

namespace volvox {
namespace {

// Whether both differ in nothing but what each part has of its own.
bool same_kind(const WireSessionToken& kind, const WireSessionToken& token) {
  return kind.operation == token.operation && kind.model_version == token.model_version &&
         kind.model_digest == token.model_digest && kind.numerics_id == token.numerics_id &&
         kind.epoch == token.epoch && kind.home == token.home && kind.replica == token.replica;
}

}  // namespace

Result<std::optional<WireSessionToken>> TokenColumns::answered(std::size_t part) const {
  if (kinds.empty()) return std::optional<WireSessionToken>();
  const std::size_t kind = kind_of.empty() ? 0 : kind_of[part];
  if (kind >= kinds.size()) {
    return invalid("the part's token is of kind " + std::to_string(kind) + ", but the bundle has " +
                   std::to_string(kinds.size()));
  }
  if (kinds[kind].operation == SessionOperation::kNone) return std::optional<WireSessionToken>();
  std::optional<WireSessionToken> token(kinds[kind]);
  token->id_hi = id_hi[part];
  token->id_lo = id_lo[part];
  token->nonce = token->nonce_hi = 0;
  token->sequence = sequences[part];
  return token;
}

Result<std::optional<WireSessionToken>> TokenColumns::asked(std::size_t part) const {
  auto token = answered(part);
  if (!token || !*token || (*token)->operation != SessionOperation::kBegin) return token;
  (*token)->nonce_hi = std::exchange((*token)->id_hi, 0);
  (*token)->nonce = std::exchange((*token)->id_lo, 0);
  return token;
}

void BundleParts::add(const WireSessionToken& token, std::uint32_t steps) {
  const bool begins = token.operation == SessionOperation::kBegin;
  add(token, begins ? token.nonce_hi : token.id_hi, begins ? token.nonce : token.id_lo);
  lengths_.push_back(steps);
  steps_ += steps;
}

void BundleParts::add_answer(const WireSessionToken& token) {
  add(token, token.id_hi, token.id_lo);
}

void BundleParts::add(const WireSessionToken& token, std::uint64_t hi, std::uint64_t lo) {
  last_ = kind(token);
  kind_of_.push_back(static_cast<std::uint16_t>(last_));
  id_hi_.push_back(hi);
  id_lo_.push_back(lo);
  sequences_.push_back(token.sequence);
}

std::size_t BundleParts::kind(const WireSessionToken& token) {
  if (last_ < kinds_.size() && same_kind(kinds_[last_], token)) return last_;
  const auto known = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const WireSessionToken& kind) { return same_kind(kind, token); });
  if (known != kinds_.end()) return static_cast<std::size_t>(known - kinds_.begin());
  WireSessionToken& kind = kinds_.emplace_back(token);
  kind.id_hi = kind.id_lo = kind.nonce = kind.nonce_hi = kind.sequence = 0;
  return kinds_.size() - 1;
}

void BundleParts::clear() {
  kinds_.clear();
  last_ = 0;
  kind_of_.clear();
  id_hi_.clear();
  id_lo_.clear();
  sequences_.clear();
  lengths_.clear();
  steps_ = 0;
}

RequestBundle BundleParts::bundle() const {
  RequestBundle bundle;
  bundle.tokens = {kinds_, kind_of_, id_hi_, id_lo_, sequences_};
  bundle.lengths = lengths_;
  return bundle;
}

RequestHeader ClientBundle::counted_header() const {
  RequestHeader counted = header;
  counted.parts = static_cast<std::uint32_t>(parts.size());
  return counted;
}

RequestBundle ClientBundle::body() const {
  RequestBundle body = parts.bundle();
  body.inputs = inputs;
  body.outputs = outputs;
  return body;
}

void BundleOutput::index() {
  begins_.clear();
  std::size_t begin = 0;
  for (const std::uint32_t count : rows) {
    begins_.push_back(begin);
    begin += count;
  }
}

WireTensor BundleOutput::at(std::size_t place) const {
  const auto dims = tensor.shape.dims();
  const std::size_t all = static_cast<std::size_t>(dims[0]);
  const std::size_t row = all == 0 ? 0 : tensor.bytes.size() / all;
  WireTensor part;
  part.name = tensor.name;
  part.type = tensor.type;
  if (!rows.empty()) part.shape.append(rows[place]);
  for (const std::int64_t dim : dims.subspan(1)) part.shape.append(dim);
  part.bytes = rows.empty() ? tensor.bytes.subspan(place * row, row)
                            : tensor.bytes.subspan(begins_[place] * row, rows[place] * row);
  return part;
}

std::optional<WireTensor> ReplyBundle::output(std::size_t output, std::size_t place) const {
  if (place >= with_outputs || output >= outputs.size()) return std::nullopt;
  return outputs[output].at(place);
}

std::vector<Reply> BundleReply::split() const {
  std::vector<Reply> replies;
  replies.reserve(body.done.size() + body.errors.size());
  const auto add = [&](std::uint32_t part) -> Reply& {
    Reply& reply = replies.emplace_back();
    reply.header.request_id = first_id + part;
    reply.header.server = server;
    reply.local = local;
    reply.elapsed = elapsed;
    return reply;
  };
  for (std::size_t i = 0; i < body.done.size(); ++i) {
    Reply& reply = add(body.done[i]);
    reply.header.cells = body.cells[i];
    reply.header.timings = {body.queue_us[i], body.compute_us[i], body.total_us[i]};
    if (auto token = body.tokens.answered(i)) reply.header.session = std::move(*token);
    for (std::size_t output = 0; i < body.with_outputs && output < body.outputs.size(); ++output)
      reply.body.outputs.push_back(body.outputs[output].at(i));
    reply.body.storage = body.storage;
  }
  for (const PartError& error : body.errors) {
    Reply& reply = add(error.part);
    reply.header.kind = ReplyKind::kError;
    reply.header.error = error.error;
    reply.header.undecided = error.undecided;
    reply.header.retry_after_us = error.retry_after_us;
  }
  return replies;
}

const BundleOutput* ReplyBundle::find(std::string_view name) const {
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const BundleOutput& output) { return output.tensor.name == name; });
  return found == outputs.end() ? nullptr : &*found;
}

}  // namespace volvox
