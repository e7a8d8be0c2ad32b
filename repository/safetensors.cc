#include "repository/safetensors.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "repository/mapped_file.h"
#include "repository/safetensors_header.h"

namespace volvox {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are read in place");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kDataAlignment = 64;

// What keeps the bytes of some weights alive: the file, and copies of tensors that lie badly in it.
struct Owner {
  std::shared_ptr<const void> file;
  std::vector<std::vector<std::uint64_t>> copies;
};

std::span<const std::byte> aligned(std::span<const std::byte> bytes, DType dtype, Owner& owner) {
  if (std::bit_cast<std::uintptr_t>(bytes.data()) % size_bytes(dtype) == 0) return bytes;
  auto& copy = owner.copies.emplace_back((bytes.size() + 7) / 8);
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return std::as_bytes(std::span(copy)).first(bytes.size());
}

Result<std::string> make_header(std::span<const TensorSource> tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::uint64_t at = 0;
  for (const TensorSource& tensor : tensors) {
    const auto bytes = static_cast<std::uint64_t>(elements(tensor.shape)) * size_bytes(tensor.dtype);
    if (bytes != tensor.bytes.size())
      return invalid("tensor '" + tensor.name + "' has not the bytes of its shape");
    const char* dtype = tensor.dtype == DType::kF32 ? "F32" : tensor.dtype == DType::kI32 ? "I32" : "U64";
    if (header.contains(tensor.name)) return invalid("tensor '" + tensor.name + "' is given twice");
    header[tensor.name] = {{"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::size_t end = kLengthBytes + text.size();
  text.append((kDataAlignment - end % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

// A file being written. It is removed unless finish() succeeds.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wbx")) {}
  ~NewFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool write(const void* data, std::size_t size) {
    return file_ != nullptr && (size == 0 || std::fwrite(data, 1, size, file_) == size);
  }
  bool finish() {
    if (file_ == nullptr || std::fflush(file_) != 0) return false;
    return std::fclose(std::exchange(file_, nullptr)) == 0;
  }

 private:
  std::filesystem::path path_;
  std::FILE* file_;
};

}  // namespace

Result<Weights> parse_safetensors(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                  std::string_view name) {
  const std::string where = std::string(name) + ": ";
  if (file.size() < kLengthBytes) {
    return invalid(where + "is no safetensors file: it has only " + std::to_string(file.size()) + " bytes");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > file.size() - kLengthBytes || length > kMaxHeaderBytes) {
    return invalid(where + "is no safetensors file, or was cut off: its header would have " +
                   std::to_string(length) + " bytes, the file has " + std::to_string(file.size()));
  }
  const auto header = file.subspan(kLengthBytes, length);
  const auto data = file.subspan(kLengthBytes + length);
  const std::string_view json(reinterpret_cast<const char*>(header.data()), header.size());
  Result<std::vector<TensorEntry>> entries = parse_safetensors_header(json, data.size());
  if (!entries) return invalid(where + entries.error().message);

  auto keeper = std::make_shared<Owner>();
  keeper->file = std::move(owner);
  std::map<std::string, Tensor, std::less<>> tensors;
  for (TensorEntry& entry : *entries) {
    const auto bytes = aligned(data.subspan(entry.begin, entry.end - entry.begin), entry.dtype, *keeper);
    tensors.emplace(std::move(entry.name), Tensor{entry.dtype, std::move(entry.shape), bytes});
  }
  return Weights(std::move(tensors), std::move(keeper));
}

Result<Weights> read_safetensors(const std::filesystem::path& path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  return parse_safetensors((*file)->bytes(), *file, path.string());
}

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors) {
  const Result<std::string> header = make_header(tensors);
  if (!header) return invalid(path.string() + ": " + header.error().message);
  NewFile file(path);
  const std::uint64_t length = header->size();
  bool good = file.write(&length, sizeof(length)) && file.write(header->data(), header->size());
  for (const TensorSource& tensor : tensors)
    good = good && file.write(tensor.bytes.data(), tensor.bytes.size());
  if (good && file.finish()) return {};
  return fail(ErrorCode::kUnavailable, path.string() + ": " + std::generic_category().message(errno));
}

}  // namespace volvox
