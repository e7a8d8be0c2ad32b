#include "cpu/cells/stages.h"

#include <numeric>

namespace volvox::cpu {

std::vector<std::size_t> cut_stages(std::span<const std::size_t> weights,
                                    std::span<const std::size_t> crossing, std::size_t most) {
  std::vector<std::size_t> begins{0};
  std::vector<std::size_t> next(weights.begin(), weights.end());  // that is read from an operator on
  for (std::size_t i = next.size(); i-- > 1;) {
    if (next[i - 1] == 0) next[i - 1] = next[i];
  }
  std::size_t left = std::reduce(weights.begin(), weights.end(), std::size_t{0});
  while (left > most) {
    std::size_t cut = 0, before_cut = 0, read = 0;
    for (std::size_t i = begins.back(); i < weights.size(); ++i) {
      const bool fits = read <= most || cut == 0 || read == before_cut;
      if (!fits) break;
      // Of equal ones the last: a stage that reads more is worth more.
      const bool enough = 2 * read >= most || (read > 0 && read + next[i] > most);
      if (i > begins.back() && crossing[i] != kNoCut && enough &&
          (cut == 0 || crossing[i] <= crossing[cut])) {
        cut = i;
        before_cut = read;
      }
      read += weights[i];
    }
    if (cut == 0 || before_cut == left) break;  // what is behind reads nothing
    begins.push_back(cut);
    left -= before_cut;
  }
  return begins;
}

}  // namespace volvox::cpu
