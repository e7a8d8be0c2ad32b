#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include "base/error.h"
#include "protocol/buffer.h"
#include "protocol/limits.h"

namespace volvox {

// Cap'n Proto reports malformed input by exceptions and grows messages segment by segment. These helpers turn
// the first into values and the second into one allocation that is sent as it stands. Internal to the codec.

// "request body is not a well-formed message: …", from the words of an exception.
Error malformed_message(std::string_view what, std::string_view why);

// Runs `function`, which returns a Result, and turns what it throws into its error.
template <class Function>
std::invoke_result_t<Function> caught(std::string_view what, Function&& function) {
  try {
    return function();
  } catch (const kj::Exception& failure) {
    return tl::unexpected<Error>(malformed_message(what, failure.getDescription().cStr()));
  } catch (const std::exception& failure) {
    return fail(ErrorCode::kInternal, std::string(what) + ": " + failure.what());
  }
}

// The same for answers, except that std::bad_alloc goes through: an answer that finds no memory is not one
// that cannot be written, and whoever must give it tries again.
template <class Function>
std::invoke_result_t<Function> caught_unless_memory(std::string_view what, Function&& function) {
  bool short_of_memory = false;
  auto result = caught(what, [&]() -> std::invoke_result_t<Function> {
    try {
      return function();
    } catch (const std::bad_alloc&) {
      short_of_memory = true;
      throw;
    }
  });
  if (short_of_memory) throw std::bad_alloc();
  return result;
}

// Whether `bytes` may be read as a message at all; 8-byte alignment is the caller's promise.
Status check_framing(std::string_view what, std::span<const std::byte> bytes);
Status check_consumed(std::string_view what, std::span<const std::byte> bytes, const capnp::word* end);

// How much a reader may visit: never more than twice the message, so that pointers which share a target gain
// nothing.
capnp::ReaderOptions reader_options(std::span<const std::byte> bytes, const WireLimits& limits);

// Reads `bytes` (8-byte aligned) as a Root and passes it to `use`, whose Result it returns.
template <class Root, class Use>
auto read_message(std::string_view what, std::span<const std::byte> bytes, const WireLimits& limits,
                  Use&& use) -> std::invoke_result_t<Use, typename Root::Reader> {
  if (auto ok = check_framing(what, bytes); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return caught(what, [&]() -> std::invoke_result_t<Use, typename Root::Reader> {
    const auto* words = reinterpret_cast<const capnp::word*>(bytes.data());
    capnp::FlatArrayMessageReader message(kj::arrayPtr(words, bytes.size() / sizeof(capnp::word)),
                                          reader_options(bytes, limits));
    if (auto ok = check_consumed(what, bytes, message.getEnd()); !ok) {
      return tl::unexpected<Error>(std::move(ok).error());
    }
    return use(message.getRoot<Root>());
  });
}

// Builds a message in the memory that is sent: room for the segment table, then one segment of the estimated
// size. A wrong estimate costs a copy, nothing else. Data that lies in memory already can be lent to it: then
// it is not copied, and follows what finish() gives.
class MessageWriter final : public capnp::MessageBuilder {
 public:
  explicit MessageWriter(std::size_t estimated_words);

  kj::ArrayPtr<capnp::word> allocateSegment(unsigned minimum_words) override;

  // Data to be adopted last of all, once. It outlives the writer.
  capnp::Orphan<capnp::Data> borrow(std::span<const std::byte> data);
  // Whole words where words may lie.
  static bool can_borrow(std::span<const std::byte> data);

  // The finished message; the writer is spent. What is borrowed follows it, unless the estimate was wrong.
  WireBuffer finish();
  bool borrowed_follows() const { return borrowed_ != nullptr; }

 private:
  using Segments = kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>;

  WireBuffer joined(Segments segments);

  std::size_t estimated_words_;
  const std::byte* borrowed_ = nullptr;
  WireBuffer first_;                // begins with the word of the segment table
  std::vector<WireBuffer> others_;  // where the estimate was wrong
};

// Words that a text, or as many bytes of data, takes.
inline std::size_t text_words(std::string_view text) {
  return text.size() / sizeof(capnp::word) + 1;
}
inline std::size_t data_words(std::size_t bytes) {
  return (bytes + sizeof(capnp::word) - 1) / sizeof(capnp::word);
}

inline std::string_view view_of(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

// A text field from any view: Cap'n Proto's own setter wants a terminating zero.
template <class Init>
void put_text(std::string_view text, Init&& init) {
  if (text.empty()) return;
  auto target = init(static_cast<unsigned>(text.size()));
  text.copy(target.begin(), text.size());
}

// Refuses a text that is too long or not clean; `what` names the field.
Status check_name(std::string_view what, std::string_view name, const WireLimits& limits);
// The same, and refuses an empty one.
Status check_given_name(std::string_view what, std::string_view name, const WireLimits& limits);

}  // namespace volvox
