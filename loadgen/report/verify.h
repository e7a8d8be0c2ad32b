#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "loadgen/requests/request_mix.h"
#include "loadgen/run/samples.h"

namespace volvox {

// Knows what the right answer to a request is. The load generator knows nothing of models; whoever runs it
// brings one along.
class AnswerVerifier {
 public:
  virtual ~AnswerVerifier() = default;

  // An empty string if the answer is right, otherwise what is wrong with it. The error is for a verifier that
  // cannot tell.
  virtual Result<std::string> check(const RequestContent& content, const ReplyBody& answer) = 0;
};

struct VerifyOutcome {
  std::uint64_t verified = 0;  // answers that were compared
  std::uint64_t wrong = 0;     // of these
  std::string first_wrong;     // what was wrong with the first one
};

// Compares samples with what the verifier knows, making each request again from `mix`. Stops early, with
// what it has, when `on_progress` (called after each sample with the number done, unless empty) answers
// false.
Result<VerifyOutcome> verify(std::span<const AnswerSample> samples, const RequestMix& mix,
                             AnswerVerifier& verifier, const std::function<bool(std::size_t)>& on_progress);

// Empty if every element is within 1e-4 · max(1, |reference|) of its reference and there are as many;
// otherwise what is wrong. An answer that is not a number is wrong.
std::string compare_with_reference(std::span<const float> answer, std::span<const double> reference);

// Empty if equal, otherwise what is wrong.
std::string compare_exactly(std::span<const std::uint64_t> answer, std::span<const std::uint64_t> reference);

}  // namespace volvox
