#include "gpu/driver/choice_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/keyed_hash.h"

namespace volvox::gpu {
namespace {

constexpr const char* kTitle = "volvox gpu choices 1";
constexpr const char* kCodePrefix = "gpu-code-";
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

// Whoever may choose what is hashed may write the files as well.
std::string digest_of(const std::string& text) {
  static const HashKey kKnown(0, 0);
  KeyedHash hash(kKnown);
  hash.add(std::as_bytes(std::span(text)));
  const Digest digest = hash.digest();
  std::ostringstream words;
  words << std::hex << std::setfill('0') << std::setw(16) << digest.hi << std::setw(16) << digest.lo;
  return words.str();
}

// What a file of code begins with: that it is one, of what, and which it is. (A driver is not told how long
// code is, and must not be given a part of it.)
std::string begin_of_code(const std::string& key, const std::string& code) {
  return "volvox gpu code 1\n" + digest_of(key) + " " + digest_of(code) + "\n" + std::to_string(key.size()) +
         "\n" + key + "\n";
}

class File {
 public:
  File(const std::string& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  bool good() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string words(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// Who can write what is read here decides what the GPU runs.
Status check_owner(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(ErrorCode::kUnavailable, path + ": " + words(errno));
  if (info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return invalid(
      path +
      " belongs to somebody else, or others may write to it; give it to this user with mode 0700, or "
      "set device.cache to a folder of its own");
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 16384> part{};
  ssize_t count = 0;
  while ((count = ::read(fd, part.data(), part.size())) > 0 && text.size() <= kMostBytes)
    text.append(part.data(), static_cast<std::size_t>(count));
  if (count < 0) return fail(ErrorCode::kUnavailable, path + ": " + words(errno));
  return text;
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return ::fsync(fd) == 0;
}

}  // namespace

Result<std::shared_ptr<ChoiceCache>> ChoiceCache::open(const std::string& folder) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  if (made) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  const File opened(folder, O_RDONLY | O_DIRECTORY);
  if (!opened.good()) return fail(ErrorCode::kUnavailable, "device.cache, " + folder + ": " + words(errno));
  if (Status ok = check_owner(opened.fd(), folder); !ok) return tl::unexpected(ok.error());
  std::shared_ptr<ChoiceCache> cache(new ChoiceCache(folder));
  auto choices = cache->read();
  if (!choices) return tl::unexpected(choices.error());
  cache->choices_ = std::move(*choices);
  return cache;
}

Result<ChoiceCache::Choices> ChoiceCache::read() const {
  const File opened(file(), O_RDONLY);
  if (!opened.good() && errno == ENOENT) return Choices{};
  if (!opened.good()) return fail(ErrorCode::kUnavailable, file() + ": " + words(errno));
  if (Status ok = check_owner(opened.fd(), file()); !ok) return tl::unexpected(ok.error());
  const auto text = read_all(opened.fd(), file());
  if (!text) return tl::unexpected(text.error());
  std::istringstream lines(*text);
  std::string line;
  Choices choices;
  if (text->size() > kMostBytes || !std::getline(lines, line) || line != kTitle) return choices;
  while (std::getline(lines, line)) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) choices.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  return choices;
}

// The whole file, or as it was. Under the folder's lock.
Status ChoiceCache::replace(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".new";
  (void)::unlink(unfinished.c_str());  // of a process that died; the lock says that nobody writes it now
  {
    const File opened(unfinished, O_WRONLY | O_CREAT | O_EXCL);
    if (!opened.good() || !write_all(opened.fd(), text))
      return fail(ErrorCode::kUnavailable, unfinished + ": " + words(errno));
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0)
    return fail(ErrorCode::kUnavailable, path + ": " + words(errno));
  return {};
}

Status ChoiceCache::write(const Choices& choices) const {
  std::string text = std::string(kTitle) + "\n";
  for (const auto& [key, choice] : choices) text.append(key).append("\t").append(choice).append("\n");
  return replace(file(), text);
}

std::string ChoiceCache::code_file(const std::string& key) const {
  return folder_ + "/" + kCodePrefix + digest_of(key);
}

std::optional<std::string> ChoiceCache::find_code(const std::string& key) const {
  const std::string path = code_file(key);
  const File opened(path, O_RDONLY);
  if (!opened.good() || !check_owner(opened.fd(), path)) return std::nullopt;
  const auto text = read_all(opened.fd(), path);
  const std::size_t begin = begin_of_code(key, {}).size();
  if (!text || text->size() > kMostBytes || text->size() <= begin) return std::nullopt;
  std::string code = text->substr(begin);
  if (!text->starts_with(begin_of_code(key, code))) return std::nullopt;
  (void)::futimens(opened.fd(), nullptr);  // what is used is not the oldest
  return code;
}

void ChoiceCache::keep_code(const std::string& key, const std::string& code) const {
  const std::string text = begin_of_code(key, code) + code;
  if (text.size() > kMostBytes) return;
  const File folder(folder_, O_RDONLY | O_DIRECTORY);
  if (!folder.good() || ::flock(folder.fd(), LOCK_EX) != 0) return;
  if (!replace(code_file(key), text)) return;
  drop_old_codes();
}

void ChoiceCache::drop_old_codes() const {
  namespace fs = std::filesystem;
  std::vector<std::pair<fs::file_time_type, fs::path>> codes;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kCodePrefix)) continue;
    codes.emplace_back(entry->last_write_time(error), entry->path());
  }
  std::sort(codes.begin(), codes.end());
  for (std::size_t i = 0; i + kMostCodes < codes.size(); ++i) fs::remove(codes[i].second, error);
}

std::optional<std::string> ChoiceCache::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = choices_.find(key);
  if (found == choices_.end()) return std::nullopt;
  return found->second;
}

std::string ChoiceCache::keep(const std::string& key, const std::string& choice) {
  const std::lock_guard lock(mutex_);
  const File folder(folder_, O_RDONLY | O_DIRECTORY);
  if (folder.good()) (void)::flock(folder.fd(), LOCK_EX);  // until the descriptor is closed
  // What other processes have chosen meanwhile comes first.
  if (auto others = read()) choices_.insert(others->begin(), others->end());
  const auto [kept, fresh] = choices_.emplace(key, choice);
  if (fresh) (void)write(choices_);
  return kept->second;
}

}  // namespace volvox::gpu
