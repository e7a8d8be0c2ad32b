#include "device/task.h"

namespace volvox {

void Task::clear() {
  rows = padded_rows = 0;
  changes.clear();
  bindings.clear();
  edges.clear();
  emits.clear();
}

}  // namespace volvox
