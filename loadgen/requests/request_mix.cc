#include "loadgen/requests/request_mix.h"

#include <algorithm>
#include <cmath>

#include "protocol/limits.h"

namespace volvox {
namespace {

constexpr std::uint64_t kStream = 0x6d6978;  // apart from what the requests say

// What `part` says of each class, once where several say the same.
template <class Part>
std::string joined(const std::vector<RequestClass>& classes, Part&& part) {
  std::vector<std::string> said;
  for (const RequestClass& one : classes) {
    std::string text = part(one);
    if (std::find(said.begin(), said.end(), text) == said.end()) said.push_back(std::move(text));
  }
  std::string all;
  for (const std::string& text : said) all.append(all.empty() ? "" : ", ").append(text);
  return all;
}

Status check_class(const RequestClass& one) {
  const RequestTemplate& common = one.common;
  if (common.model.empty()) return invalid("which model? Each class of requests names one");
  if (!std::isfinite(one.weight) || one.weight <= 0)
    return invalid("the weight of requests to '" + common.model + "' is not above 0");
  if (!(common.cancel_fraction >= 0 && common.cancel_fraction <= 1) || common.cancel_after.count() < 0 ||
      common.deadline.count() < 0)
    return invalid("of the requests a fraction from 0 to 1 can be cancelled, and no time is negative");
  return {};
}

// Requests that are too long to travel are not made either: their numbers would take all memory. `traced`:
// the largest that the trace has of this class.
Status check_size(const RequestClass& one, std::uint32_t traced) {
  if (one.source.row_shape().empty()) return {};
  std::uint64_t bytes = one.source.most_rows() * sizeof(float);
  if (traced > 0) bytes = std::max(bytes, one.source.most_rows(traced) * sizeof(float));
  for (const std::uint32_t extent : one.source.row_shape()) bytes *= extent;
  constexpr std::size_t kMost = WireLimits{}.max_body_bytes;
  if (bytes <= kMost) return {};
  return invalid("requests to '" + one.common.model + "' may have " + std::to_string(bytes >> 20) +
                 " MiB of numbers, and at most " + std::to_string(kMost >> 20) +
                 " MiB travel; take shorter lengths");
}

Status check_sizes(const RequestMix& mix) {
  std::vector<std::uint32_t> traced(mix.classes().size());
  if (mix.trace()) {
    for (const TraceEntry& entry : *mix.trace())
      traced[entry.of_class] = std::max(traced[entry.of_class], entry.size);
  }
  for (std::size_t i = 0; i < traced.size(); ++i) {
    if (Status ok = check_size(mix.classes()[i], traced[i]); !ok) return ok;
  }
  return {};
}

}  // namespace

RequestMix::RequestMix(std::uint64_t seed, std::vector<RequestClass> classes,
                       std::shared_ptr<const Trace> trace)
    : seed_(seed), classes_(std::move(classes)), trace_(std::move(trace)) {
  for (const RequestClass& one : classes_) weights_ += one.weight;
}

void RequestMix::make(std::uint64_t index, RequestContent& content) const {
  std::uint32_t chosen = 0, size = 0;
  const bool traced = trace_ && index < trace_->size();
  if (classes_.size() > 1) {
    if (!traced) chosen = draw_class(index);
    content = {};  // another class may have left what this one does not write
  }
  if (traced) {
    chosen = (*trace_)[index].of_class;
    size = (*trace_)[index].size;
  }
  classes_[chosen].source.make(index, content, size);
  content.of_class = chosen;
}

std::uint32_t RequestMix::draw_class(std::uint64_t index) const {
  std::uint32_t chosen = 0;
  double at = SeededRandom::for_item(seed_ ^ kStream, index).unit() * weights_;
  while (chosen + 1 < classes_.size() && at >= classes_[chosen].weight) at -= classes_[chosen++].weight;
  return chosen;
}

std::string RequestMix::models() const {
  return joined(classes_, [](const RequestClass& one) { return model_name(one.common); });
}

std::string RequestMix::description() const {
  return joined(classes_, [](const RequestClass& one) { return one.source.description(); });
}

Status check_mix(const RequestMix& mix) {
  if (mix.classes().empty() || mix.classes().size() > kMostClasses)
    return invalid("a load has from 1 to " + std::to_string(kMostClasses) + " classes of requests");
  for (const RequestClass& one : mix.classes()) {
    if (Status ok = check_class(one); !ok) return ok;
  }
  if (mix.trace()) {
    if (Status ok = check_trace(*mix.trace(), mix.classes().size()); !ok) return ok;
  }
  return check_sizes(mix);
}

std::string model_name(const RequestTemplate& common) {
  return common.model_version == 0 ? common.model : common.model + "/" + std::to_string(common.model_version);
}

}  // namespace volvox
