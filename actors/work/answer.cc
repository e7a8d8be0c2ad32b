#include "actors/work/answer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/node/request_check.h"
#include "cells/model/best_path.h"

namespace volvox {
namespace {

// What is known, and sent, step by step.
bool has_rows(const Work& work, std::size_t output) {
  const OutputSpec& spec = work.checked->model->model->outputs[output];
  return spec.every && !spec.path;
}

bool streams(const Work& work) {
  return work.request().header.stream;
}

// `rows` of the output from `first` on.
WireTensor output_rows(const Work& work, std::size_t output, std::uint32_t first, std::size_t rows) {
  const InstalledModel& model = *work.checked->model;
  const OutputSpec& spec = model.model->outputs[output];
  WireTensor tensor;
  tensor.name = spec.name;
  tensor.type = wire_type(spec.dtype);
  if (spec.every) tensor.shape.append(static_cast<std::int64_t>(rows));
  for (const std::int64_t dim : spec.shape) tensor.shape.append(dim);
  const std::size_t at = result_offset(model, work.checked->lengths, output) + first * row_bytes(spec);
  tensor.bytes = {work.unfolded->results.host.get() + at, row_bytes(spec) * rows};
  return tensor;
}

// Known when all of its rows are.
WireTensor path_of(Work& work, const WireTensor& rows, const OutputSpec& spec) {
  const auto candidates = static_cast<std::size_t>(spec.shape[1]);
  const auto& said = work.end->paths.emplace_back(best_path(rows.bytes, candidates));
  return wire_tensor(rows.name, std::span<const std::int32_t>(said));
}

std::uint32_t answered_rows(const Work& work, const Lengths& lengths, std::size_t output) {
  const OutputSpec& spec = work.checked->model->model->outputs[output];
  return static_cast<std::uint32_t>(spec.answered_rows(lengths[spec.sequence]));
}

// Of the outputs that are streamed, which are of one sequence, and have as many rows.
std::uint32_t streamed_rows(const Work& work, const Lengths& lengths) {
  for (const std::size_t output : work.checked->wanted) {
    if (has_rows(work, output)) return answered_rows(work, lengths, output);
  }
  return 0;
}

// Rows from the first on that the lane has written: one that runs from the end writes that one last.
std::uint32_t rows_in_front(const Work& work, std::size_t lane) {
  const LaneSpec& spec = work.checked->model->plan.lanes[lane];
  const std::uint32_t steps = work.stream.steps[lane];
  return spec.reversed && steps < work.checked->lengths[spec.length_of] ? 0 : steps;
}

// Rows that every streamed output has by now.
std::uint32_t complete_rows(const Work& work) {
  std::uint32_t rows = streamed_rows(work, work.checked->lengths);
  const auto& lanes = work.checked->model->plan.lanes;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (const LanePush& push : lanes[lane].pushes) {
      if (push.output == LanePush::kNowhere || !push.every) continue;
      const bool wanted = std::find(work.checked->wanted.begin(), work.checked->wanted.end(), push.output) !=
                          work.checked->wanted.end();
      if (wanted) rows = std::min(rows, rows_in_front(work, lane));
    }
  }
  return rows;
}

struct SentRow {
  WorkPtr work;
  FixedVector<WireTensor, kMaxOutputs> outputs;
};

void send_row(const WorkPtr& work, std::uint32_t row) {
  const auto sent = std::make_shared<SentRow>();
  sent->work = work;
  for (const std::size_t output : work->checked->wanted) {
    if (has_rows(*work, output)) sent->outputs.push_back(output_rows(*work, output, row, 1));
  }
  Outcome part;
  part.outputs = {sent->outputs.begin(), sent->outputs.size()};
  part.owner = sent;
  work->send_partial(row, std::move(part));
}

void send_rows(const WorkPtr& work, std::uint32_t rows) {
  for (; work->stream.sent < rows; ++work->stream.sent) send_row(work, work->stream.sent);
}

}  // namespace

FixedVector<WireTensor, kMaxOutputs> answered_outputs(Work& work) {
  FixedVector<WireTensor, kMaxOutputs> outputs;
  for (const std::size_t output : work.checked->wanted) {
    if (streams(work) && has_rows(work, output)) continue;
    const OutputSpec& spec = work.checked->model->model->outputs[output];
    const WireTensor rows = output_rows(work, output, 0, answered_rows(work, work.end->lengths, output));
    outputs.push_back(spec.path ? path_of(work, rows, spec) : rows);
  }
  return outputs;
}

Outcome whole_answer(const WorkPtr& work) {
  const auto outputs = answered_outputs(*work);
  work->end->outputs.assign(outputs.begin(), outputs.end());
  Outcome outcome;
  outcome.outputs = work->end->outputs;
  outcome.owner = work;
  return outcome;
}

Status begin_stream(Work& work) {
  if (!streams(work)) return {};
  const bool any = std::any_of(work.checked->wanted.begin(), work.checked->wanted.end(),
                               [&](std::size_t output) { return has_rows(work, output); });
  if (!any) return invalid("no wanted output has a row for every step; ask without `stream`");
  std::optional<std::pair<std::uint8_t, std::uint32_t>> rows_of;
  for (const std::size_t output : work.checked->wanted) {
    if (!has_rows(work, output)) continue;
    const OutputSpec& spec = work.checked->model->model->outputs[output];
    const std::pair of(spec.sequence, spec.fewer);
    if (of != rows_of.value_or(of))
      return invalid("the wanted outputs have rows of different sequences; stream one of them");
    rows_of = of;
  }
  work.stream.steps.resize(work.checked->model->plan.lanes.size());
  work.stream.sent = work.request().header.stream_from;
  const std::uint32_t rows = streamed_rows(work, work.checked->lengths);
  if (work.stream.sent > rows) {
    return invalid("`streamFrom` lies behind the last row; the request has " + std::to_string(rows));
  }
  return {};
}

void advance_stream(const WorkPtr& work, std::uint8_t lane, std::uint32_t steps) {
  if (work->settled()) return;
  work->stream.steps[lane] = std::max(work->stream.steps[lane], steps);
  send_rows(work, complete_rows(*work));
}

void end_stream(const WorkPtr& work) {
  if (streams(*work)) send_rows(work, streamed_rows(*work, work->end->lengths));
}

}  // namespace volvox
