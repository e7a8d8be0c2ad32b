#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "protocol/buffer.h"
#include "protocol/messages.h"
#include "protocol/request.h"

namespace volvox {

// A media host has a part of each of thousands of sessions every tick, and a message for each would cost more
// than to run it. A bundle is one message with many parts, and so are its answers; whatever is promised of a
// request holds of each part alone (docs/protocol.md).

// Tokens of many parts as they travel: kinds[kind_of[i]], with the id, nonce and sequence of part i. Views.
struct TokenColumns {
  std::vector<WireSessionToken> kinds;     // none: all parts stand alone, and there are no columns
  std::span<const std::uint16_t> kind_of;  // none: all have the first kind
  std::span<const std::uint64_t> id_hi, id_lo, sequences;

  // Of a request, where a begin has its nonce in the place of the id; nothing for a part that stands alone.
  // INVALID_ARGUMENT where there is no such kind; `part` is one of the message's.
  Result<std::optional<WireSessionToken>> asked(std::size_t part) const;
  // Of a reply.
  Result<std::optional<WireSessionToken>> answered(std::size_t part) const;
};

// The body of a bundle: part i is a chain of lengths[i] steps. Views, as of RequestBody.
struct RequestBundle {
  TokenColumns tokens;
  std::span<const std::uint32_t> lengths;
  std::vector<WireTensor> inputs;  // rows of all parts, one part after the other
  std::vector<std::string_view> outputs;
  std::shared_ptr<const WireBuffer> storage;

  std::size_t parts() const { return lengths.size(); }
};

// Tokens and lengths of a bundle that is being made. A plain value, to be used again and again: clear() keeps
// its memory.
class BundleParts {
 public:
  // A part of `steps` steps; its token as SessionStream::next() gives it, an operation of kNone for a part
  // that stands alone. An end with 0 steps only ends its session.
  void add(const WireSessionToken& token, std::uint32_t steps);
  // The token of an answer.
  void add_answer(const WireSessionToken& token);
  void clear();
  std::size_t size() const { return lengths_.size(); }
  std::uint64_t steps() const { return steps_; }  // of all
  // Borrows these columns.
  RequestBundle bundle() const;

 private:
  void add(const WireSessionToken& token, std::uint64_t hi, std::uint64_t lo);
  std::size_t kind(const WireSessionToken& token);

  std::vector<WireSessionToken> kinds_;
  std::size_t last_ = 0;  // kind of the part before: most have the same
  std::vector<std::uint16_t> kind_of_;
  std::vector<std::uint64_t> id_hi_, id_lo_, sequences_;
  std::vector<std::uint32_t> lengths_;
  std::uint64_t steps_ = 0;
};

// What a client asks by one message. Tensors and names are borrowed until it was sent.
struct ClientBundle {
  RequestHeader header;                   // model, version, deadline, priority, trace: of each part
  BundleParts parts;                      // at most WireLimits::max_bundle_parts
  std::vector<WireTensor> inputs;         // each with BundleParts::steps() rows, in the order of the parts
  std::vector<std::string_view> outputs;  // empty = all that the model declares
  Duration timeout{0};                    // as ClientRequest::timeout, of each part

  // As they travel; the body borrows all that this holds.
  RequestHeader counted_header() const;
  RequestBundle body() const;
};

// One output of the parts that have outputs, in their order.
class BundleOutput {
 public:
  WireTensor tensor;
  std::span<const std::uint32_t> rows;  // none: the first dimension counts the parts

  // The output of the part that is at this place among them.
  WireTensor at(std::size_t place) const;
  // Fills in where parts begin; after `rows` is set.
  void index();

 private:
  std::vector<std::size_t> begins_;  // by row, if there are rows
};

// A part that failed.
struct PartError {
  std::uint32_t part = 0;  // number within its bundle, from 0
  Error error;
  bool undecided = false;
  std::uint64_t retry_after_us = 0;
};

// Answers to some parts of a bundle, as they travel. Columns have an entry for each part that is done. Views.
struct ReplyBundle {
  std::span<const std::uint32_t> done;  // numbers within the bundle, from 0; those with outputs first
  std::size_t with_outputs = 0;
  TokenColumns tokens;
  std::span<const std::uint32_t> cells, queue_us, compute_us, total_us;
  std::vector<BundleOutput> outputs;
  std::vector<PartError> errors;
  std::shared_ptr<const WireBuffer> storage;

  // Output number `output` of the part done[place]; none where `place` is not below with_outputs.
  std::optional<WireTensor> output(std::size_t output, std::size_t place) const;
  // The output of that name, or null.
  const BundleOutput* find(std::string_view name) const;
};

// What a client gets for a bundle: answers to some of its parts, from the server or, with `local`, from the
// client library itself (time limit, lost connection, refusal of the whole bundle). Each part is in exactly
// one.
struct BundleReply {
  std::uint64_t first_id = 0;  // of the bundle: the id of its part 0
  bool final = false;          // all its parts are answered now
  bool local = false;
  std::string server;
  ReplyBundle body;
  Duration elapsed{0};  // since the bundle was sent

  // The same answers as if each part had been sent alone, those that are done first. For whoever has few: the
  // columns are made for many.
  std::vector<Reply> split() const;
};

}  // namespace volvox
