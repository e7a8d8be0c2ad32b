#pragma once

#include <span>
#include <string>
#include <string_view>

namespace volvox {

// All metrics that processes show at /metrics, as tables in Markdown under headings: name, type, labels and
// what each means, from where they are declared. Where the values of a label are known beforehand, they stand
// beside it; `session_ends`: why sessions end, which whoever keeps them knows (SessionFigures::releases).
// Servers, routers and nodes show parts of all this. Any thread.
std::string metric_tables(std::span<const std::string_view> session_ends);

}  // namespace volvox
