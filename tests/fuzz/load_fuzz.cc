// What a coordinator and its agents say to each other: each message is refused by a typed error, or becomes a
// value that means the same after it has been written and read once more; and a job that is read can be run.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "loadgen/agents/load_codec.h"
#include "loadgen/plan/plan.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

void check_job(const LoadJob& job) {
  require(check_mix(job.mix).has_value() && check_parts(job.parts).has_value(),
          "a job that is read can be run");
  std::size_t longest = 0;
  for (const RequestClass& one : job.mix.classes()) {
    // A request of a million tokens is right, and slow to make a million times.
    if (const auto* lengths = std::get_if<LengthSource>(&one.source.shapes()))
      for (const std::uint32_t length : lengths->table()) longest = std::max<std::size_t>(longest, length);
    else
      longest = 1000;
    std::size_t elements = 1;
    for (const std::uint32_t extent : one.source.row_shape()) elements *= extent;
    if (elements > 100) longest = 1000;
  }
  RequestContent content;
  for (std::uint64_t index = 0; index < 3 && longest < 1000; ++index) {
    job.mix.make(index, content);
    require(content.of_class < job.mix.classes().size(), "a request is of a class");
  }
}

void check_message(Bytes bytes) {
  const auto message = decode_load_message(bytes);
  if (!message) return require_refusal(message.error());
  if (const auto* job = std::get_if<LoadJob>(&*message)) check_job(*job);
  const auto written = encode_load_message(*message);
  require(written.has_value(), "a message that was read can be written");
  const auto again = decode_load_message(written->bytes());
  require(again && again->index() == message->index(), "a message is of its kind when it is read again");
  const auto rewritten = encode_load_message(*again);
  require(rewritten && std::ranges::equal(rewritten->bytes(), written->bytes()),
          "a message means the same when it is read again");
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace volvox::fuzz;
  const auto [header, message] = split(data, size);
  if (const auto run = volvox::decode_load_header(header); !run) require_refusal(run.error());
  check_message(message);
  return 0;
}
