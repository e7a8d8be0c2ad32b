#include "actors/node/job_maker.h"

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "actors/edge/edge_settings.h"
#include "actors/node/request_check.h"
#include "protocol/codec/codec.h"
#include "serving/part_content.h"

namespace volvox {

namespace {

std::span<const std::byte> input_bytes(const CheckedJob& job, std::size_t i) {
  const InputSpec& spec = job.model->model->inputs[i];
  return job.content->bytes().subspan(job.input_offsets[i], job.lengths[spec.sequence] * row_bytes(spec));
}

}  // namespace

JobMaker::JobMaker(NodePtr node) : node_(std::move(node)), limits_(wire_limits(node_->config.wire)) {}

Result<RequestBody> JobMaker::read(const Work& work) const {
  return work.request().body.read(work.shared_request(), limits_);
}

Result<CheckedJob> JobMaker::check(const ModelPtr& model, const RequestBody& body) {
  auto checked = check_request(*model->model, body);
  if (!checked) return tl::unexpected(checked.error());
  CheckedJob job;
  job.model = model;
  job.lengths = checked->lengths;
  job.structure = body.structure;
  job.unfolded_bytes = checked->host_bytes;
  job.wanted = checked->outputs;
  // Inputs are read in place from where the edge put the body, unless they had to be narrowed.
  job.content = checked->narrowed ? std::move(checked->narrowed) : body.storage;
  for (std::size_t i = 0; i < model->model->inputs.size(); ++i)
    job.input_offsets[i] = static_cast<std::uint64_t>(checked->inputs[i].data() - job.content->data());
  return job;
}

Digest JobMaker::content(const CheckedJob& job, const HashKey& key) {
  const std::vector<InputSpec>& specs = job.model->model->inputs;
  std::array<std::span<const std::byte>, kMaxInputs> inputs{};
  for (std::size_t i = 0; i < specs.size(); ++i) inputs[i] = input_bytes(job, i);
  return digest_of({job.lengths[0], job.wanted, std::span(inputs).first(specs.size())}, key);
}

void JobMaker::place(Work& work, std::uint32_t device) const {
  const CheckedJob& checked = *work.checked;
  const std::chrono::duration<double, std::micro> estimate(checked.model->step_us *
                                                           steps_of(*checked.model, checked.lengths));
  work.device_place.emplace(node_->loads, device, std::chrono::duration_cast<Duration>(estimate));
}

Device& JobMaker::device_of(const Work& work) const {
  return *node_->devices[work.device_place->device()]->device;
}

Result<ResultBlock> JobMaker::allocate_results(Work& work) const {
  const std::size_t bytes = output_bytes(*work.checked->model, work.checked->lengths);
  if (bytes > limits_.max_body_bytes) {
    return invalid("the results would have " + std::to_string(bytes) +
                   " bytes, more than wire.max_body_bytes; " + "send a shorter request");
  }
  if (!work.reserve(node_->result_bytes, bytes + work.checked->unfolded_bytes)) {
    node_->metrics->refused(Bound::kResults);
    return fail(ErrorCode::kOverloaded,
                "the results of requests in flight fill their memory; wait and try again");
  }
  return device_of(work).results(bytes);
}

Status JobMaker::make(Work& work) const {
  const CheckedJob& checked = *work.checked;
  auto results = allocate_results(work);
  if (!results) return tl::unexpected(results.error());
  // Each is a block of its own: in the body they lie where their words happened to end, and a device may read
  // them in vectors.
  std::array<InputBlock, kMaxInputs> blocks{};
  const std::size_t count = checked.model->model->inputs.size();
  for (std::size_t i = 0; i < count; ++i) blocks[i] = {input_bytes(checked, i), checked.content};
  auto pages = device_of(work).stage(std::span(blocks).first(count));
  if (!pages) return tl::unexpected(pages.error());
  auto request = unfolded_request(*checked.model, checked.structure, checked.lengths, (*pages)->addresses(),
                                  results->address);
  if (!request) return tl::unexpected(request.error());
  request->tag = work.request().key;
  request->priority = priority_class(work.request().header.priority);
  request->client = work.request().client_number;
  request->arrival = work.request().arrival;
  request->deadline = work.request().deadline();
  request->report_steps = work.request().header.stream;
  if (const auto& trace = work.request().trace) {
    request->traced = trace->captured();
    trace->set_size(size_of(checked.structure));
  }
  request->inputs_landed = (*pages)->landed();
  work.unfolded = UnfoldedJob{std::move(*pages), std::move(*results), std::move(*request)};
  return {};
}

}  // namespace volvox
