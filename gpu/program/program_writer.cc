#include "gpu/program/program_writer.h"

#include <array>

namespace volvox::gpu {
namespace {

// Which registers are taken.
class Registers {
 public:
  std::optional<std::uint8_t> take() {
    for (std::uint8_t r = 0; r < kRegisters; ++r) {
      if (taken_ >> r & 1U) continue;
      taken_ |= 1U << r;
      return r;
    }
    return std::nullopt;
  }
  void free(std::uint8_t r) { taken_ &= ~(1U << r); }

 private:
  static_assert(kRegisters <= 32);
  std::uint32_t taken_ = 0;
};

}  // namespace

std::uint32_t operands_of(Instruction::Code code) {
  switch (code) {
    case Instruction::Code::kLoad:
    case Instruction::Code::kSegmentSum:
      return 0;
    case Instruction::Code::kStore:
    case Instruction::Code::kSigmoid:
    case Instruction::Code::kTanh:
    case Instruction::Code::kHashAll:
      return 1;
    case Instruction::Code::kMulAdd:
      return 3;
    default:
      return 2;
  }
}

ProgramWriter::Number ProgramWriter::emit(Step step) {
  step.out = static_cast<Number>(steps_.size());
  steps_.push_back(step);
  return step.out;
}

std::optional<ProgramWriter::Number> ProgramWriter::known(ValueId value, std::int64_t offset) const {
  const auto it = known_.find({value, offset});
  if (it == known_.end()) return std::nullopt;
  return it->second;
}

std::optional<std::vector<Instruction>> ProgramWriter::finish() const {
  std::vector<std::size_t> last_use(steps_.size(), 0);
  const auto read_by = [](const Step& step) { return std::array<Number, 3>{step.a, step.b, step.c}; };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto read = read_by(steps_[i]);
    for (std::uint32_t n = 0; n < operands_of(steps_[i].code); ++n) last_use[read[n]] = i;
  }
  std::vector<Instruction> made;
  std::vector<std::uint8_t> where(steps_.size(), 0);
  Registers registers;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const auto read = read_by(step);
    std::uint8_t from[3] = {0, 0, 0};
    for (std::uint32_t n = 0; n < operands_of(step.code); ++n) {
      from[n] = where[read[n]];
      if (last_use[read[n]] == i) registers.free(from[n]);
    }
    if (step.code != Instruction::Code::kStore) {
      if (last_use[i] <= i) continue;  // nobody wants it
      const auto taken = registers.take();
      if (!taken) return std::nullopt;
      where[i] = *taken;
    }
    made.push_back({step.code, where[i], from[0], from[1], from[2], 0, step.place});
  }
  return made;
}

}  // namespace volvox::gpu
