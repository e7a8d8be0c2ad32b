#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace volvox {

// A file that is written, or standard output for an empty path. It takes the place of one that is there only
// when all of it is written.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  // Whether it can be written, as far as can be known before; else INVALID_ARGUMENT, with the path.
  Status check() const;
  void put(const std::string& text);
  // Whether all of it was written, and is in its place. Without a call nothing is put there.
  bool close();

 private:
  const std::string path_;
  std::string text_;  // of a file: until it is written as a whole
};

// A file that a command writes besides, where its user named one: as such a file, and nothing for an empty
// path. What takes long asks before it begins whether it can be written. Errors: INVALID_ARGUMENT, with the
// path.
Status check_report_file(const std::string& path);
Status write_report_file(const std::string& path, const std::string& text);

}  // namespace volvox
