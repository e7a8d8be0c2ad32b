#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "shapes/lengths.h"
#include "shapes/random.h"

namespace volvox {

// A lattice: so many characters, and words over [starts[i], ends[i]) of them.
struct LatticeShape {
  std::uint32_t length = 0;
  std::vector<std::int32_t> starts{}, ends{};

  bool operator==(const LatticeShape&) const = default;
};

// The lattices that requests are made of. Draws are independent of each other. Immutable once made:
// any number of threads.
class LatticeSource {
 public:
  // One of the file's lattices with equal chance: one a line, as parse_lattice() reads them. INVALID_ARGUMENT
  // with the line's number for anything else, or an empty file.
  static Result<LatticeSource> from_file(const std::string& path);

  // So many characters as `lengths` says; with every second of them, but the first, a word of two to four
  // characters ends, on average.
  static LatticeSource random(LengthSource lengths);

  // From parts as the next two show them, whoever wrote them. INVALID_ARGUMENT for what is no lattice.
  static Result<LatticeSource> from_table(std::vector<LatticeShape> lattices, LengthSource lengths,
                                          std::string description);
  const std::vector<LatticeShape>& lattices() const { return lattices_; }  // empty: random ones
  const LengthSource& lengths() const { return lengths_; }

  LatticeShape draw(SeededRandom& random) const;

  // For reports: "random lattices, characters built-in (…)", or the file's path and size.
  const std::string& description() const { return description_; }

 private:
  LatticeSource(std::vector<LatticeShape> lattices, LengthSource lengths, std::string description)
      : lattices_(std::move(lattices)), lengths_(std::move(lengths)), description_(std::move(description)) {}

  std::vector<LatticeShape> lattices_;  // empty: random ones
  LengthSource lengths_;
  std::string description_;
};

// {"chars": 5, "words": [[0, 2], [3, 5]]}: characters counted from 0, ends behind the last character of a
// word, which has two or more. Other keys are ignored. INVALID_ARGUMENT otherwise.
Result<LatticeShape> parse_lattice(std::string_view line);

}  // namespace volvox
