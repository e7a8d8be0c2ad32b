#include <utility>

#include "protocol/codec/capnp_message.h"
#include "protocol/codec/codec.h"
#include "protocol/codec/header_bytes.h"
#include "protocol/codec/packed_body.h"
#include "protocol/codec/structure_check.h"
#include "protocol/codec/structure_codec.h"
#include "protocol/codec/tensor_codec.h"
#include "protocol/volvox.capnp.h"

namespace volvox {
namespace {

Result<RequestBody> read_fields(wire::RequestBody::Reader reader, const WireLimits& limits) {
  RequestBody body;
  auto structure = read_structure(reader.getStructure(), limits);
  if (!structure) return tl::unexpected<Error>(std::move(structure).error());
  auto inputs = read_tensors("input", reader.getInputs(), limits);
  if (!inputs) return tl::unexpected<Error>(std::move(inputs).error());
  auto outputs = read_names("wanted output", reader.getOutputs(), limits.max_tensors, limits);
  if (!outputs) return tl::unexpected<Error>(std::move(outputs).error());
  body.structure = std::move(*structure);
  body.inputs = std::move(*inputs);
  body.outputs = std::move(*outputs);
  return body;
}

// Refuses before copying: a body beyond its limit costs nothing.
template <class Read>
auto copied(std::string_view what, std::span<const std::byte> bytes, const WireLimits& limits, Read read)
    -> std::invoke_result_t<Read, std::shared_ptr<const WireBuffer>, const WireLimits&> {
  if (auto ok = check_frame_size(what, bytes.size(), limits.max_body_bytes); !ok) {
    return tl::unexpected<Error>(std::move(ok).error());
  }
  return read(WireBuffer::share_copy_of(bytes), limits);
}

Status check_parts(const RequestBody& body, const WireLimits& limits) {
  if (auto ok = check_structure(body.structure, limits); !ok) return ok;
  if (auto ok = check_tensors("input", body.inputs, limits); !ok) return ok;
  return check_names("wanted output", body.outputs, limits.max_tensors, limits);
}

}  // namespace

Result<RequestBody> read_request_body(std::shared_ptr<const WireBuffer> storage, const WireLimits& limits) {
  constexpr const char* kWhat = "request body";
  const auto bytes = storage ? storage->bytes() : std::span<const std::byte>{};
  if (auto ok = check_frame_size(kWhat, bytes.size(), limits.max_body_bytes); !ok) {
    return tl::unexpected<Error>(std::move(ok).error());
  }
  auto body = read_message<wire::RequestBody>(
      kWhat, bytes, limits, [&](wire::RequestBody::Reader reader) { return read_fields(reader, limits); });
  if (body) body->storage = std::move(storage);
  return body;
}

Result<ReplyBody> read_reply_body(std::shared_ptr<const WireBuffer> storage, const WireLimits& limits) {
  constexpr const char* kWhat = "reply body";
  const auto bytes = storage ? storage->bytes() : std::span<const std::byte>{};
  if (auto ok = check_frame_size(kWhat, bytes.size(), limits.max_body_bytes); !ok) {
    return tl::unexpected<Error>(std::move(ok).error());
  }
  const auto use = [&](wire::ReplyBody::Reader reader) -> Result<ReplyBody> {
    auto outputs = read_tensors("output", reader.getOutputs(), limits);
    if (!outputs) return tl::unexpected<Error>(std::move(outputs).error());
    return ReplyBody{std::move(*outputs), std::move(storage)};
  };
  return read_message<wire::ReplyBody>(kWhat, bytes, limits, use);
}

Result<RequestBody> decode_request_body(std::span<const std::byte> bytes, const WireLimits& limits) {
  return copied("request body", bytes, limits, read_request_body);
}

Result<ReplyBody> decode_reply_body(std::span<const std::byte> bytes, const WireLimits& limits) {
  return copied("reply body", bytes, limits, read_reply_body);
}

Result<std::size_t> encoded_size(const RequestBody& body, const WireLimits& limits) {
  if (auto ok = check_parts(body, limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
  const std::size_t words =
      4 + structure_words(body.structure) + tensors_words(body.inputs) + names_words(body.outputs);
  if (auto ok = check_frame_size("request body", 8 * words, limits.max_body_bytes); !ok) {
    return tl::unexpected<Error>(std::move(ok).error());
  }
  return 8 * words;
}

Result<WireBuffer> encode_request_body(const RequestBody& body, const WireLimits& limits) {
  const auto size = encoded_size(body, limits);
  if (!size) return tl::unexpected<Error>(size.error());
  return caught("request body", [&]() -> Result<WireBuffer> {
    MessageWriter writer(*size / 8);
    auto root = writer.initRoot<wire::RequestBody>();
    write_structure(body.structure, root.initStructure());
    write_tensors(body.inputs, root.initInputs(static_cast<unsigned>(body.inputs.size())));
    write_names(body.outputs, root.initOutputs(static_cast<unsigned>(body.outputs.size())));
    return writer.finish();
  });
}

Result<WireBuffer> encode_reply_body(std::span<const WireTensor> outputs, const WireLimits& limits) {
  if (auto ok = check_tensors("output", outputs, limits); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  const std::size_t words = 4 + tensors_words(outputs);
  if (auto ok = check_frame_size("reply body", 8 * words, limits.max_body_bytes); !ok) {
    return tl::unexpected<Error>(std::move(ok).error());
  }
  return caught_unless_memory("reply body", [&]() -> Result<WireBuffer> {
    MessageWriter writer(words);
    write_tensors(outputs,
                  writer.initRoot<wire::ReplyBody>().initOutputs(static_cast<unsigned>(outputs.size())));
    return writer.finish();
  });
}

}  // namespace volvox
