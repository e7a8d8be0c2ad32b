#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/gpu/fake_driver.h"

namespace volvox::gpu {

// What is given to a driver to be compiled, each text once.
class StageSources {
 public:
  // The driver interprets what is collected.
  void collect_from(FakeDriver& driver) {
    driver.compile_with([this](const StageSource& source) {
      add(source);
      return std::vector<FakeDriver::Stage>{};
    });
  }
  void add(const StageSource& source) {
    if (find(source) == all_.size()) all_.push_back(source);
  }
  // Its number; size(): it was not collected.
  std::size_t find(const StageSource& source) const {
    std::size_t i = 0;
    while (i < all_.size() && all_[i].text != source.text) ++i;
    return i;
  }
  // Of the n-th stage of one of them, where they are compiled together.
  static std::string name_of(std::size_t number, const std::string& n) {
    return "source" + std::to_string(number) + "_stage_" + n;
  }
  // Those from `first` on, before `end`, as one.
  StageSource together(std::size_t first, std::size_t end) const {
    StageSource made;
    for (std::size_t i = first; i < std::min(end, all_.size()); ++i) {
      made.text +=
          "#undef VOLVOX_STAGE\n#define VOLVOX_STAGE(n) VOLVOX_STAGE_AS(" + name_of(i, "##n") + ", n)\n";
      made.text += "namespace source" + std::to_string(i) + " {\n" + all_[i].text + "}\n";
      made.stages += all_[i].stages;
    }
    return made;
  }
  const std::vector<StageSource>& all() const { return all_; }

 private:
  std::vector<StageSource> all_;
};

}  // namespace volvox::gpu
