#pragma once

#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "base/error.h"
#include "monitoring/http/http_answer.h"
#include "monitoring/http/http_server.h"

namespace volvox {

// Metrics as the page that Prometheus reads.
HttpAnswer page_of(const std::vector<prometheus::MetricFamily>& families);

// Of a server for such pages at "HOST:PORT" or "unix:PATH"; who reads them must show a token of that file,
// unless it is empty. INVALID_ARGUMENT for what is no address, or holds no tokens.
Result<HttpServer::Setup> page_setup(const std::string& address, const std::string& token_file);

}  // namespace volvox
