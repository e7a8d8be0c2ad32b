#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "shapes/random.h"

namespace volvox {

// Which column of a file `src<TAB>tgt` counts.
enum class LengthColumn : std::uint8_t { kSource, kTarget };

// How long requests are: cellular batching lives on the spread of lengths, so the spread is part of a
// measurement. Draws are independent of each other. Immutable once made: any number of threads.
class LengthSource {
 public:
  // Every request has `length` steps (at least 1).
  static LengthSource fixed(std::uint32_t length);

  // The shape of the sentences that BatchMaker §7.1 measured with (WMT-15 Europarl: mean 24, 99 % under 100,
  // at most 330): a log-normal, rounded and clipped to [1, 330]. A mean of 24 and P(x < 100) = 0.99 leave one
  // pair of parameters: sigma²/2 − 2.326·sigma + ln(100 / 24) = 0, mu = ln 24 − sigma²/2. The clip cuts 4 in
  // 100,000.
  static LengthSource built_in();

  // One of the file's lines with equal chance. A line is one number, or `src<TAB>tgt`; a file with one column
  // has no target. INVALID_ARGUMENT with the line's number for anything else, 0, more than 2^20, or an empty
  // file.
  static Result<LengthSource> from_file(const std::string& path, LengthColumn column);

  // From a table as table() shows it, whoever wrote it. INVALID_ARGUMENT for a length that a file may not
  // have.
  static Result<LengthSource> from_table(std::vector<std::uint32_t> table, std::string description);
  // What is drawn from; empty: the built-in distribution.
  const std::vector<std::uint32_t>& table() const { return table_; }

  std::uint32_t draw(SeededRandom& random) const;
  // The longest that it draws.
  std::uint32_t longest() const;

  // For reports: "fixed 24", "built-in", or the file's path and size.
  const std::string& description() const { return description_; }

  static constexpr std::uint32_t kMaxLength = 1U << 20;
  static constexpr std::uint32_t kBuiltInMax = 330;

 private:
  LengthSource(std::vector<std::uint32_t> table, std::string description)
      : table_(std::move(table)), description_(std::move(description)) {}

  std::vector<std::uint32_t> table_;  // empty: the built-in distribution
  std::string description_;
};

}  // namespace volvox
