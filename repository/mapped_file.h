#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/error.h"

namespace volvox {

// Weights are large and read only, and several processes may serve the same file: a file's bytes in memory
// without a copy. The file must not be changed in place while it is mapped (replace it by renaming another
// over it). Read-only: any thread may read.
class MappedFile {
 public:
  // Fails, with the path and the reason, unless the path is a regular file that may be read.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Page aligned; empty for an empty file.
  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}

  const std::byte* data_;
  std::size_t size_bytes_;
};

}  // namespace volvox
