#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include <capnp/any.h>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include "protocol/codec/codec.h"
#include "protocol/volvox.capnp.h"
#include "tests/sanitized.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using Bytes = std::vector<std::byte>;
using test::kLimits;

// Whatever is accepted must be fit for use: every view readable and within the buffer that the body holds.
void touch(const WireTensor& tensor, const WireBuffer& storage) {
  ASSERT_EQ(tensor.bytes.size(), tensor_bytes(tensor.type, tensor.shape));
  if (tensor.bytes.empty()) return;
  ASSERT_GE(tensor.bytes.data(), storage.data());
  ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(), storage.data() + storage.size());
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % 8, 0U);
}

void touch(const GraphStructure& graph) {
  for (std::size_t node = 0; node < graph.type_of.size(); ++node) {
    ASSERT_LT(static_cast<std::size_t>(graph.type_of[node]), graph.cell_types.size());
    for (auto edge = graph.offsets[node]; edge < graph.offsets[node + 1]; ++edge) {
      ASSERT_LT(static_cast<std::size_t>(graph.predecessors[static_cast<std::size_t>(edge)]), node);
    }
  }
}

// What decoding a message may cost at the most: thread time, for other processes take the clock's. Sanitizers
// are many times slower, and keep what was freed.
constexpr long kMostUs = kSanitized ? 500'000 : 50'000, kMostKib = (kSanitized ? 1024L : 32L) << 10;

long thread_time_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

long peak_memory_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Within its life the process must not have had kMostKib more than at its begin.
class BoundedMemory {
 public:
  BoundedMemory() = default;
  BoundedMemory(const BoundedMemory&) = delete;
  BoundedMemory& operator=(const BoundedMemory&) = delete;
  ~BoundedMemory() { EXPECT_LE(peak_memory_kib(), before_ + kMostKib) << "a message was taken at its word"; }

 private:
  long before_ = peak_memory_kib();
};

class HostileBytes : public testing::Test {
  BoundedMemory memory_;
};

bool decode_by_all(const Bytes& bytes);

// Feeds the same bytes to all four decoders; true if any accepts them. None may take long.
bool decode_all(const Bytes& bytes) {
  const long before = thread_time_us();
  const bool accepted = decode_by_all(bytes);
  EXPECT_LE(thread_time_us() - before, kMostUs) << bytes.size() << " bytes";
  return accepted;
}

// At an odd address.
bool decode_by_all(const Bytes& bytes) {
  Bytes shifted(bytes.size() + 1);
  if (!bytes.empty()) std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  const std::span<const std::byte> view(shifted.data() + 1, bytes.size());
  std::uint64_t id = 0;
  const auto request_header = decode_request_header(view, kLimits, &id);
  const auto reply_header = decode_reply_header(view, kLimits);
  const auto request_body = decode_request_body(view, kLimits);
  const auto reply_body = decode_reply_body(view, kLimits);
  if (request_body) {
    for (const WireTensor& input : request_body->inputs) touch(input, *request_body->storage);
    if (const auto* graph = std::get_if<GraphStructure>(&request_body->structure)) touch(*graph);
  }
  if (reply_body) {
    for (const WireTensor& output : reply_body->outputs) touch(output, *reply_body->storage);
  }
  for (const auto* error :
       {request_header ? nullptr : &request_header.error(), reply_header ? nullptr : &reply_header.error(),
        request_body ? nullptr : &request_body.error(), reply_body ? nullptr : &reply_body.error()}) {
    if (error == nullptr) continue;
    EXPECT_TRUE(error->code == ErrorCode::kInvalidArgument || error->code == ErrorCode::kUnsupportedVersion)
        << to_string(*error);
    EXPECT_FALSE(error->message.empty());
  }
  return request_header || reply_header || request_body || reply_body;
}

Bytes bytes_of(const WireBuffer& buffer) {
  return {buffer.bytes().begin(), buffer.bytes().end()};
}

std::vector<Bytes> good_messages() {
  const auto tokens = test::sample_tokens();
  const std::vector<std::int32_t> parents{2, 2, -1}, starts{0, 1}, ends{2, 3};
  const std::vector<std::int32_t> types{0, 1, 0}, offsets{0, 0, 1, 3}, predecessors{0, 0, 1};
  std::vector<Bytes> messages;
  messages.push_back(bytes_of(*encode_request_header(test::full_request_header(), kLimits)));
  messages.push_back(bytes_of(*encode_reply_header(test::full_reply_header(), kLimits)));
  RequestBody body = test::chain_body(tokens);
  for (const Structure& structure : {Structure(ChainStructure{24}), Structure(TreeStructure{parents}),
                                     Structure(LatticeStructure{4, starts, ends}),
                                     Structure(GraphStructure{{"a", "b"}, types, offsets, predecessors})}) {
    body.structure = structure;
    messages.push_back(bytes_of(*encode_request_body(body, kLimits)));
  }
  messages.push_back(bytes_of(*encode_reply_body(body.inputs, kLimits)));
  return messages;
}

TEST_F(HostileBytes, EveryTruncationIsRefusedOrHarmless) {
  for (const Bytes& message : good_messages()) {
    ASSERT_TRUE(decode_all(message));
    for (std::size_t size = 0; size < message.size(); ++size) {
      // The segment table promises more than there is.
      EXPECT_FALSE(decode_all(Bytes(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size))));
    }
  }
}

TEST_F(HostileBytes, TrailingBytesAreRefused) {
  for (Bytes message : good_messages()) {
    message.resize(message.size() + 8);
    EXPECT_FALSE(decode_all(message));
  }
}

TEST_F(HostileBytes, EverySingleBitFlipIsRefusedOrHarmless) {
  std::size_t accepted = 0, cases = 0;
  for (Bytes message : good_messages()) {
    for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
      const auto flip = std::byte{1} << (bit % 8);
      message[bit / 8] ^= flip;
      accepted += decode_all(message) ? 1 : 0;
      ++cases;
      message[bit / 8] ^= flip;
    }
  }
  EXPECT_GT(cases, 5000U);
  EXPECT_GT(accepted, 0U);  // flips within values are still messages
  EXPECT_LT(accepted, cases);
}

TEST_F(HostileBytes, RandomDamageIsRefusedOrHarmless) {
  std::mt19937_64 random(20240501);
  const auto messages = good_messages();
  for (int round = 0; round < 6000; ++round) {
    Bytes message = messages[random() % messages.size()];
    for (auto changes = 1 + random() % 8; changes > 0; --changes) {
      message[random() % message.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) message.resize(random() % (message.size() + 64) / 8 * 8);
    decode_all(message);
  }
}

TEST_F(HostileBytes, RandomBytesAreRefusedOrHarmless) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 6000; ++round) {
    Bytes message(random() % 40 * 8 + (random() % 8 == 0 ? random() % 8 : 0));
    for (auto& byte : message) byte = static_cast<std::byte>(random() % 3 == 0 ? random() : 0);
    if (message.size() >= 8 && random() % 2 == 0) {  // a plausible segment table, to get past the first check
      const auto words = static_cast<std::uint32_t>(message.size() / 8 - 1);
      std::memset(message.data(), 0, 4);
      std::memcpy(message.data() + 4, &words, 4);
    }
    decode_all(message);
  }
}

// As large as they may be, and full of what could be pointers to everywhere.
TEST_F(HostileBytes, LargeBodiesOfPointersAreRefusedInTime) {
  std::mt19937_64 random(11);
  for (const std::size_t words : {std::size_t{8192}, std::size_t{262'144}}) {
    std::vector<std::uint64_t> message(words);
    message[0] = (words - 1) << 32;
    for (std::size_t i = 1; i < words; ++i) {
      const std::uint64_t forwards = random() % words << 2 | (random() % 2);  // a struct or a list ahead
      message[i] = random() % 8 == 0 ? random() : forwards | (random() & 0xffffffff00000000ULL);
    }
    const auto bytes = std::as_bytes(std::span(message));
    decode_all({bytes.begin(), bytes.end()});
  }
}

TEST_F(HostileBytes, HugePromisesCostNothing) {
  // 2^32 − 1 segments; one segment of 2^32 − 1 words.
  const std::uint32_t tables[][2] = {
      {0xffffffff, 0xffffffff}, {0xfffffffe, 1}, {0, 0xffffffff}, {511, 1}, {600, 1}};
  for (const auto& table : tables) {
    Bytes message(64);
    std::memcpy(message.data(), table, 8);
    EXPECT_FALSE(decode_all(message));
  }
}

// Many tensors that all point at the same data: small on the wire, large once it is used.
TEST_F(HostileBytes, SharedTargetsAreRefused) {
  const std::vector<std::uint8_t> block(4096, 1);
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(std::string("t") + std::to_string(i));
  std::vector<WireTensor> tensors{wire_tensor(names[0], std::span(block))};
  for (std::size_t i = 1; i < 40; ++i) tensors.push_back(wire_tensor(names[i], std::span(block).first(0)));
  Bytes message = bytes_of(*encode_reply_body(tensors, kLimits));
  ASSERT_TRUE(decode_reply_body(message, kLimits));
  // Words: segment table, root pointer, list pointer, list tag; then per tensor the type and pointers to
  // name, shape, data.
  auto* words = reinterpret_cast<std::uint64_t*>(message.data());
  constexpr std::size_t kFirst = 4, kStride = 4;
  for (const std::size_t field : {2, 3}) {
    const std::uint64_t pointer = words[kFirst + field];
    const auto offset = static_cast<std::int32_t>(pointer) >> 2;
    for (std::size_t i = 1; i < 40; ++i) {
      const auto moved =
          static_cast<std::uint32_t>(offset - static_cast<std::int32_t>(kStride * i)) << 2 | 1U;
      words[kFirst + kStride * i + field] = (pointer & ~0xffffffffULL) | moved;
    }
  }
  const auto body = decode_reply_body(message, kLimits);
  ASSERT_FALSE(body);
  EXPECT_TRUE(test::contains(body.error().message, "traversal limit")) << body.error().message;
}

// A message may nest lists of lists; nothing of ours does, and unknown fields are not followed.
TEST_F(HostileBytes, DeepNestingIsRefusedOrIgnored) {
  capnp::MallocMessageBuilder message;
  auto pointer = message.initRoot<capnp::AnyPointer>();
  auto body = pointer.initAsAnyStruct(0, 3);
  auto at = body.getPointerSection()[0];
  for (int depth = 0; depth < 2000; ++depth) at = at.initAsAnyStruct(1, 2).getPointerSection()[0];
  const auto words = capnp::messageToFlatArray(message);
  const auto view = std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size()));
  EXPECT_FALSE(decode_all({view.begin(), view.end()}));
  WireLimits shallow;
  shallow.nesting = 1;
  const auto tokens = test::sample_tokens();
  const auto good = encode_request_body(test::chain_body(tokens), shallow);
  const auto refused = decode_request_body(good->bytes(), shallow);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(test::contains(refused.error().message, "nesting")) << refused.error().message;
}

TEST_F(HostileBytes, OversizedBodiesAreNotEvenCopied) {
  WireLimits limits;
  limits.max_body_bytes = 128;
  const Bytes large(136);
  EXPECT_EQ(decode_request_body(large, limits).error().message,
            "request body has 136 bytes; the limit is 128");
  EXPECT_EQ(decode_reply_body(large, limits).error().message, "reply body has 136 bytes; the limit is 128");
  EXPECT_EQ(read_request_body(WireBuffer::share_copy_of(large), limits).error().message,
            "request body has 136 bytes; the limit is 128");
  EXPECT_EQ(decode_request_body({}, limits).error().message, "request body is empty");
  EXPECT_EQ(read_request_body(nullptr, limits).error().message, "request body is empty");
}

}  // namespace
}  // namespace volvox
