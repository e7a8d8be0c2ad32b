#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"

namespace volvox::gpu {

// Where a library offers several ways to compute one thing, the fastest is found by measurement, and two that
// are nearly as fast win by turns: then the same model gives other bits after each start, and on each of two
// equal GPUs. So a choice is made once and kept in a file. A key must name all that the choice depends on:
// the kind of GPU, the driver, the library's version, the shape.
//
// The file decides what the GPU runs, so it must belong to this process's user, and nobody else may write it.
// It is replaced as a whole, under a lock of its folder: processes that start together end with the same
// choices. Any thread.
class ChoiceCache {
 public:
  // Makes the folder where it is missing. INVALID_ARGUMENT: somebody else owns the folder or the file, or may
  // write to it; UNAVAILABLE: it cannot be made or read. A file that is not one of ours counts as empty.
  static Result<std::shared_ptr<ChoiceCache>> open(const std::string& folder);

  std::optional<std::string> find(const std::string& key) const;
  // Keeps a choice for whoever asks next, and returns the one that holds from now on: that of whoever was
  // first. Keys and choices are text without tabs and line ends. Where the file cannot be written the choice
  // holds for this process alone.
  std::string keep(const std::string& key, const std::string& choice);

  // The same for kernels that were compiled at load, a file for each; a key is everything that the code
  // depends on. Of more than kMostCodes those that were not used for longest go; code of more than some MiB
  // is not kept.
  std::optional<std::string> find_code(const std::string& key) const;
  void keep_code(const std::string& key, const std::string& code) const;
  static constexpr std::size_t kMostCodes = 256;

 private:
  using Choices = std::map<std::string, std::string>;

  explicit ChoiceCache(std::string folder) : folder_(std::move(folder)) {}
  std::string file() const { return folder_ + "/gpu-choices"; }
  std::string code_file(const std::string& key) const;
  void drop_old_codes() const;
  static Status replace(const std::string& path, const std::string& text);
  Result<Choices> read() const;
  Status write(const Choices& choices) const;

  const std::string folder_;
  mutable std::mutex mutex_;
  Choices choices_;
};

}  // namespace volvox::gpu
