#include "cli/session_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace volvox {
namespace {

namespace fs = std::filesystem;

class SessionFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / "volvox_session_file_test";
  const fs::path file_ = folder_ / "session.json";
};

SessionOperation operation_of(const SessionStream& session, bool last = false) {
  ClientRequest request;
  session.stamp(request, last);
  return request.header.session->operation;
}

TEST_F(SessionFile, WithoutAFileANewSessionBegins) {
  const auto a = read_session_file(file_), b = read_session_file(file_);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(operation_of(*a), SessionOperation::kBegin);
  ClientRequest first, second;
  a->stamp(first);
  b->stamp(second);
  EXPECT_NE(first.header.session->nonce, 0U);
  EXPECT_NE(first.header.session->nonce, second.header.session->nonce);
}

TEST_F(SessionFile, TheSessionGoesOnAfterTheAnsweredPart) {
  WireSessionToken token;
  token.id_hi = ~std::uint64_t{0};
  token.id_lo = 2;
  token.sequence = 4;
  token.model_digest = ~std::uint64_t{0} - 1;
  token.home = "here";
  ASSERT_TRUE(write_session_file(file_, token));
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const auto session = read_session_file(file_);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->token(), token);
  EXPECT_EQ(session->parts(), 5U);
  EXPECT_EQ(operation_of(*session), SessionOperation::kContinue);
  EXPECT_EQ(operation_of(*session, true), SessionOperation::kEnd);
}

// Others may write to the folder, and know how the file's name might be while it is unfinished.
TEST_F(SessionFile, IsWrittenThroughNoLink) {
  const fs::path precious = folder_ / "precious";
  std::ofstream(precious) << "mine";
  for (const std::string name : {"session.json.new", "session.json.tmp", "session.json"})
    fs::create_symlink(precious, folder_ / name);
  ASSERT_TRUE(write_session_file(file_, WireSessionToken()));
  std::string text;
  std::getline(std::ifstream(precious), text);
  EXPECT_EQ(text, "mine");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file_)));
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 4)
      << "nothing is left over";
}

// All of it or nothing, and nothing of what was tried.
TEST_F(SessionFile, ThatCannotBeWrittenLeavesNothing) {
  fs::create_directories(file_ / "taken");
  EXPECT_FALSE(write_session_file(file_, WireSessionToken()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  EXPECT_FALSE(write_session_file(folder_ / "nowhere" / "session.json", WireSessionToken()));
}

TEST_F(SessionFile, WhatIsNoTokenIsRefused) {
  std::ofstream(file_) << "{\"id_hi\": -1}";
  EXPECT_FALSE(read_session_file(file_));
}

}  // namespace
}  // namespace volvox
