#include "cli/load/load_calls.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/load/call_verifier.h"
#include "cli/option.h"
#include "cli/output_file.h"
#include "loadgen/calls/call_audio.h"
#include "loadgen/calls/call_bundles.h"
#include "loadgen/calls/call_report.h"
#include "loadgen/calls/call_window.h"
#include "loadgen/calls/wave_file.h"
#include "loadgen/run/interrupt.h"

namespace volvox {
namespace {

constexpr double kBundleTickMs = 5;

Duration milliseconds(double ms) {
  return Duration(static_cast<Duration::rep>(ms * 1e6));
}

// The sounds as the model takes them. What nobody has said follows from the model, as far as it is known, and
// from the rate: 32 ms, of which nothing was sent before.
Result<CallAudio> audio_of(const CallArguments& arguments, const CallVerifier* verifier) {
  auto sounds = read_sounds(arguments.audio);
  if (!sounds) return tl::unexpected(sounds.error());
  const std::uint32_t rate = sounds->front().rate;
  const std::uint32_t hop = arguments.hop > 0 ? arguments.hop : rate * 32 / 1000;
  std::uint32_t window = arguments.window > 0 ? arguments.window : hop;
  if (verifier != nullptr) {
    const auto wide = static_cast<std::uint32_t>(elements(verifier->input().shape));
    if (arguments.window > 0 && wide != window)
      return invalid("--window: model '" + verifier->model().name + "' takes " + std::to_string(wide) +
                     " samples a step");
    window = wide;
  }
  return CallAudio::make(std::move(*sounds), window, hop);
}

}  // namespace

void add_call_options(CLI::App& command, CallArguments& arguments) {
  auto* calls =
      add_option(command, "--calls COUNT", arguments.calls,
                 "Keep so many live calls going, each a session that streams --audio in frames, each "
                 "when it is due")
          ->check(CLI::Range(1U, 1U << 22));
  add_option(command, "--audio PATH", arguments.audio,
             "A wave file of 16-bit mono PCM, or a folder of them, from which calls speak")
      ->needs(calls);
  calls->needs("--audio")->excludes("--sessions");
  add_option(command, "--hop SAMPLES", arguments.hop,
             "New samples of each frame, which is how often one is due (default: 32 ms of them)")
      ->check(CLI::Range(1U, 1U << 20))
      ->needs(calls);
  add_option(
      command, "--window SAMPLES", arguments.window,
      "Samples that a step of the model is sent: the hop, and those before it once more (default: as the "
      "model of --verify; else the hop)")
      ->check(CLI::Range(1U, 1U << 20))
      ->needs(calls);
  const auto number = [&](std::string name, double& value, const char* help) {
    add_option(command, std::move(name), value, help)->check(CLI::NonNegativeNumber)->needs(calls);
  };
  number("--jitter-ms MS", arguments.jitter_ms, "Frames come up to so much after their time, at random");
  number("--churn FRACTION", arguments.churn,
         "This fraction of the calls leaves and is replaced each second");
  number("--late-ms MS", arguments.late_ms,
         "Answers that come so long after their frame was due are late (default: when the next one is due)");
  add_option(command, "--tick-ms MS", arguments.tick_ms,
             "Send what is due so often, together, as a media server does (default: each frame when it is "
             "due; with --bundle every 5 ms)")
      ->check(CLI::NonNegativeNumber)
      ->needs(calls);
  add_option(command, "--behind FRAMES", arguments.behind,
             "A call with so many frames unanswered is given up and replaced")
      ->check(CLI::Range(1U, CallWindow::kMost))
      ->needs(calls);
  add_option(command, "--verify-frames COUNT", arguments.record,
             "With --verify: compare so many frames of each call, from its first on")
      ->check(CLI::Range(1U, 1U << 20))
      ->needs(calls);
}

Result<int> load_calls(const CallArguments& arguments, CallPlan plan, CallSurroundings around) {
  const InterruptWatch interrupt;  // before the device's threads
  std::unique_ptr<CallVerifier> verifier;
  if (!around.verify_folder.empty()) {
    auto loaded = CallVerifier::load(around.verify_folder, around.target.model_version);
    if (!loaded) return tl::unexpected(loaded.error());
    verifier = std::move(*loaded);
    if (around.target.model.empty()) around.target.model = verifier->model().name;
    if (around.target.input.empty()) around.target.input = verifier->input().name;
    plan.recorded_calls = std::min(around.verify_calls, arguments.calls);
    plan.recorded_frames = std::min(arguments.record, verifier->model().max_length);
  }
  if (around.target.input.empty()) around.target.input = "input";
  if (around.target.model.empty()) return invalid("which model? Name it with --model");
  const auto audio = audio_of(arguments, verifier.get());
  if (!audio) return tl::unexpected(audio.error());
  plan.calls = arguments.calls;
  plan.jitter = milliseconds(arguments.jitter_ms);
  plan.leaves = arguments.churn;
  plan.late_after = milliseconds(arguments.late_ms);
  plan.tick = milliseconds(arguments.tick_ms.value_or(arguments.bundles ? kBundleTickMs : 0));
  plan.behind = arguments.behind;

  CallSummary summary{.plan = plan};
  const auto open = [&](std::uint32_t slots) {
    return arguments.bundles ? CallBundles::open(around.target, slots)
                             : CallChannel::open(around.target, slots);
  };
  auto outcome = run_call_load(plan, *audio, open, interrupt.token());
  if (!outcome) return tl::unexpected(outcome.error());
  summary.outcome = std::move(*outcome);
  if (verifier != nullptr) {
    const auto right = [&](std::span<const float> rows, std::uint32_t frames) {
      return verifier->run(rows, frames);
    };
    if (const Status ok = verify_calls(*audio, right, summary); !ok) return tl::unexpected(ok.error());
  }
  std::fputs(to_text(summary).c_str(), stdout);
  if (const Status ok = write_report_file(around.json_file, to_json_text(summary)); !ok)
    return tl::unexpected(ok.error());
  return is_good(summary) ? 0 : 1;
}

}  // namespace volvox
