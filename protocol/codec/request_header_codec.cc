#include <string>
#include <utility>

#include "protocol/codec/capnp_message.h"
#include "protocol/codec/codec.h"
#include "protocol/codec/header_bytes.h"
#include "protocol/codec/session_codec.h"
#include "protocol/volvox.capnp.h"

namespace volvox {
namespace {

// Of a bundle. Whoever reads its body looks whether there are too many.
Status check_parts(const RequestHeader& header) {
  if (header.parts == 0) return invalid("a bundle without parts; it has one at least");
  if (header.request_id + header.parts < header.request_id)
    return invalid("the ids of the bundle's parts exceed 64 bits; number requests from 1");
  if (header.session) return invalid("a bundle's session tokens are in its body, none is in its header");
  if (header.stream) return invalid("the parts of a bundle are not streamed; ask without `stream`");
  return {};
}

Status check_fields(const RequestHeader& header, const WireLimits& limits) {
  if (header.request_id == 0 && header.kind != RequestKind::kPing)
    return invalid("request id 0 is reserved; number requests from 1");
  if (header.kind == RequestKind::kCancel && header.parts > limits.max_bundle_parts)
    return invalid("a cancel means more requests than a bundle may have parts");
  if (header.kind == RequestKind::kBundle) {
    if (auto ok = check_parts(header); !ok) return ok;
  }
  if (header.kind == RequestKind::kInfer || header.kind == RequestKind::kBundle)
    return check_given_name("model name", header.model, limits);
  return check_name("model name", header.model, limits);
}

Status read_enums(wire::RequestHeader::Reader reader, RequestHeader& header) {
  const auto kind = static_cast<std::uint16_t>(reader.getKind());
  if (kind > static_cast<std::uint16_t>(RequestKind::kBundle)) {
    return invalid("request kind " + std::to_string(kind) + " is not known");
  }
  const auto priority = static_cast<std::uint16_t>(reader.getPriority());
  if (priority > static_cast<std::uint16_t>(WirePriority::kLow)) {
    return invalid("priority " + std::to_string(priority) + " is not known");
  }
  header.kind = static_cast<RequestKind>(kind);
  header.priority = static_cast<WirePriority>(priority);
  return {};
}

Status read_fields(wire::RequestHeader::Reader reader, const WireLimits& limits, RequestHeader& header) {
  header.version = reader.getProtocolVersion();
  header.request_id = reader.getRequestId();
  if (auto ok = check_version(header.version, "the client"); !ok) return ok;
  if (auto ok = read_enums(reader, header); !ok) return ok;
  header.model = view_of(reader.getModel());
  header.model_version = reader.getModelVersion();
  header.cells_hint = reader.getCellsHint();
  header.deadline_us = reader.getDeadlineUs();
  header.trace_hi = reader.getTraceIdHi();
  header.trace_lo = reader.getTraceIdLo();
  header.stream = reader.getStream();
  header.stream_from = reader.getStreamFrom();
  header.parts = reader.getParts();
  header.parent_span = reader.getParentSpanId();
  header.trace_sampled = reader.getTraceSampled();
  if (reader.hasSessionToken()) {
    auto session = read_session(reader.getSessionToken(), limits);
    if (!session) return tl::unexpected<Error>(std::move(session).error());
    header.session = std::move(*session);
  }
  return check_fields(header, limits);
}

void write_fields(const RequestHeader& header, wire::RequestHeader::Builder builder) {
  builder.setProtocolVersion(header.version);
  builder.setKind(static_cast<wire::RequestKind>(header.kind));
  builder.setPriority(static_cast<wire::Priority>(header.priority));
  builder.setRequestId(header.request_id);
  builder.setModelVersion(header.model_version);
  builder.setCellsHint(header.cells_hint);
  builder.setDeadlineUs(header.deadline_us);
  builder.setTraceIdHi(header.trace_hi);
  builder.setTraceIdLo(header.trace_lo);
  builder.setStream(header.stream);
  builder.setStreamFrom(header.stream_from);
  builder.setParts(header.parts);
  builder.setParentSpanId(header.parent_span);
  builder.setTraceSampled(header.trace_sampled);
  put_text(header.model, [&](unsigned size) { return builder.initModel(size); });
  if (header.session) write_session(*header.session, builder.initSessionToken());
}

}  // namespace

Result<RequestHeader> decode_request_header(std::span<const std::byte> bytes, const WireLimits& limits,
                                            std::uint64_t* request_id) {
  if (request_id != nullptr) *request_id = 0;
  if (auto ok = check_frame_size("request header", bytes.size(), limits.max_header_bytes); !ok) {
    return tl::unexpected<Error>(std::move(ok).error());
  }
  const AlignedHeader aligned(bytes);
  const auto use = [&](wire::RequestHeader::Reader reader) -> Result<RequestHeader> {
    if (request_id != nullptr) *request_id = reader.getRequestId();
    RequestHeader header;
    if (auto ok = read_fields(reader, limits, header); !ok)
      return tl::unexpected<Error>(std::move(ok).error());
    return header;
  };
  return read_message<wire::RequestHeader>("request header", aligned.bytes(), limits, use);
}

Result<WireBuffer> encode_request_header(const RequestHeader& header, const WireLimits& limits) {
  auto ok = check_fields(header, limits);
  if (ok && header.session) ok = check_session(*header.session, limits);
  if (!ok) return tl::unexpected<Error>(std::move(ok).error());
  return caught("request header", [&]() -> Result<WireBuffer> {
    MessageWriter writer(18 + text_words(header.model) +
                         (header.session ? session_words(*header.session) : 0));
    write_fields(header, writer.initRoot<wire::RequestHeader>());
    return writer.finish();
  });
}

}  // namespace volvox
