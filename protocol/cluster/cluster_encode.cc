#include <algorithm>
#include <utility>

#include "protocol/cluster.capnp.h"
#include "protocol/cluster/cluster_codec.h"
#include "protocol/cluster/cluster_offer_codec.h"
#include "protocol/codec/capnp_message.h"
#include "protocol/text.h"

namespace volvox {
namespace {

constexpr std::size_t kRoomWords = 24;   // of a message without its lists, texts and data
constexpr std::size_t kBorrowWords = 2;  // of a pointer to what lies elsewhere

// What is smaller costs less to copy than to send as a piece of its own.
constexpr std::size_t kLeastTail = 4096;

bool is_tail(const ClusterBytes& bytes) {
  return bytes && bytes->size() >= kLeastTail && MessageWriter::can_borrow(bytes->bytes());
}

template <class Init>
void put_bytes(const ClusterBytes& bytes, Init&& init) {
  if (!bytes || bytes->empty()) return;
  auto target = init(static_cast<unsigned>(bytes->size()));
  std::copy_n(reinterpret_cast<const kj::byte*>(bytes->data()), bytes->size(), target.begin());
}

// What may be the tail.
template <class Init, class Adopt>
void put_last_bytes(MessageWriter& writer, const ClusterBytes& bytes, Init&& init, Adopt&& adopt) {
  if (!is_tail(bytes)) return put_bytes(bytes, std::forward<Init>(init));
  adopt(writer.borrow(bytes->bytes()));
}

void write(const ClusterAttempt& attempt, wire::ClusterAttempt::Builder builder) {
  builder.setIndex(attempt.index);
  builder.setGeneration(attempt.generation);
  builder.setNumber(attempt.number);
}

template <class Builder>
void write(const std::vector<ClusterOffer>& offers, Builder builder) {
  for (unsigned i = 0; i < builder.size(); ++i) write_offer(offers[i], builder[i]);
}

std::size_t words(const std::vector<ClusterOffer>& offers) {
  std::size_t sum = 16;
  for (const ClusterOffer& offer : offers) sum += offer_words(offer);
  return sum;
}

Status check(const std::vector<ClusterOffer>& offers, const WireLimits& limits) {
  if (offers.size() > kMaxClusterOffers) return invalid("a node cannot offer so many models");
  for (const ClusterOffer& offer : offers) {
    if (Status ok = check_offer(offer, limits); !ok) return ok;
  }
  return {};
}

// How each kind is written, and how large it is about.
struct Writer {
  wire::ClusterMessage::Builder root;
  MessageWriter& memory;

  void operator()(const ClusterUnknown&) {}
  void operator()(const ClusterJoin& join) {
    auto builder = root.initJoin();
    put_text(join.cluster, [&](unsigned size) { return builder.initCluster(size); });
    put_text(join.name, [&](unsigned size) { return builder.initName(size); });
    builder.setIncarnation(join.incarnation);
    builder.setVersion(join.version);
    builder.setOldestVersion(join.oldest_version);
    builder.setList(join.list);
    builder.setRequestLimit(join.request_limit);
    builder.setRequestWindow(join.request_window);
    builder.setByteLimit(join.byte_limit);
    builder.setByteWindow(join.byte_window);
    builder.setMessageBytes(join.message_bytes);
    write(join.offers, builder.initOffers(static_cast<unsigned>(join.offers.size())));
  }
  void operator()(const ClusterOffers& offers) {
    auto builder = root.initOffers();
    builder.setList(offers.list);
    write(offers.offers, builder.initOffers(static_cast<unsigned>(offers.offers.size())));
  }
  void operator()(const ClusterJoinReply& reply) {
    auto builder = root.initJoinReply();
    builder.setAccepted(reply.accepted);
    if (!reply.accepted) {
      builder.setErrorCode(static_cast<std::uint16_t>(reply.error.code));
      const std::string message = cleaned_text(reply.error.message, kMaxErrorTextBytes);
      put_text(message, [&](unsigned size) { return builder.initMessage(size); });
    }
    put_text(reply.name, [&](unsigned size) { return builder.initName(size); });
    builder.setIncarnation(reply.incarnation);
    builder.setVersion(reply.version);
    builder.setOldestVersion(reply.oldest_version);
    builder.setMessageBytes(reply.message_bytes);
  }
  void operator()(const ClusterPing& ping) {
    auto builder = root.initPing();
    builder.setPing(ping.ping);
    builder.setWantedRequests(ping.wanted_requests);
    builder.setWantedBytes(ping.wanted_bytes);
    builder.setReturnedRequests(ping.returned_requests);
    builder.setReturnedBytes(ping.returned_bytes);
    builder.setList(ping.list);
  }
  void operator()(const ClusterReport& report) {
    auto builder = root.initReport();
    builder.setEcho(report.echo);
    builder.setWorkNs(report.work_ns);
    builder.setWaitNs(report.wait_ns);
    builder.setRows(report.rows);
    builder.setFullRows(report.full_rows);
    builder.setRequestLimit(report.request_limit);
    builder.setRequestWindow(report.request_window);
    builder.setByteLimit(report.byte_limit);
    builder.setByteWindow(report.byte_window);
    auto costs = builder.initCellNs(static_cast<unsigned>(report.cell_ns.size()));
    for (unsigned i = 0; i < costs.size(); ++i) costs.set(i, report.cell_ns[i]);
    builder.setList(report.list);
    auto waits = builder.initWaitsNs(static_cast<unsigned>(report.waits_ns.size()));
    for (unsigned i = 0; i < waits.size(); ++i) waits.set(i, report.waits_ns[i]);
  }
  void operator()(const ClusterSubmit& submit) {
    auto builder = root.initSubmit();
    write(submit.attempt, builder.initAttempt());
    builder.setDeadlineUs(submit.deadline_us);
    put_bytes(submit.header, [&](unsigned size) { return builder.initHeader(size); });
    put_text(submit.account, [&](unsigned size) { return builder.initAccount(size); });
    builder.setConnection(submit.connection);
    builder.setVersion(submit.version);
    put_last_bytes(
        memory, submit.body, [&](unsigned size) { return builder.initBody(size); },
        [&](capnp::Orphan<capnp::Data>&& body) { builder.adoptBody(std::move(body)); });
  }
  void operator()(const ClusterCancel& cancel) {
    auto builder = root.initCancel();
    write(cancel.attempt, builder.initAttempt());
    builder.setWhy(static_cast<std::uint16_t>(cancel.why));
  }
  void operator()(const ClusterResult& result) {
    auto builder = root.initResult();
    write(result.attempt, builder.initAttempt());
    builder.setFinal(result.final);
    put_bytes(result.header, [&](unsigned size) { return builder.initHeader(size); });
    put_last_bytes(
        memory, result.body, [&](unsigned size) { return builder.initBody(size); },
        [&](capnp::Orphan<capnp::Data>&& body) { builder.adoptBody(std::move(body)); });
  }
  void operator()(const ClusterDrain& drain) {
    root.setDrain(cleaned_text(drain.why, kMaxErrorTextBytes).c_str());
  }
  void operator()(const ClusterLeave& leave) {
    root.setLeave(cleaned_text(leave.why, kMaxErrorTextBytes).c_str());
  }
  void operator()(const ClusterRejoin& rejoin) {
    root.setRejoin(cleaned_text(rejoin.why, kMaxErrorTextBytes).c_str());
  }
  void operator()(const ClusterFragment& fragment) {
    auto builder = root.initFragment();
    builder.setStream(fragment.stream);
    builder.setOffset(fragment.offset);
    builder.setTotal(fragment.total);
    put_last_bytes(
        memory, fragment.bytes, [&](unsigned size) { return builder.initBytes(size); },
        [&](capnp::Orphan<capnp::Data>&& bytes) { builder.adoptBytes(std::move(bytes)); });
  }
  void operator()(const ClusterAck& ack) { root.initAck().setFragments(ack.fragments); }
};

std::size_t words(const ClusterBytes& bytes) {
  return bytes ? data_words(bytes->size()) : 0;
}
std::size_t last_words(const ClusterBytes& bytes) {
  return is_tail(bytes) ? kBorrowWords : words(bytes);
}

// What of a message goes as its tail, if it can.
struct Tail {
  ClusterBytes operator()(const ClusterSubmit& submit) const { return submit.body; }
  ClusterBytes operator()(const ClusterResult& result) const { return result.body; }
  ClusterBytes operator()(const ClusterFragment& fragment) const { return fragment.bytes; }
  template <class Other>
  ClusterBytes operator()(const Other&) const {
    return nullptr;
  }
};

struct Size {
  std::size_t operator()(const ClusterJoin& join) const { return words(join.offers); }
  std::size_t operator()(const ClusterOffers& offers) const { return words(offers.offers); }
  std::size_t operator()(const ClusterSubmit& submit) const {
    return words(submit.header) + last_words(submit.body) + text_words(submit.account);
  }
  std::size_t operator()(const ClusterResult& result) const {
    return words(result.header) + last_words(result.body);
  }
  std::size_t operator()(const ClusterFragment& fragment) const { return last_words(fragment.bytes); }
  std::size_t operator()(const ClusterReport& report) const {
    return report.cell_ns.size() + report.waits_ns.size() + 2;
  }
  template <class Other>
  std::size_t operator()(const Other&) const {
    return 16;
  }
};

struct Check {
  const WireLimits& limits;

  Status operator()(const ClusterUnknown&) const { return invalid("an unknown message cannot be sent"); }
  Status operator()(const ClusterJoin& join) const {
    Status ok = check_given_name("cluster name", join.cluster, limits);
    if (ok) ok = check_given_name("node name", join.name, limits);
    if (ok && join.incarnation == 0) ok = invalid("an incarnation must not be 0");
    return ok ? check(join.offers, limits) : ok;
  }
  Status operator()(const ClusterOffers& offers) const { return check(offers.offers, limits); }
  Status operator()(const ClusterJoinReply& reply) const {
    return check_given_name("router name", reply.name, limits);
  }
  Status operator()(const ClusterSubmit& submit) const {
    if (submit.account.empty()) return {};
    return check_given_name("client name", submit.account, limits);
  }
  Status operator()(const ClusterReport& report) const {
    if (std::max(report.cell_ns.size(), report.waits_ns.size()) > kMaxClusterOffers)
      return invalid("a report cannot have so many costs");
    return {};
  }
  template <class Other>
  Status operator()(const Other&) const {
    return {};
  }
};

}  // namespace

Result<ClusterPieces> encode_cluster_message(const ClusterMessage& message, const WireLimits& limits,
                                             LinkGeneration generation) {
  if (Status ok = std::visit(Check{limits}, message); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  return caught("cluster message", [&]() -> Result<ClusterPieces> {
    MessageWriter writer(kRoomWords + std::visit(Size{}, message));
    auto root = writer.initRoot<wire::ClusterMessage>();
    root.setGeneration(generation);
    std::visit(Writer{root, writer}, message);
    auto head = std::make_shared<const WireBuffer>(writer.finish());
    return ClusterPieces{std::move(head), writer.borrowed_follows() ? std::visit(Tail{}, message) : nullptr};
  });
}

}  // namespace volvox
