#include "actors/node/job_maker.h"

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "actors/edge/gateway.h"
#include "actors/node/request_check.h"
#include "protocol/codec.h"
#include "serving/part_content.h"

namespace volvox {

JobMaker::JobMaker(NodePtr node) : node_(std::move(node)), limits_(wire_limits(node_->config.wire)) {}

Result<RequestBody> JobMaker::read(const Work& work) const {
  return work.request().body.read(work.shared_request(), limits_);
}

Status JobMaker::check(const ModelPtr& model, const RequestBody& body, Work& work) const {
  auto checked = check_request(*model->model, body);
  if (!checked) return tl::unexpected(checked.error());
  work.model = model;
  work.lengths = work.ended = checked->lengths;
  work.structure = body.structure;
  work.unfolded_bytes = checked->host_bytes;
  work.wanted = std::move(checked->outputs);
  // Inputs are read in place from where the edge put the body, unless they had to be narrowed.
  work.content = checked->narrowed ? std::move(checked->narrowed) : body.storage;
  for (std::size_t i = 0; i < model->model->inputs.size(); ++i)
    work.input_offsets[i] = static_cast<std::uint64_t>(checked->inputs[i].data() - work.content->data());
  return {};
}

Digest JobMaker::content(const Work& work, HashKey key) const {
  const std::vector<InputSpec>& specs = work.model->model->inputs;
  std::array<std::span<const std::byte>, kMaxInputs> inputs{};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::size_t row = static_cast<std::size_t>(elements(specs[i].shape)) * size_bytes(specs[i].dtype);
    inputs[i] = work.content->bytes().subspan(work.input_offsets[i], work.lengths[specs[i].sequence] * row);
  }
  return digest_of({work.lengths[0], work.wanted, std::span(inputs).first(specs.size())}, key);
}

void JobMaker::place(Work& work, std::uint32_t device) const {
  const std::chrono::duration<double, std::micro> estimate(work.model->step_us *
                                                           steps_of(*work.model, work.lengths));
  work.device_place.emplace(node_->loads, device, std::chrono::duration_cast<Duration>(estimate));
}

Status JobMaker::make(Work& work) const {
  if (Status results = allocate_results(work); !results) return results;
  return unfold(work);
}

Device& JobMaker::device_of(const Work& work) const {
  return *node_->devices[work.device_place->device()]->device;
}

Status JobMaker::allocate_results(Work& work) const {
  const std::size_t bytes = output_bytes(*work.model, work.lengths);
  if (bytes > limits_.max_body_bytes) {
    return invalid("the results would have " + std::to_string(bytes) +
                   " bytes, more than wire.max_body_bytes; " + "send a shorter request");
  }
  if (!work.reserve(node_->result_bytes, bytes + work.unfolded_bytes)) {
    node_->metrics->refused(Bound::kResults);
    return fail(ErrorCode::kOverloaded,
                "the results of requests in flight fill their memory; wait and try again");
  }
  auto results = device_of(work).results(bytes);
  if (!results) return tl::unexpected(results.error());
  work.results = std::move(*results);
  return {};
}

Status JobMaker::unfold(Work& work) const {
  const InputBlock block{work.content->bytes(), work.content};
  auto pages = device_of(work).stage({&block, 1});
  if (!pages) return tl::unexpected(pages.error());
  work.pages = std::move(*pages);
  std::array<DeviceAddress, kMaxInputs> inputs{};
  const std::size_t count = work.model->model->inputs.size();
  for (std::size_t i = 0; i < count; ++i) inputs[i] = work.pages->addresses()[0] + work.input_offsets[i];
  const std::span<const DeviceAddress> rows(inputs.data(), count);
  auto job = unfolded_request(*work.model, work.structure, work.lengths, rows, work.results.address);
  if (!job) return tl::unexpected(job.error());
  work.job = std::move(*job);
  work.job.tag = work.request().key;
  work.job.priority = priority_class(work.request().header.priority);
  work.job.client = work.request().client_number();
  work.job.arrival = work.request().arrival;
  work.job.deadline = work.request().deadline();
  work.job.report_steps = work.request().header.stream;
  work.job.inputs_landed = work.pages->landed();
  return {};
}

}  // namespace volvox
