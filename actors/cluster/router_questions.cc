#include "actors/cluster/router_questions.h"

#include <algorithm>
#include <chrono>

namespace volvox {
namespace {

Duration nanoseconds(std::uint64_t count) {
  return Duration(static_cast<std::int64_t>(count));
}

}  // namespace

Status check_join(const ClusterJoin& join, const std::string& cluster) {
  if (join.cluster == cluster) return check_versions(join.name, join.version, join.oldest_version);
  return fail(ErrorCode::kPermissionDenied,
              "this is cluster '" + cluster + "', not '" + join.cluster + "'; see cluster.name");
}

RequestInfo request_info(const IncomingRequest& request, std::uint64_t bytes) {
  const RequestHeader& header = request.header;
  RequestInfo info;
  info.model = header.model;
  info.model_version = header.model_version;
  info.cells_hint = header.cells_hint;
  info.bytes = bytes;
  info.urgent = header.priority == WirePriority::kHigh;
  if (header.session && header.session->operation == SessionOperation::kBegin) {
    info.affinity = header.session->nonce;
  } else if (header.session) {
    info.home = header.session->home;
  }
  info.deadline = request.deadline();
  return info;
}

std::vector<ModelOffer> model_offers(std::span<const ClusterOffer> offers, TypicalCosts& costs) {
  std::vector<ModelOffer> read;
  for (const ClusterOffer& offer : offers) {
    const Duration cost = costs.of(offer.model, offer.version, nanoseconds(offer.cell_ns));
    // Of a node that does not say how long requests may be, none is taken for longer than usual.
    const std::uint32_t most = offer.max_cells == 0 ? offer.cells : offer.max_cells;
    read.push_back({offer.model, offer.version, offer.digest, cost, offer.cells, most});
  }
  return read;
}

LoadReport load_report(const ClusterReport& said, std::uint32_t list, std::span<const ClusterOffer> offers,
                       TypicalCosts& costs) {
  LoadReport report;
  report.echo = said.echo;
  report.work = nanoseconds(said.work_ns);
  report.wait = nanoseconds(said.wait_ns);
  report.rows = said.rows;
  report.full_rows = said.full_rows;
  report.requests = {said.request_limit, said.request_window};
  report.bytes = {said.byte_limit, said.byte_window};
  if (said.list != list) return report;
  for (std::size_t i = 0; i < std::min(said.cell_ns.size(), offers.size()); ++i)
    report.cell_costs.push_back(costs.of(offers[i].model, offers[i].version, nanoseconds(said.cell_ns[i])));
  for (const std::uint64_t wait : said.waits_ns) report.waits.push_back(nanoseconds(wait));
  return report;
}

}  // namespace volvox
