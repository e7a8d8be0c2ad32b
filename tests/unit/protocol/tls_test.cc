#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "config/secret_file.h"
#include "protocol/tls/authority.h"
#include "protocol/tls/context.h"
#include "protocol/tls/credentials.h"
#include "protocol/tls/names.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::time_t kDay = 24 * 3600;

class Tls : public testing::Test {
 protected:
  Tls() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("volvox_tls_" + std::string(test->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    authority_ = new_tls_authority("all of us", 10).value();
    node_ = new_tls_certificate(authority_, "node0", 5).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms::owner_read | fs::perms::owner_write);
    return folder_ / name;
  }
  TlsFiles files() const {
    return {file("node.crt", node_.certificate), file("node.key", node_.key),
            file("ca.crt", authority_.certificate)};
  }
  std::string refusal(const TlsFiles& given) const {
    const auto read = read_tls_credentials(given, now_);
    if (read) return "accepted";
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    return read.error().message;
  }

  fs::path folder_;
  TlsIdentity authority_, node_;
  std::time_t now_ = std::time(nullptr);
};

// The same key, protected by "secret".
std::string encrypted(const std::string& key) {
  const TlsHandle<EVP_PKEY> read(PEM_read_bio_PrivateKey(read_from(key).get(), nullptr, nullptr, nullptr));
  const TlsHandle<BIO> writer(BIO_new(BIO_s_mem()));
  char passphrase[] = "secret";
  PEM_write_bio_PKCS8PrivateKey(writer.get(), read.get(), EVP_aes_128_cbc(), passphrase, 6, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(writer.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

TEST_F(Tls, WhatBelongsTogetherIsTaken) {
  const auto read = read_tls_credentials(files(), now_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "node0");
  EXPECT_EQ(read->names, std::vector<std::string>{"node0"});
  EXPECT_EQ(read->certificate, node_.certificate);
  EXPECT_EQ(read->key, node_.key);
  EXPECT_EQ(read->authority, authority_.certificate);
  EXPECT_NEAR(static_cast<double>(read->expires - now_), 5.0 * kDay, 60.0);
  EXPECT_TRUE(make_tls_context(*read));
}

TEST_F(Tls, ACertificateIsGoodForItsNameOnly) {
  EXPECT_TRUE(check_certified({"node0", "node1"}, "node1"));
  const Status other = check_certified({"node0"}, "node1");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(other.error().message, AllOf(HasSubstr("good for 'node0', not for 'node1'"),
                                           HasSubstr("subjectAltName has DNS:node1")));
  EXPECT_FALSE(check_certified({}, "node0"));
  EXPECT_FALSE(check_certified({"*"}, "node0"));
}

// A name is no text in which an extension could say more.
TEST_F(Tls, ANameWithACommaIsOneName) {
  node_ = new_tls_certificate(authority_, "node0,DNS:node1", 5).value();
  const auto read = read_tls_credentials(files(), now_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->names, std::vector<std::string>{"node0,DNS:node1"});
}

TEST_F(Tls, SeveralAuthoritiesMayBeTrusted) {
  const auto other = new_tls_authority("the next", 10).value();
  TlsFiles both = files();
  both.authority = file("both.crt", other.certificate + authority_.certificate);
  EXPECT_TRUE(read_tls_credentials(both, now_));
}

TEST_F(Tls, AFileThatCannotBeReadIsNamed) {
  TlsFiles wrong = files();
  wrong.key = folder_ / "nowhere.key";
  EXPECT_THAT(refusal(wrong),
              AllOf(HasSubstr("cluster.tls_key"), HasSubstr("nowhere.key"), HasSubstr("No such file")));
  wrong = files();
  wrong.authority = folder_;
  EXPECT_THAT(refusal(wrong), AllOf(HasSubstr("cluster.tls_ca"), HasSubstr("is no file")));
  wrong = files();
  wrong.certificate = file("empty.crt", "");
  EXPECT_THAT(refusal(wrong), AllOf(HasSubstr("cluster.tls_certificate"), HasSubstr("holds no certificate")));
  wrong = files();
  wrong.certificate = file("cut.crt", node_.certificate.substr(0, node_.certificate.size() / 2));
  EXPECT_THAT(refusal(wrong), AllOf(HasSubstr("cluster.tls_certificate"), HasSubstr("cannot be read")));
  wrong = files();
  wrong.key = file("no.key", node_.certificate);
  EXPECT_THAT(refusal(wrong), AllOf(HasSubstr("cluster.tls_key"), HasSubstr("holds no private key")));
}

TEST_F(Tls, AKeyThatOthersMayReadIsRefused) {
  const TlsFiles open = files();
  for (const std::string& path : {open.certificate, open.authority})  // which are no secret
    fs::permissions(path, fs::perms::group_read | fs::perms::others_read, fs::perm_options::add);
  ASSERT_TRUE(read_tls_credentials(open, now_));
  fs::permissions(open.key, fs::perms::group_read, fs::perm_options::add);
  EXPECT_THAT(refusal(open), AllOf(HasSubstr("cluster.tls_key"), HasSubstr("chmod 600 " + open.key)));
}

TEST_F(Tls, AKeyThatNeedsAPassphraseIsRefused) {
  TlsFiles wrong = files();
  wrong.key = file("encrypted.key", encrypted(node_.key));
  EXPECT_THAT(refusal(wrong), AllOf(HasSubstr("cluster.tls_key"), HasSubstr("passphrase")));
}

TEST_F(Tls, AKeyOfAnotherCertificateIsRefused) {
  TlsFiles wrong = files();
  wrong.key = file("other.key", new_tls_certificate(authority_, "node1", 5).value().key);
  EXPECT_THAT(refusal(wrong),
              AllOf(HasSubstr("other.key"), HasSubstr("is not the key of"), HasSubstr("node.crt")));
}

TEST_F(Tls, ACertificateOfAnotherAuthorityIsRefused) {
  TlsFiles wrong = files();
  wrong.authority = file("other.crt", new_tls_authority("strangers", 10).value().certificate);
  EXPECT_THAT(refusal(wrong),
              AllOf(HasSubstr("node.crt"), HasSubstr("is not accepted by"), HasSubstr("other.crt")));
}

TEST_F(Tls, ACertificateOutsideItsTimeIsRefused) {
  now_ += 6 * kDay;
  EXPECT_THAT(refusal(files()), AllOf(HasSubstr("cluster.tls_certificate"), HasSubstr("expired on")));
  now_ -= 12 * kDay;
  EXPECT_THAT(refusal(files()),
              AllOf(HasSubstr("cluster.tls_certificate"), HasSubstr("is not valid before")));
  node_ = new_tls_certificate(authority_, "node0", 100).value();
  now_ += 17 * kDay;
  EXPECT_THAT(refusal(files()), AllOf(HasSubstr("cluster.tls_ca"), HasSubstr("expired on")));
}

TEST_F(Tls, ACertificateOfAnAuthorityIsNoProcesss) {
  TlsFiles wrong = files();
  wrong.certificate = wrong.authority;
  wrong.key = file("ca.key", authority_.key);
  EXPECT_THAT(refusal(wrong), HasSubstr("is not accepted by"));
}

TEST_F(Tls, KeysAreWrittenForTheirOwnerOnlyAndOnce) {
  const fs::path path = folder_ / "a.key";
  ASSERT_TRUE(write_new_file(path, "secret", 0600));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Status again = write_new_file(path, "other", 0600);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("File exists"));
}

}  // namespace
}  // namespace volvox
