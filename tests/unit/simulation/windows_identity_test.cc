// Models over windows: the same bits as overlaps that were made by hand, in whatever company.
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/cells/windowed_models.h"
#include "tests/unit/simulation/random_ways.h"

namespace volvox {
namespace {

using testing_cells::by_hand;
using testing_cells::hearing_model;
using testing_cells::Overlap;

ChainContent content_of(std::uint32_t length, const std::vector<float>& rows) {
  const auto bytes = std::as_bytes(std::span(rows));
  return {.length = length, .inputs = {{bytes.begin(), bytes.end()}}};
}

TEST(WindowsIdentity, TheSameBitsAsByHand) {
  SeededRandom chance(5);
  for (const Overlap& overlap : testing_cells::overlaps()) {
    std::vector<ChainContent> streams, rows;
    for (int i = 0; i < 60; ++i) {
      const auto length = static_cast<std::uint32_t>(1 + chance.below(12));
      std::vector<float> stream(static_cast<std::size_t>(length * overlap.hop * overlap.inner()));
      for (float& number : stream) number = static_cast<float>(2 * chance.unit() - 1);
      streams.push_back(content_of(length, stream));
      rows.push_back(content_of(length, by_hand(overlap, stream)));
    }
    const auto load = [&](bool windowed) {
      return [&, windowed](const LoadOptions& options) { return hearing_model(overlap, windowed, options); };
    };
    const Answers right = answers_in({.max_batch = 1, .in_flight = 1, .eager = false}, load(false), rows);
    for (int i = 0; i < 6; ++i) {
      const Way way = random_way(chance);
      expect_same_answers(answers_in(way, load(true), streams), right, way);
    }
  }
}

// Parts of a session, which hand the state on, of any length.
TEST(WindowsIdentity, TheSameBitsInParts) {
  const Overlap overlap{.window = 9, .hop = 2};
  SeededRandom chance(6);
  for (int i = 0; i < 40; ++i) {
    const auto model = hearing_model(overlap, true, {.eager = chance.below(2) == 0});
    auto device =
        cpu::CpuDevice::make({.isa = one_of(cpu::supported_isas(), chance), .measure = false}).value();
    const auto installed = install(*device, {&model, 1}, {.session_places = 2});
    ASSERT_TRUE(installed) << installed.error().message;
    const InstalledModel& served = *installed->models.front();
    ASSERT_TRUE(served.sessions.possible);
    const SchedulerConfig config = scheduler_config(*installed, 1);
    auto engine =
        Engine::make(*device, config, make_cellular_policy(config), queue_config(config, 1)).value();

    const auto length = static_cast<std::uint32_t>(2 + chance.below(20));
    std::vector<float> stream(static_cast<std::size_t>(length * overlap.hop));
    for (float& number : stream) number = static_cast<float>(2 * chance.unit() - 1);
    const ChainContent whole = content_of(length, stream);
    const auto right = run_chains(*engine, *device, served, {&whole, 1}, 1);
    ASSERT_TRUE(right) << right.error().message;

    std::vector<std::byte> made;
    std::optional<CarriedState> state;
    for (std::uint32_t at = 0, part = 0; at < length; ++part) {
      const auto steps = static_cast<std::uint32_t>(1 + chance.below(length - at));
      const std::vector<float> rows(stream.begin() + at * overlap.hop,
                                    stream.begin() + (at + steps) * overlap.hop);
      const ChainContent content = content_of(steps, rows);
      const auto pages = stage(*device, content).value();
      Lengths lengths{};
      lengths.fill(steps);
      const auto results = device->results(output_bytes(served, lengths)).value();
      Request request = lane_request(served, lengths, pages->addresses(), results.address);
      carry(served.sessions, state, part % 2, 0, request);
      ASSERT_EQ(engine->admit(std::move(request)).kind, AdmitResult::Kind::kAdmitted);
      std::vector<Event> events;
      ASSERT_TRUE(engine->drain(std::chrono::seconds(60), events));
      const std::byte* answer = results.host.get() + result_offset(served, lengths, 0);
      made.insert(made.end(), answer, answer + row_bytes(model->outputs[0]) * steps);
      state = CarriedState{part % 2, steps};
      at += steps;
    }
    const std::byte* expected =
        right->front().data() + result_offset(served, lengths_of(*model, whole).value(), 0);
    ASSERT_EQ(made, std::vector<std::byte>(expected, expected + made.size())) << length;
  }
}

}  // namespace
}  // namespace volvox
