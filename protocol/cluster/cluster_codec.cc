#include "protocol/cluster/cluster_codec.h"

#include <utility>

#include "protocol/cluster.capnp.h"
#include "protocol/cluster/cluster_offer_codec.h"
#include "protocol/codec/capnp_message.h"
#include "protocol/text.h"

namespace volvox {
namespace {

constexpr std::string_view kWhat = "cluster message";

// Of the message that is read, which they keep.
ClusterBytes read_bytes(capnp::Data::Reader data, const ClusterBytes& message) {
  if (data.size() == 0) return nullptr;
  return WireBuffer::share_part_of(message, {reinterpret_cast<const std::byte*>(data.begin()), data.size()});
}

std::string read_reason(capnp::Text::Reader text) {
  return cleaned_text(view_of(text), kMaxErrorTextBytes);
}

Status check_count(std::size_t count) {
  if (count <= kMaxClusterOffers) return {};
  return invalid("a list has " + std::to_string(count) + " entries; the limit is " +
                 std::to_string(kMaxClusterOffers));
}

Result<std::vector<ClusterOffer>> read_offers(capnp::List<wire::ClusterOffer>::Reader list,
                                              const WireLimits& limits) {
  if (Status few = check_count(list.size()); !few) return tl::unexpected(std::move(few).error());
  std::vector<ClusterOffer> offers;
  for (const auto offer : list) {
    auto read = read_offer(offer, limits);
    if (!read) return tl::unexpected(std::move(read).error());
    offers.push_back(std::move(*read));
  }
  return offers;
}

Result<ClusterMessage> read(wire::ClusterJoin::Reader reader, const WireLimits& limits) {
  ClusterJoin join;
  auto cluster = read_name("cluster name", reader.getCluster(), limits);
  auto name = read_name("node name", reader.getName(), limits);
  if (!cluster) return tl::unexpected(std::move(cluster).error());
  if (!name) return tl::unexpected(std::move(name).error());
  join.cluster = std::move(*cluster);
  join.name = std::move(*name);
  join.incarnation = reader.getIncarnation();
  if (join.incarnation == 0) return invalid("an incarnation must not be 0");
  join.version = reader.getVersion();
  join.oldest_version = reader.getOldestVersion();
  auto offers = read_offers(reader.getOffers(), limits);
  if (!offers) return tl::unexpected(std::move(offers).error());
  join.offers = std::move(*offers);
  join.list = reader.getList();
  join.request_limit = reader.getRequestLimit();
  join.request_window = reader.getRequestWindow();
  join.byte_limit = reader.getByteLimit();
  join.byte_window = reader.getByteWindow();
  join.message_bytes = reader.getMessageBytes();
  return join;
}

Result<ClusterMessage> read(wire::ClusterOffers::Reader reader, const WireLimits& limits) {
  auto offers = read_offers(reader.getOffers(), limits);
  if (!offers) return tl::unexpected(std::move(offers).error());
  return ClusterOffers{reader.getList(), std::move(*offers)};
}

Result<ClusterMessage> read(wire::ClusterJoinReply::Reader reader, const WireLimits& limits) {
  ClusterJoinReply reply;
  reply.accepted = reader.getAccepted();
  if (!reply.accepted) {
    const auto code = reader.getErrorCode();
    const bool known = code >= static_cast<std::uint16_t>(ErrorCode::kInvalidArgument) &&
                       code <= static_cast<std::uint16_t>(ErrorCode::kInternal);
    reply.error = {known ? static_cast<ErrorCode>(code) : ErrorCode::kInternal,
                   read_reason(reader.getMessage())};
  }
  auto name = read_name("router name", reader.getName(), limits);
  if (!name) return tl::unexpected(std::move(name).error());
  reply.name = std::move(*name);
  reply.incarnation = reader.getIncarnation();
  reply.version = reader.getVersion();
  reply.oldest_version = reader.getOldestVersion();
  reply.message_bytes = reader.getMessageBytes();
  return reply;
}

ClusterPing read(wire::ClusterPing::Reader reader) {
  return {reader.getPing(),          reader.getWantedRequests(),
          reader.getWantedBytes(),   reader.getReturnedRequests(),
          reader.getReturnedBytes(), reader.getList()};
}

Result<ClusterMessage> read(wire::ClusterReport::Reader reader) {
  ClusterReport report{reader.getEcho(),          reader.getWorkNs(),
                       reader.getWaitNs(),        reader.getRows(),
                       reader.getFullRows(),      reader.getRequestLimit(),
                       reader.getRequestWindow(), reader.getByteLimit(),
                       reader.getByteWindow(),    {},
                       reader.getList(),          {}};
  for (const auto count : {reader.getCellNs().size(), reader.getWaitsNs().size()}) {
    if (Status few = check_count(count); !few) return tl::unexpected(std::move(few).error());
  }
  for (const std::uint64_t cost : reader.getCellNs()) report.cell_ns.push_back(cost);
  for (const std::uint64_t wait : reader.getWaitsNs()) report.waits_ns.push_back(wait);
  return report;
}

ClusterAttempt read(wire::ClusterAttempt::Reader reader) {
  return {reader.getIndex(), reader.getGeneration(), reader.getNumber()};
}

Result<ClusterMessage> read(wire::ClusterSubmit::Reader reader, const WireLimits& limits,
                            const ClusterBytes& message) {
  ClusterSubmit submit{read(reader.getAttempt()), reader.getDeadlineUs(),
                       read_bytes(reader.getHeader(), message), read_bytes(reader.getBody(), message)};
  submit.connection = reader.getConnection();
  submit.version = reader.getVersion();
  if (reader.getAccount().size() == 0) return submit;
  auto account = read_name("client name", reader.getAccount(), limits);
  if (!account) return tl::unexpected(std::move(account).error());
  submit.account = std::move(*account);
  return submit;
}

ClusterCancel read(wire::ClusterCancel::Reader reader) {
  const bool late = reader.getWhy() == static_cast<std::uint16_t>(ErrorCode::kDeadlineExceeded);
  return {read(reader.getAttempt()), late ? ErrorCode::kDeadlineExceeded : ErrorCode::kCancelled};
}

ClusterResult read(wire::ClusterResult::Reader reader, const ClusterBytes& message) {
  return {read(reader.getAttempt()), reader.getFinal(), read_bytes(reader.getHeader(), message),
          read_bytes(reader.getBody(), message)};
}

Result<ClusterMessage> read(wire::ClusterMessage::Reader reader, const WireLimits& limits,
                            const ClusterBytes& message) {
  using Kind = wire::ClusterMessage::Which;
  switch (reader.which()) {
    case Kind::JOIN:
      return read(reader.getJoin(), limits);
    case Kind::JOIN_REPLY:
      return read(reader.getJoinReply(), limits);
    case Kind::PING:
      return read(reader.getPing());
    case Kind::REPORT:
      return read(reader.getReport());
    case Kind::SUBMIT:
      return read(reader.getSubmit(), limits, message);
    case Kind::CANCEL:
      return read(reader.getCancel());
    case Kind::RESULT:
      return read(reader.getResult(), message);
    case Kind::DRAIN:
      return ClusterDrain{read_reason(reader.getDrain())};
    case Kind::LEAVE:
      return ClusterLeave{read_reason(reader.getLeave())};
    case Kind::REJOIN:
      return ClusterRejoin{read_reason(reader.getRejoin())};
    case Kind::FRAGMENT: {
      const auto fragment = reader.getFragment();
      return ClusterFragment{fragment.getStream(), fragment.getOffset(), fragment.getTotal(),
                             read_bytes(fragment.getBytes(), message)};
    }
    case Kind::ACK:
      return ClusterAck{reader.getAck().getFragments()};
    case Kind::OFFERS:
      return read(reader.getOffers(), limits);
    case Kind::UNSET:
      break;
  }
  return ClusterUnknown{static_cast<std::uint16_t>(reader.which())};
}

}  // namespace

Result<ClusterEnvelope> open_cluster_message(const ClusterBytes& bytes, const WireLimits& limits) {
  const auto content = bytes ? bytes->bytes() : std::span<const std::byte>();
  if (auto ok = check_framing(kWhat, content); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return read_message<wire::ClusterMessage>(
      kWhat, content, limits, [&](wire::ClusterMessage::Reader reader) -> Result<ClusterEnvelope> {
        auto message = read(reader, limits, bytes);
        if (!message) return tl::unexpected(std::move(message).error());
        return ClusterEnvelope{reader.getGeneration(), std::move(*message)};
      });
}

Result<ClusterMessage> decode_cluster_message(const ClusterBytes& bytes, const WireLimits& limits) {
  auto opened = open_cluster_message(bytes, limits);
  if (!opened) return tl::unexpected(std::move(opened).error());
  return std::move(opened->message);
}

Status check_versions(const std::string& peer, std::uint16_t version, std::uint16_t oldest_version) {
  const auto [best, oldest] = cluster_versions();
  if (version < oldest) {
    return fail(ErrorCode::kUnsupportedVersion, "'" + peer + "' speaks cluster protocol " +
                                                    std::to_string(version) + "; upgrade it to " +
                                                    std::to_string(oldest) + " or newer");
  }
  if (oldest_version > best) {
    return fail(ErrorCode::kUnsupportedVersion,
                "'" + peer + "' speaks no cluster protocol older than " + std::to_string(oldest_version) +
                    "; upgrade this process, which has " + std::to_string(best));
  }
  return {};
}

}  // namespace volvox
