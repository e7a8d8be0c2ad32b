#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/requests/priority_mix.h"
#include "loadgen/requests/request_source.h"
#include "loadgen/requests/trace.h"

namespace volvox {

// What all requests of one class have in common, beside what they say.
struct RequestTemplate {
  std::string model{};
  std::uint32_t model_version = 0;  // 0: the newest
  std::string input{};  // the model's inputs, with commas between them; empty: it has none, only a length
  PriorityMix priorities{};
  Duration deadline{};  // told to the server with each request, and by which an answer is on time; 0: none
  double cancel_fraction = 0;  // of the requests, taken back `cancel_after` they were sent
  Duration cancel_after{};
};

// Requests to one model, and how often they come among those of other classes.
struct RequestClass {
  RequestTemplate common;
  RequestSource source;
  double weight = 1;
};

// A server's clients do not all ask the same: a load is made of classes of requests, and each request is of
// one of them, drawn by the weights. Request `index` is a function of the seeds and its index alone, as with
// RequestSource. Immutable: any number of threads.
class RequestMix {
 public:
  // At least one class. `seed` draws the classes; what requests say is up to the seeds of their sources. With
  // a trace, request `index` is of the class and the size that its entry says, as long as there are entries.
  RequestMix(std::uint64_t seed, std::vector<RequestClass> classes,
             std::shared_ptr<const Trace> trace = nullptr);

  // Replaces `content` by that of request `index`.
  void make(std::uint64_t index, RequestContent& content) const;

  std::uint64_t seed() const { return seed_; }
  const std::shared_ptr<const Trace>& trace() const { return trace_; }  // null: there is none
  const std::vector<RequestClass>& classes() const { return classes_; }
  const RequestTemplate& common(const RequestContent& content) const {
    return classes_[content.of_class].common;
  }
  // For reports: the models, and the shapes of their requests.
  std::string models() const;
  std::string description() const;

 private:
  std::uint32_t draw_class(std::uint64_t index) const;

  std::uint64_t seed_;
  std::vector<RequestClass> classes_;
  std::shared_ptr<const Trace> trace_;
  double weights_ = 0;  // of all
};

inline constexpr std::size_t kMostClasses = 64;  // of a mix

// Says what makes no sense, or could not be sent, as INVALID_ARGUMENT.
Status check_mix(const RequestMix& mix);

// The name of a class' model in reports: "lstm", or "lstm/3" where its version was asked for.
std::string model_name(const RequestTemplate& common);

}  // namespace volvox
