#include "config/secret_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace volvox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SecretFile : public testing::Test {
 protected:
  SecretFile() : folder_(fs::path(testing::TempDir()) / "volvox_secret_file") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(path()) << "secret";
  }
  ~SecretFile() override {
    ::unsetenv("CREDENTIALS_DIRECTORY");
    fs::remove_all(folder_);
  }
  fs::path path() const { return folder_ / "key"; }
  Result<std::string> read(::mode_t mode) const {
    EXPECT_EQ(::chmod(path().c_str(), mode), 0);
    return read_secret_file(path(), 100);
  }
  fs::path folder_;
};

TEST_F(SecretFile, IsReadWhenOnlyItsOwnerMay) {
  for (const ::mode_t mode : {0600U, 0400U, 0700U})
    EXPECT_EQ(read(mode).value_or("refused"), "secret") << mode;
}

TEST_F(SecretFile, IsRefusedWhenOthersMayAndSaysWhatToDo) {
  for (const ::mode_t mode : {0640U, 0604U, 0660U, 0644U, 0620U, 0602U, 0444U}) {
    const auto text = read(mode);
    ASSERT_FALSE(text) << std::oct << mode;
    EXPECT_THAT(text.error().message, HasSubstr("chmod 600 " + path().string()));
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  }
}

// systemd gives a service its credentials by an access list, whose mask looks like a group's right.
TEST_F(SecretFile, ACredentialOfSystemdMayShowAGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "a credential belongs to root";
  ::setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
  EXPECT_TRUE(read(0440));
  EXPECT_FALSE(read(0444)) << "everybody may read it";
  EXPECT_FALSE(read(0460)) << "others may write it";
  ::setenv("CREDENTIALS_DIRECTORY", (folder_ / "elsewhere").c_str(), 1);
  EXPECT_FALSE(read(0440)) << "it is no credential";
}

TEST_F(SecretFile, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  const auto text = read(0600);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("belongs to another user"));
}

TEST_F(SecretFile, WhatIsNoFileOrTooLargeIsRefused) {
  EXPECT_FALSE(read_secret_file(folder_, 100));
  EXPECT_FALSE(read_secret_file(folder_ / "none", 100));
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_secret_file(folder_ / "fifo", 100)) << "and nobody waits for its writer";
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  EXPECT_FALSE(read_secret_file(path(), 3));
  EXPECT_TRUE(read_secret_file(path(), 6));
}

}  // namespace
}  // namespace volvox
