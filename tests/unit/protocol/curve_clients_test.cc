#include "protocol/curve/curve_clients.h"

#include <array>
#include <cerrno>
#include <fstream>

#include <dirent.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zmq.h>

#include "protocol/curve/curve_keys.h"

namespace volvox {
namespace {

// While one of these is there, whoever reads a folder gets its first file, and an error in place of the next.
class FoldersBreakOff {
 public:
  FoldersBreakOff() {
    active_ = true;
    files_ = breaks_ = 0;
  }
  ~FoldersBreakOff() { active_ = false; }
  FoldersBreakOff(const FoldersBreakOff&) = delete;
  FoldersBreakOff& operator=(const FoldersBreakOff&) = delete;

  int breaks() const { return breaks_; }
  // Whether the error comes in place of this entry; null: there is none.
  static bool break_at(const dirent* entry) {
    if (!active_ || entry == nullptr || entry->d_name[0] == '.' || ++files_ == 1) return false;
    files_ = 0;
    ++breaks_;
    return true;
  }

 private:
  static inline bool active_ = false;
  static inline int files_ = 0, breaks_ = 0;
};

}  // namespace
}  // namespace volvox

// In place of the C library's, for the standard library's iterators too; or of a sanitizer's, which is then
// the next one.
extern "C" dirent* readdir(DIR* folder) {
  static const auto next = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  dirent* entry = next(folder);
  if (!volvox::FoldersBreakOff::break_at(entry)) return entry;
  errno = EIO;
  return nullptr;
}

namespace volvox {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr TimePoint kStart{1h};

class CurveClientsTest : public testing::Test {
 protected:
  CurveClientsTest() : folder_(fs::path(testing::TempDir()) / "volvox_curve_clients") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~CurveClientsTest() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name) const { return folder_ / (name + ".key"); }
  // As cp and editors do: the same file, other bytes.
  void write_over(const std::string& name, const CurveKeys& keys) const {
    std::ofstream(file(name), std::ios::trunc) << "public-key = \"" << keys.public_key << "\"\n";
  }
  static std::optional<std::string> find(CurveClients& clients, const CurveKeys& keys,
                                         TimePoint now = kStart) {
    std::array<std::uint8_t, 32> raw{};
    zmq_z85_decode(raw.data(), keys.public_key.c_str());
    return clients.find(std::as_bytes(std::span(raw)), now);
  }
  CurveClients open(Duration stale = 60s) const { return CurveClients::in_folder(folder_, stale).value(); }

  fs::path folder_;
  const CurveKeys old_ = new_curve_keys().value(), new_ = new_curve_keys().value();
};

TEST_F(CurveClientsTest, AKeyThatIsWrittenOverIsTheOldOneNoLonger) {
  write_over("alice", old_);
  CurveClients clients = open();
  EXPECT_EQ(find(clients, old_), "alice");
  const auto written = fs::last_write_time(file("alice"));
  write_over("alice", new_);
  fs::last_write_time(file("alice"), written);  // even when neither time nor size tells
  clients.look(kStart + 1s);
  EXPECT_EQ(find(clients, old_, kStart + 1s), std::nullopt);
  EXPECT_EQ(find(clients, new_, kStart + 1s), "alice");
}

TEST_F(CurveClientsTest, FilesThatComeAndGoAreSeenAtOnce) {
  write_over("alice", old_);
  CurveClients clients = open();
  write_over("bob", new_);
  EXPECT_EQ(find(clients, new_), "bob");
  fs::remove(file("alice"));
  EXPECT_EQ(find(clients, old_), std::nullopt);
  EXPECT_EQ(clients.size(), 1U);
}

TEST_F(CurveClientsTest, AFileThatIsNotWrittenYetIsReadAgain) {
  CurveClients clients = open();
  std::ofstream(file("alice")) << "public-key";
  EXPECT_EQ(find(clients, old_), std::nullopt);
  write_over("alice", old_);
  EXPECT_EQ(find(clients, old_), "alice");
}

TEST_F(CurveClientsTest, AFolderThatCannotBeReadIsSaidAndLetsNobodyInAfterAWhile) {
  write_over("alice", old_);
  CurveClients clients = open(60s);
  const fs::path away = folder_.string() + ".away";
  fs::remove_all(away);
  fs::rename(folder_, away);
  clients.look(kStart);
  EXPECT_THAT(clients.trouble(), HasSubstr(folder_.string()));
  EXPECT_EQ(find(clients, old_, kStart), "alice");
  clients.look(kStart + 59s);
  EXPECT_EQ(find(clients, old_, kStart + 59s), "alice");
  clients.look(kStart + 60s);
  EXPECT_EQ(find(clients, old_, kStart + 60s), std::nullopt);
  fs::rename(away, folder_);
  EXPECT_EQ(find(clients, old_, kStart + 61s), "alice") << "at once when it is back";
  EXPECT_EQ(clients.trouble(), "");
}

// The first file is found when the folder is opened, the others later.
TEST_F(CurveClientsTest, AFolderThatBreaksOffWhileItIsReadChangesNothing) {
  write_over("alice", old_);
  write_over("bob", new_);
  CurveClients clients = open(60s);
  {
    const FoldersBreakOff broken;
    clients.look(kStart);
    ASSERT_EQ(broken.breaks(), 1) << "the iterators have another readdir()";
    EXPECT_THAT(clients.trouble(), HasSubstr(folder_.string()));
    EXPECT_EQ(find(clients, old_, kStart), "alice");
    EXPECT_EQ(find(clients, new_, kStart), "bob");
    EXPECT_EQ(find(clients, old_, kStart + 60s), std::nullopt) << "otherwise nobody could be shut out";
    EXPECT_FALSE(CurveClients::in_folder(folder_)) << "not all of them are known";
  }
  EXPECT_EQ(find(clients, old_, kStart + 61s), "alice");
  EXPECT_EQ(find(clients, new_, kStart + 61s), "bob");
  EXPECT_EQ(clients.trouble(), "");
}

TEST_F(CurveClientsTest, NobodyWaitsForAPipe) {
  ASSERT_EQ(::mkfifo(file("alice").c_str(), 0600), 0);
  EXPECT_FALSE(CurveClients::in_folder(folder_));
}

}  // namespace
}  // namespace volvox
