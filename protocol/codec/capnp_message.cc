#include "protocol/codec/capnp_message.h"

#include <algorithm>
#include <cstring>

#include "protocol/text.h"

namespace volvox {
namespace {

constexpr std::size_t kWord = sizeof(capnp::word);

void put_u32(std::byte* at, std::size_t value) {
  const auto narrow = static_cast<std::uint32_t>(value);
  std::memcpy(at, &narrow, sizeof(narrow));
}

}  // namespace

Error malformed_message(std::string_view what, std::string_view why) {
  return {ErrorCode::kInvalidArgument,
          std::string(what) + " is not a well-formed Cap'n Proto message: " + cleaned_text(why, 256)};
}

Status check_framing(std::string_view what, std::span<const std::byte> bytes) {
  if (bytes.empty()) return invalid(std::string(what) + " is empty");
  if (bytes.size() % kWord == 0) return {};
  return tl::unexpected<Error>(malformed_message(
      what, std::to_string(bytes.size()) + " bytes are not a whole number of 8-byte words"));
}

Status check_consumed(std::string_view what, std::span<const std::byte> bytes, const capnp::word* end) {
  const auto left = bytes.data() + bytes.size() - reinterpret_cast<const std::byte*>(end);
  if (left == 0) return {};
  return tl::unexpected<Error>(
      malformed_message(what, std::to_string(left) + " bytes follow its last segment"));
}

capnp::ReaderOptions reader_options(std::span<const std::byte> bytes, const WireLimits& limits) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = std::min<std::uint64_t>(limits.traversal_words, 2 * (bytes.size() / kWord));
  options.nestingLimit = static_cast<int>(limits.nesting);
  return options;
}

MessageWriter::MessageWriter(std::size_t estimated_words) : estimated_words_(estimated_words) {}

kj::ArrayPtr<capnp::word> MessageWriter::allocateSegment(unsigned minimum_words) {
  const std::size_t words = std::max<std::size_t>(minimum_words, estimated_words_);
  const std::size_t table = first_.empty() ? 1 : 0;
  WireBuffer& memory = first_.empty() ? first_ : others_.emplace_back();
  memory = WireBuffer::zeroed((words + table) * kWord);
  return kj::arrayPtr(reinterpret_cast<capnp::word*>(memory.data()) + table, words);
}

bool MessageWriter::can_borrow(std::span<const std::byte> data) {
  return data.size() % kWord == 0 && reinterpret_cast<std::uintptr_t>(data.data()) % kWord == 0;
}

capnp::Orphan<capnp::Data> MessageWriter::borrow(std::span<const std::byte> data) {
  borrowed_ = data.data();
  return getOrphanage().referenceExternalData({reinterpret_cast<const kj::byte*>(data.data()), data.size()});
}

WireBuffer MessageWriter::finish() {
  const auto segments = getSegmentsForOutput();
  if (segments.size() != 1) return joined(segments);
  WireBuffer message = std::move(first_);
  put_u32(message.data(), 0);
  put_u32(message.data() + 4, segments[0].size());
  message.truncate((segments[0].size() + 1) * kWord);
  return message;
}

WireBuffer MessageWriter::joined(Segments segments) {
  const bool borrowed_is_last = reinterpret_cast<const std::byte*>(segments.back().begin()) == borrowed_;
  const Segments copied = segments.slice(0, segments.size() - (borrowed_is_last ? 1 : 0));
  const std::size_t table_bytes = (segments.size() / 2 + 1) * kWord;
  std::size_t bytes = table_bytes;
  for (const auto& segment : copied) bytes += segment.size() * kWord;
  WireBuffer message = WireBuffer::zeroed(bytes);
  put_u32(message.data(), segments.size() - 1);
  std::byte* entry = message.data() + 4;
  for (const auto& segment : segments) {
    put_u32(entry, segment.size());
    entry += 4;
  }
  std::byte* content = message.data() + table_bytes;
  for (const auto& segment : copied) {
    std::memcpy(content, segment.begin(), segment.size() * kWord);
    content += segment.size() * kWord;
  }
  if (!borrowed_is_last) borrowed_ = nullptr;
  return message;
}

Status check_name(std::string_view what, std::string_view name, const WireLimits& limits) {
  if (name.size() > limits.max_name_bytes) {
    return invalid(std::string(what) + " has " + std::to_string(name.size()) + " bytes; the limit is " +
                   std::to_string(limits.max_name_bytes));
  }
  if (!is_clean_text(name))
    return invalid(std::string(what) + " is not UTF-8 text without control characters");
  return {};
}

Status check_given_name(std::string_view what, std::string_view name, const WireLimits& limits) {
  if (name.empty()) return invalid(std::string(what) + " is empty");
  return check_name(what, name, limits);
}

}  // namespace volvox
