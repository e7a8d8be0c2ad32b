#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cells/ir/types.h"
#include "cells/ir/weights.h"

namespace volvox {

// The safetensors format: 8 bytes little-endian header length, a JSON header, and the tensors' bytes without
// holes. F32, I32 and U64 are served.

// The longest header that is read.
inline constexpr std::uint64_t kMaxHeaderBytes = 16U << 20;

// Maps a file and checks it against its own header. The weights keep the map alive; a tensor that does not
// lie aligned for its type is copied. A bad file is an error that names the file and the reason.
Result<Weights> read_safetensors(const std::filesystem::path& path);

// The same for bytes in memory that `owner` keeps alive; `name` stands for the file in errors. Any bytes may
// come: the result is weights or an error.
Result<Weights> parse_safetensors(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                  std::string_view name);

// A tensor to be written; the bytes stay the caller's.
struct TensorSource {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
};

// Writes a new file: tensors in the order given, data at a multiple of 64 bytes. Fails when the file exists,
// a name comes twice, a tensor's bytes are not its shape's, or the disk refuses; what was begun is then
// removed.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors);

}  // namespace volvox
