#include <array>
#include <cstdio>
#include <string_view>
#include <tuple>

#include "cli/commands.h"
#include "monitoring/metrics/metric_table.h"
#include "monitoring/metrics/session_metrics.h"
#include "routing/sessions/session.h"

namespace volvox {

void add_metrics_command(CLI::App& app, CommandBody& run) {
  CLI::App* command = app.add_subcommand("metrics", "Prints what the metrics of a process mean, in Markdown");
  command->callback([&run] {
    run = [] {
      std::array<std::string_view, std::tuple_size_v<decltype(SessionFigures::releases)>> ends;
      for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = to_string(static_cast<SessionEnd>(i));
      std::fputs(metric_tables(ends).c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace volvox
