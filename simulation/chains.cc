#include "simulation/chains.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "cells/model/best_path.h"
#include "cells/unfold/unfolding.h"
#include "device/host_memory.h"
#include "install/stopping.h"

namespace volvox {
namespace {

void fill_rows(const InputSpec& input, std::span<std::byte> bytes, SeededRandom& chance) {
  const auto put = [&](auto make) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(make())) {
      const auto value = make();
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  };
  const auto vocabulary = static_cast<std::uint64_t>(input.vocabulary > 0 ? input.vocabulary : 1 << 16);
  switch (input.dtype) {
    case DType::kF32:
      return put([&] { return static_cast<float>(2 * chance.unit() - 1); });
    case DType::kI32:
      return put([&] { return static_cast<std::int32_t>(chance.below(vocabulary)); });
    case DType::kU64:
      return put([&] { return chance.next(); });
  }
}

// The requests of one call of run_chains().
class ChainRun {
 public:
  ChainRun(Engine& engine, Device& device, const InstalledModel& model,
           std::span<const ChainContent> contents)
      : engine_(engine), device_(device), model_(model), contents_(contents), live_(contents.size()) {
    answers_.resize(contents.size());
  }

  // The device must not use their memory any more.
  void abandon() {
    std::vector<Event> events;
    for (std::size_t i = 0; i < begun_; ++i) {
      if (live_[i].pages) engine_.cancel(live_[i].id, events);
    }
    static_cast<void>(engine_.drain(std::chrono::seconds(10), events));
  }

  Status begin_next() {
    const ChainContent& content = contents_[begun_];
    Live& live = live_[begun_];
    auto pages = stage(device_, content);
    if (!pages) return tl::unexpected(pages.error());
    live.pages = std::move(*pages);
    const auto checked = lengths_of(*model_.model, content);
    if (!checked) return tl::unexpected(checked.error());
    const Lengths lengths = live.lengths = *checked;
    auto results = device_.results(output_bytes(model_, lengths));
    if (!results) return tl::unexpected(results.error());
    live.results = std::move(*results);
    live.ends = SequenceEnds(lengths);
    auto request = unfolded_request(model_, structure_of(content), lengths, live.pages->addresses(),
                                    live.results.address);
    if (!request) return tl::unexpected(request.error());
    request->tag = begun_;
    request->arrival = engine_.now();
    const AdmitResult admitted = engine_.admit(std::move(*request));
    live.id = admitted.id;
    if (admitted.kind == AdmitResult::Kind::kNeverFits || admitted.kind == AdmitResult::Kind::kFull) {
      return invalid("request " + std::to_string(begun_) + " was refused: " + admitted.reason);
    }
    ++begun_;
    return {};
  }

  // Events may follow in `out`.
  Status take(const Event& event, std::vector<Event>& out) {
    if (event.kind == Event::Kind::kStepDone) {
      Live& live = live_[event.tag];
      live.ends.step_done(model_, event, live.results.host.get(), engine_.now(), engine_.scheduler(), out);
      return {};
    }
    if (event.kind != Event::Kind::kDone) {
      return fail(ErrorCode::kInternal,
                  "request " + std::to_string(event.tag) + " failed: " + engine_.last_failure());
    }
    take_answer(event.tag);
    live_[event.tag] = {};
    ++done_;
    return {};
  }

  bool all_done() const { return done_ == contents_.size(); }
  bool may_begin(std::size_t in_flight) const {
    return begun_ < contents_.size() && begun_ - done_ < in_flight;
  }
  std::vector<std::vector<std::byte>> take_answers() { return std::move(answers_); }

 private:
  struct Live {
    std::unique_ptr<InputPages> pages;
    ResultBlock results;
    SequenceEnds ends;
    Lengths lengths{};
    RequestId id;
  };

  // What clients get; zeros where a sequence has ended before.
  void take_answer(std::uint64_t request) {
    const Lengths& lengths = live_[request].lengths;
    std::vector<std::byte>& answer = answers_[request];
    answer.assign(output_bytes(model_, lengths), std::byte{});
    for (std::size_t i = 0; i < model_.model->outputs.size(); ++i) {
      const std::size_t at = result_offset(model_, lengths, i);
      const std::size_t bytes =
          row_bytes(model_.model->outputs[i]) * result_rows(model_, live_[request].ends.ended(), i);
      const OutputSpec& spec = model_.model->outputs[i];
      const std::span<const std::byte> rows(live_[request].results.host.get() + at, bytes);
      if (spec.path) {
        const auto said = best_path(rows, static_cast<std::size_t>(spec.shape[1]));
        const auto bytes_said = std::as_bytes(std::span(said));
        std::copy(bytes_said.begin(), bytes_said.end(), answer.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        std::copy(rows.begin(), rows.end(), answer.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }

  Engine& engine_;
  Device& device_;
  const InstalledModel& model_;
  std::span<const ChainContent> contents_;
  std::vector<Live> live_;
  std::vector<std::vector<std::byte>> answers_;
  std::size_t begun_ = 0, done_ = 0;
};

Status run_all(Engine& engine, ChainRun& run, std::size_t in_flight, Duration patience) {
  std::vector<Event> events;
  TimePoint last_news = engine.now();
  while (!run.all_done()) {
    while (run.may_begin(in_flight)) {
      if (Status ok = run.begin_next(); !ok) return ok;
    }
    if (Status ok = engine.turn(std::chrono::milliseconds(10), events); !ok) return ok;
    if (!events.empty()) last_news = engine.now();
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event event = events[i];  // more may come
      if (Status ok = run.take(event, events); !ok) return ok;
    }
    events.clear();
    if (engine.now() - last_news > patience)
      return fail(ErrorCode::kDeadlineExceeded, "the engine stands still");
  }
  return {};
}

}  // namespace

Structure structure_of(const ChainContent& content) {
  const bool chain = std::holds_alternative<NoStructure>(content.structure);
  return chain ? Structure(ChainStructure{content.length}) : content.structure;
}

Result<Lengths> lengths_of(const Model& model, const ChainContent& content) {
  const auto extent = model.unfolding->check(structure_of(content), model);
  if (!extent) return tl::unexpected(extent.error());
  return extent->lengths;
}

ChainContent random_content(const Model& model, std::uint32_t length, SeededRandom& chance) {
  Lengths lengths{};
  lengths.fill(length);
  ChainContent content = random_content(model, lengths, chance);
  content.length = length;
  return content;
}

ChainContent random_content(const Model& model, const Lengths& lengths, SeededRandom& chance) {
  ChainContent content;
  for (const InputSpec& input : model.inputs) {
    content.inputs.emplace_back(row_bytes(input) * lengths[input.sequence]);
    fill_rows(input, content.inputs.back(), chance);
  }
  return content;
}

Result<std::unique_ptr<InputPages>> stage(Device& device, const ChainContent& content) {
  std::vector<InputBlock> blocks;
  for (const auto& input : content.inputs) {
    auto bytes = host_bytes(input.size());
    if (!bytes) return fail(ErrorCode::kOverloaded, "no memory for inputs");
    std::copy(input.begin(), input.end(), bytes.get());
    blocks.push_back({{bytes.get(), input.size()}, bytes});
  }
  return device.stage(blocks);
}

Result<std::vector<std::vector<std::byte>>> run_chains(Engine& engine, Device& device,
                                                       const InstalledModel& model,
                                                       std::span<const ChainContent> contents,
                                                       std::size_t in_flight, Duration patience) {
  ChainRun run(engine, device, model, contents);
  const Status ok = run_all(engine, run, std::max<std::size_t>(in_flight, 1), patience);
  if (ok) return run.take_answers();
  run.abandon();
  return tl::unexpected(ok.error());
}

}  // namespace volvox
