#include "monitoring/metrics_page.h"

#include <utility>

#include <prometheus/text_serializer.h>

#include "config/tokens.h"
#include "config/validate.h"

namespace volvox {

HttpAnswer page_of(const std::vector<prometheus::MetricFamily>& families) {
  return {200, prometheus::TextSerializer().Serialize(families), "text/plain; version=0.0.4; charset=utf-8"};
}

Result<HttpServer::Setup> page_setup(const std::string& address, const std::string& token_file) {
  const auto where = parse_listen_address(address);
  if (!where) return tl::unexpected(where.error());
  HttpServer::Setup setup;
  setup.address = *where;
  setup.rules.listen_host = where->tcp.host;
  setup.rules.takes_origins = false;
  if (token_file.empty()) return setup;
  auto tokens = read_tokens(token_file);
  if (!tokens) return tl::unexpected(tokens.error());
  setup.rules.tokens = std::move(*tokens);
  return setup;
}

}  // namespace volvox
