#include "loadgen/report/verify.h"

#include <algorithm>
#include <cmath>

namespace volvox {
namespace {

std::string wrong_count(std::size_t answer, std::size_t reference) {
  return "has " + std::to_string(answer) + " elements instead of " + std::to_string(reference);
}

}  // namespace

Result<VerifyOutcome> verify(std::span<const AnswerSample> samples, const RequestMix& mix,
                             AnswerVerifier& verifier, const std::function<bool(std::size_t)>& on_progress) {
  VerifyOutcome outcome;
  RequestContent content;
  for (const AnswerSample& sample : samples) {
    mix.make(sample.index, content);
    const Result<std::string> complaint = verifier.check(content, sample.body);
    if (!complaint) return tl::unexpected(complaint.error());
    ++outcome.verified;
    if (!complaint->empty()) {
      if (outcome.wrong++ == 0) {
        outcome.first_wrong = "the answer to request " + std::to_string(sample.index) + " (" +
                              std::to_string(content.tokens.size()) + " tokens) " + *complaint;
      }
    }
    if (on_progress && !on_progress(outcome.verified)) break;
  }
  return outcome;
}

std::string compare_with_reference(std::span<const float> answer, std::span<const double> reference) {
  constexpr double kTolerance = 1e-4;
  if (answer.size() != reference.size()) return wrong_count(answer.size(), reference.size());
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const double difference = std::abs(static_cast<double>(answer[i]) - reference[i]);
    if (difference <= kTolerance * std::max(1.0, std::abs(reference[i]))) continue;  // false for a NaN
    return "has " + std::to_string(answer[i]) + " at element " + std::to_string(i) + " instead of " +
           std::to_string(reference[i]);
  }
  return {};
}

std::string compare_exactly(std::span<const std::uint64_t> answer, std::span<const std::uint64_t> reference) {
  if (answer.size() != reference.size()) return wrong_count(answer.size(), reference.size());
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (answer[i] == reference[i]) continue;
    return "has " + std::to_string(answer[i]) + " at element " + std::to_string(i) + " instead of " +
           std::to_string(reference[i]);
  }
  return {};
}

}  // namespace volvox
