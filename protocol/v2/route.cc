#include "protocol/v2/route.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace volvox {
namespace {

// "/a/b" → a, b. A slash at the end changes nothing.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t length = std::min(path.find('/'), path.size());
    if (!path.empty()) parts.push_back(path.substr(0, length));
    path.remove_prefix(length);
  }
  return parts;
}

tl::unexpected<Error> no_such_path() {
  return fail(ErrorCode::kModelNotFound,
              "no such path; there are /v2, /v2/health/live, /v2/health/ready and /v2/models/NAME, with "
              "/versions/N if you like, and then nothing, /ready, /infer or /stats");
}

std::optional<V2Endpoint> model_endpoint(std::string_view name) {
  if (name == "ready") return V2Endpoint::kModelReady;
  if (name == "infer") return V2Endpoint::kInfer;
  if (name == "stats") return V2Endpoint::kStatistics;
  return std::nullopt;
}

Result<std::uint32_t> version_from(std::string_view text) {
  std::uint32_t version = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, version);
  if (error != std::errc{} || stop != end || version == 0) {
    return invalid("a model's version is a whole number from 1 on; leave /versions/… out for the newest");
  }
  return version;
}

Result<V2Route> model_route(std::vector<std::string_view> parts) {
  V2Route route{V2Endpoint::kModel, std::string(parts[2]), 0};
  std::size_t next = 3;
  if (parts.size() > 3 && parts[3] == "versions") {
    if (parts.size() < 5) return no_such_path();
    const auto version = version_from(parts[4]);
    if (!version) return tl::unexpected(version.error());
    route.version = *version;
    next = 5;
  }
  if (parts.size() == next) return route;
  const auto endpoint = model_endpoint(parts[next]);
  if (!endpoint || parts.size() > next + 1) return no_such_path();
  route.endpoint = *endpoint;
  return route;
}

}  // namespace

Result<V2Route> parse_v2_route(std::string_view path) {
  if (!path.starts_with('/')) return no_such_path();
  const auto parts = parts_of(path);
  if (parts.empty() || parts[0] != "v2") return no_such_path();
  if (parts.size() == 1) return V2Route{V2Endpoint::kServer, {}, 0};
  if (parts.size() == 3 && parts[1] == "health") {
    if (parts[2] == "live") return V2Route{V2Endpoint::kLive, {}, 0};
    if (parts[2] == "ready") return V2Route{V2Endpoint::kReady, {}, 0};
  }
  if (parts.size() < 3 || parts[1] != "models" || parts[2].empty()) return no_such_path();
  return model_route(parts);
}

}  // namespace volvox
