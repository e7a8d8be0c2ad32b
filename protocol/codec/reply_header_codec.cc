#include <algorithm>
#include <string>
#include <utility>

#include "protocol/codec/capnp_message.h"
#include "protocol/codec/codec.h"
#include "protocol/codec/header_bytes.h"
#include "protocol/codec/session_codec.h"
#include "protocol/text.h"
#include "protocol/volvox.capnp.h"

namespace volvox {
namespace {

Status read_error(wire::ReplyHeader::Reader reader, ReplyHeader& header) {
  if (header.kind != ReplyKind::kError) return {};
  header.error.code = known_code(reader.getErrorCode());
  const std::string_view message = view_of(reader.getMessage());
  if (message.size() > kMaxErrorTextBytes) {
    return invalid("error text has " + std::to_string(message.size()) + " bytes; the limit is " +
                   std::to_string(kMaxErrorTextBytes));
  }
  header.error.message = cleaned_text(message, kMaxErrorTextBytes);
  header.retry_after_us = reader.getRetryAfterUs();
  header.undecided = reader.getUndecided();
  return {};
}

void read_numbers(wire::ReplyHeader::Reader reader, ReplyHeader& header) {
  header.final = reader.getFinal();
  header.index = reader.getIndex();
  header.cells = reader.getCells();
  header.model_version = reader.getModelVersion();
  header.timings = {reader.getQueueUs(), reader.getComputeUs(), reader.getTotalUs()};
}

Status read_fields(wire::ReplyHeader::Reader reader, const WireLimits& limits, ReplyHeader& header) {
  header.version = reader.getProtocolVersion();
  header.request_id = reader.getRequestId();
  if (auto ok = check_version(header.version, "the server"); !ok) return ok;
  const auto kind = static_cast<std::uint16_t>(reader.getKind());
  if (kind > static_cast<std::uint16_t>(ReplyKind::kBundle)) {
    return invalid("reply kind " + std::to_string(kind) + " is not known");
  }
  header.kind = static_cast<ReplyKind>(kind);
  read_numbers(reader, header);
  if (auto ok = read_error(reader, header); !ok) return ok;
  header.server = view_of(reader.getServer());
  if (reader.hasSessionToken()) {
    auto session = read_session(reader.getSessionToken(), limits);
    if (!session) return tl::unexpected<Error>(std::move(session).error());
    header.session = std::move(*session);
  }
  return check_name("server name", header.server, limits);
}

void write_fields(const ReplyHeader& header, std::string_view message, wire::ReplyHeader::Builder builder) {
  builder.setProtocolVersion(header.version);
  builder.setKind(static_cast<wire::ReplyKind>(header.kind));
  builder.setFinal(header.final);
  builder.setRequestId(header.request_id);
  builder.setIndex(header.index);
  builder.setCells(header.cells);
  builder.setModelVersion(header.model_version);
  builder.setQueueUs(header.timings.queue_us);
  builder.setComputeUs(header.timings.compute_us);
  builder.setTotalUs(header.timings.total_us);
  if (header.kind == ReplyKind::kError) {
    builder.setErrorCode(static_cast<std::uint16_t>(header.error.code));
    builder.setRetryAfterUs(header.retry_after_us);
    builder.setUndecided(header.undecided);
    put_text(message, [&](unsigned size) { return builder.initMessage(size); });
  }
  put_text(header.server, [&](unsigned size) { return builder.initServer(size); });
  if (header.session) write_session(*header.session, builder.initSessionToken());
}

}  // namespace

Result<ReplyHeader> decode_reply_header(std::span<const std::byte> bytes, const WireLimits& limits,
                                        std::uint64_t* request_id) {
  if (request_id != nullptr) *request_id = 0;
  if (auto ok = check_frame_size("reply header", bytes.size(), limits.max_header_bytes); !ok) {
    return tl::unexpected<Error>(std::move(ok).error());
  }
  const AlignedHeader aligned(bytes);
  const auto use = [&](wire::ReplyHeader::Reader reader) -> Result<ReplyHeader> {
    if (request_id != nullptr) *request_id = reader.getRequestId();
    ReplyHeader header;
    if (auto ok = read_fields(reader, limits, header); !ok)
      return tl::unexpected<Error>(std::move(ok).error());
    return header;
  };
  return read_message<wire::ReplyHeader>("reply header", aligned.bytes(), limits, use);
}

Result<WireBuffer> encode_reply_header(const ReplyHeader& header, const WireLimits& limits) {
  auto ok = check_name("server name", header.server, limits);
  if (ok && header.session) ok = check_session(*header.session, limits);
  if (!ok) return tl::unexpected<Error>(std::move(ok).error());
  return caught_unless_memory("reply header", [&]() -> Result<WireBuffer> {
    const std::string message =
        header.kind == ReplyKind::kError ? cleaned_text(header.error.message, kMaxErrorTextBytes) : "";
    MessageWriter writer(20 + text_words(header.server) + text_words(message) +
                         (header.session ? session_words(*header.session) : 0));
    write_fields(header, message, writer.initRoot<wire::ReplyHeader>());
    return writer.finish();
  });
}

}  // namespace volvox
