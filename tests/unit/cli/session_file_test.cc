#include "cli/session_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace volvox {
namespace {

namespace fs = std::filesystem;

class SessionFile : public testing::Test {
 protected:
  void SetUp() override { fs::remove(file_); }
  void TearDown() override { fs::remove(file_); }

  const fs::path file_ = fs::path(testing::TempDir()) / "volvox_session_file_test.json";
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

TEST_F(SessionFile, WhatIsNoTokenIsRefused) {
  std::ofstream(file_) << "{\"id_hi\": -1}";
  EXPECT_FALSE(read_session_file(file_));
}

}  // namespace
}  // namespace volvox
