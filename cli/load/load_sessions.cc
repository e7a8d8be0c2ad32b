#include "cli/load/load_sessions.h"

#include <cstdio>

#include "cli/option.h"
#include "cli/output_file.h"
#include "loadgen/run/interrupt.h"

namespace volvox {

void add_session_options(CLI::App& command, SessionArguments& arguments) {
  auto* sessions =
      add_option(command, "--sessions COUNT", arguments.sessions,
                 "Keep so many sessions going; each, when it ends, is compared with one request over "
                 "all of its input");
  add_option(command, "--parts COUNT", arguments.parts, "Parts of each session")
      ->check(CLI::Range(2U, 1U << 20))
      ->needs(sessions);
  auto* pause = add_option(command, "--pause-ms MS", arguments.pause_ms,
                           "Mean of the random pauses between a session's parts")
                    ->check(CLI::NonNegativeNumber)
                    ->needs(sessions);
  add_option(command, "--every-ms MS", arguments.every_ms,
             "The same pause between all parts, as of live streams")
      ->check(CLI::NonNegativeNumber)
      ->needs(sessions)
      ->excludes(pause);
  const auto fraction = [&](std::string name, double& value, const char* help) {
    add_option(command, name + " FRACTION", value, help)->check(CLI::Range(0.0, 1.0))->needs(sessions);
  };
  fraction("--repeat-parts", arguments.repeats, "This fraction of the parts is sent twice");
  fraction("--cancel-parts", arguments.cancels, "This fraction is cancelled, and then sent anew");
  command
      .add_flag("--same-parts", arguments.same_parts,
                "A part that fails is sent again unchanged; otherwise something else is sent in its place")
      ->needs(sessions);
  fraction("--abandon-after", arguments.abandons,
           "After this fraction of the parts the session is left to expire");
}

Result<int> load_sessions(const SessionArguments& arguments, SessionLoadPlan plan,
                          const LengthSource& lengths, const std::string& json_file) {
  plan.sessions = arguments.sessions;
  plan.parts = arguments.parts;
  plan.random_pauses = arguments.every_ms <= 0;
  plan.pause = Duration(
      static_cast<Duration::rep>((plan.random_pauses ? arguments.pause_ms : arguments.every_ms) * 1e6));
  plan.repeats = arguments.repeats;
  plan.cancels = arguments.cancels;
  plan.abandons = arguments.abandons;
  plan.bundles = arguments.bundles;
  plan.same_parts = arguments.same_parts;
  const InterruptWatch interrupt;
  const auto report = run_session_load(plan, lengths, interrupt.token());
  if (!report) return tl::unexpected(report.error());
  std::fputs(to_text(*report).c_str(), stdout);
  if (const Status ok = write_report_file(json_file, to_json_text(*report)); !ok)
    return tl::unexpected(ok.error());
  return is_good(*report) ? 0 : 1;
}

}  // namespace volvox
