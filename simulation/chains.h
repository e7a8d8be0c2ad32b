#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "device/device.h"
#include "install/installation.h"
#include "shapes/random.h"
#include "simulation/engine.h"

namespace volvox {

// The content of one request: along a chain of `length` steps, or over a structure, whose arrays belong to
// whoever made it. inputs[i]: the rows of each of the model's inputs, back to back.
struct ChainContent {
  std::uint32_t length = 0;
  std::vector<std::vector<std::byte>> inputs{};
  Structure structure = NoStructure{};
};

// Along which it unfolds.
Structure structure_of(const ChainContent& content);
// The lengths that the model makes of it. Fails on what it cannot run.
Result<Lengths> lengths_of(const Model& model, const ChainContent& content);

// Ids below each input's vocabulary, reals in [-1, 1): along a chain, or as many rows as a structure of these
// lengths needs, which the caller adds.
ChainContent random_content(const Model& model, std::uint32_t length, SeededRandom& chance);
ChainContent random_content(const Model& model, const Lengths& lengths, SeededRandom& chance);

// Inputs on a device, and what keeps them there.
Result<std::unique_ptr<InputPages>> stage(Device& device, const ChainContent& content);

// Runs the requests through an idle engine, in this order, at most `in_flight` at once, and returns the bytes
// of each one's results (install/installation.h says where each output lies). Fails when one of them fails,
// and when nothing moves for `patience`.
Result<std::vector<std::vector<std::byte>>> run_chains(Engine& engine, Device& device,
                                                       const InstalledModel& model,
                                                       std::span<const ChainContent> contents,
                                                       std::size_t in_flight,
                                                       Duration patience = std::chrono::seconds(60));

}  // namespace volvox
