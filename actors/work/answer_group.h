#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <caf/actor.hpp>

namespace volvox {

struct Outcome;

// Where parts that came together leave how they ended, for the one actor that answers them: it is told of the
// first that lies here, and of the last of all, not of each. Any thread.
class AnswerGroup : public std::enable_shared_from_this<AnswerGroup> {
 public:
  using Answers = std::vector<std::pair<std::uint32_t, Outcome>>;  // by place among the parts

  AnswerGroup(std::size_t parts, caf::actor actor);
  ~AnswerGroup();

  // How the part ended; once for each.
  void put(std::uint32_t place, Outcome&& outcome);
  // What has come since the last time.
  Answers take();
  // Whether nothing more will come.
  bool complete() const;

 private:
  const caf::actor actor_;
  mutable std::mutex mutex_;
  std::size_t left_;
  Answers answers_;
};
using AnswerGroupPtr = std::shared_ptr<AnswerGroup>;

}  // namespace volvox
