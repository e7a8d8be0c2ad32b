#include "gpu/program/stage_source.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "gpu/program/program_writer.h"

namespace volvox::gpu {
namespace {

// By number of the enumerators, of which those in the assertions are the last.
constexpr std::array<std::string_view, 10> kCodes = {
    "kLoad", "kStore", "kAdd", "kMul", "kMulAdd", "kSigmoid", "kTanh", "kSegmentSum", "kHash", "kHashAll"};
constexpr std::array<std::string_view, 8> kKinds = {"kBuffer", "kPlane",  "kRaggedPlane", "kOut",
                                                    "kInput",  "kResult", "kVector",      "kTable"};
constexpr std::array<std::string_view, 5> kTypes = {"kF32", "kI32", "kU64", "kBf16", "kF16"};

template <class Enum>
constexpr bool is_last(Enum last, std::size_t count) {
  return static_cast<std::size_t>(last) + 1 == count;
}
static_assert(is_last(Instruction::Code::kHashAll, kCodes.size()));
static_assert(is_last(Place::Kind::kTable, kKinds.size()));
static_assert(is_last(ElementType::kF16, kTypes.size()));

template <class Names, class Enum>
std::string name(const Names& names, Enum value) {
  return std::string(names.at(static_cast<std::size_t>(value)));
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

std::string text_of(const Place& place) {
  return std::string("{Place::Kind::") + name(kKinds, place.kind) +
         ", ElementType::" + name(kTypes, place.type) + ", " + number(place.index) + ", " +
         (place.ragged ? "true" : "false") + ", " + number(place.offset) + ", " + number(place.stride_bytes) +
         ", " + number(place.rows) + ", " + number(place.id) + ", " + number(place.shadow) +
         ", ElementType::" + name(kTypes, place.shadow_type) + ", 0}";
}

bool has_place(Instruction::Code code) {
  return code == Instruction::Code::kLoad || code == Instruction::Code::kStore ||
         code == Instruction::Code::kSegmentSum || code == Instruction::Code::kHashAll;
}

// Registers are written several times; each time gets a name of its own, as compilers like it.
class Names {
 public:
  std::string of(std::uint8_t number) const { return text(current_.at(number)); }
  std::string next(std::uint8_t number) { return text(current_.at(number) = ++last_); }

 private:
  static std::string text(std::uint32_t n) { return std::string("v") + number(n); }
  std::array<std::uint32_t, kRegisters> current_{};
  std::uint32_t last_ = 0;
};

std::string value_of(const Instruction& in, const Names& names) {
  const std::string place = std::string("p") + number(in.place) + ", " + number(in.place);
  switch (in.code) {
    case Instruction::Code::kLoad:
      return std::string("piece.load(") + place + ")";
    case Instruction::Code::kSegmentSum:
      return std::string("piece.segment_sum(") + place + ")";
    case Instruction::Code::kHashAll:
      return std::string("piece.hash_all(") + place + ", " + names.of(in.a) + ")";
    default:
      break;
  }
  const std::uint32_t operands = operands_of(in.code);
  std::string text = std::string("piece.compute(Instruction::Code::") + name(kCodes, in.code);
  for (const auto& [n, operand] : {std::pair{0U, in.a}, std::pair{1U, in.b}, std::pair{2U, in.c}})
    text += ", " + names.of(n < operands ? operand : in.a);
  return text + ")";
}

std::string program_text(const CellPlan& plan, std::span<const Place> places, std::uint32_t which) {
  const Program& program = plan.programs[which];
  const auto instructions = std::span(plan.instructions).subspan(program.first, program.count);
  std::string text = std::string("struct Program") + number(which) + " {\n";
  text += std::string("  static constexpr std::uint32_t kWidth = ") + number(program.width) + ";\n";
  text +=
      std::string("  static constexpr bool kRagged = ") + (program.ragged != 0 ? "true" : "false") + ";\n";
  text += "  VOLVOX_KERNEL_BODY static void run(StagePiece<kWidth>& piece) {\n";
  std::vector<bool> known(places.size());
  for (const Instruction& in : instructions) {
    if (!has_place(in.code) || known[in.place]) continue;
    known[in.place] = true;
    text += std::string("    constexpr Place p") + number(in.place) + text_of(places[in.place]) + ";\n";
  }
  Names names;
  for (const Instruction& in : instructions) {
    if (in.code == Instruction::Code::kStore) {
      text +=
          "    piece.store(p" + number(in.place) + ", " + number(in.place) + ", " + names.of(in.a) + ");\n";
      continue;
    }
    const std::string value = value_of(in, names);
    text += std::string("    const auto ") + names.next(in.out) + " = " + value + ";\n";
  }
  return text + "  }\n};\n";
}

}  // namespace

StageSource stage_source(const CellPlan& plan, std::span<const Place> places) {
  StageSource source;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan& stage = plan.stages[s];
    const std::uint32_t end = stage.first_program + stage.program_count;
    for (std::uint32_t p = stage.first_program; p < end; ++p) source.text += program_text(plan, places, p);
    source.text += std::string("VOLVOX_STAGE(") + number(s) + ") {\n  switch (program) {\n";
    for (std::uint32_t p = stage.first_program; p < end; ++p) {
      source.text += std::string("    case ") + number(p - stage.first_program) +
                     ":\n      run_stage<Program" + number(p) + ">(call, me);\n      break;\n";
    }
    source.text += "  }\n}\n";
    ++source.stages;
  }
  return source;
}

}  // namespace volvox::gpu
