// Who does not belong to a cluster is refused, by either end, while the others are served.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kRefused = "volvox_cluster_connections_refused_total";

// A TCP connection to "127.0.0.1:PORT".
class Connection {
 public:
  explicit Connection(const std::string& address) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    const timeval patience{20L * slowness(), 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  bool connected() const { return connected_; }
  bool send(const std::string& bytes) const {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // Whether the other end closes it in time, whatever it says before.
  bool is_closed() const {
    char bytes[256];
    ssize_t count = 0;
    while ((count = recv(fd_, bytes, sizeof bytes, 0)) > 0) continue;
    return count == 0 || errno == ECONNRESET;
  }

 private:
  int fd_;
  bool connected_ = false;
};

class ClusterSecurity : public ClusterProcesses {
 protected:
  // Certificates of an authority of its own, in the folder.
  void make_keys(const std::string& folder) {
    const CommandResult made = run_volvox(
        {"keys", file(folder), "--cluster", "router", "a", "b", "c", "wrong-ca", "elsewhere"}, seconds(20));
    ASSERT_TRUE(made.ok()) << made.err;
  }
  Options tls(const std::string& folder, const std::string& name) const {
    const std::string place = file(folder) + "/cluster/";
    return {"--tls-certificate", place + name + ".crt", "--tls-key", place + name + ".key",
            "--tls-ca",          place + "ca.crt"};
  }
  static Options together(Options one, const Options& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
  }
  void start_tls_cluster() {
    ASSERT_NO_FATAL_FAILURE(make_keys("keys"));
    ASSERT_NO_FATAL_FAILURE(start_router("r1", together(patient(), tls("keys", "router"))));
    start_node("a", tls("keys", "a"));
    ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  }
  void wait_for_more(const std::string& metric_name, double before) {
    wait_until(metric_name + " grows", [&] { return metric(metric_name) > before; });
  }
  CommandResult infer(const Options& options = {}) const {
    Options arguments{"infer", "--connect", endpoint("r1"), "--timeout", "20"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_volvox(arguments, seconds(30), json{{"model", "m"}, {"tokens", {1, 2, 3}}}.dump());
  }
};

TEST_F(ClusterSecurity, AnEncryptedClusterAnswers) {
  ASSERT_NO_FATAL_FAILURE(start_tls_cluster());
  start_node("b", tls("keys", "b"));
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  EXPECT_EQ(metric(kRefused), 0) << logs();
  start_requests("300", "2");
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_suspicions_total"), 0);
}

// Such travel in fragments.
TEST_F(ClusterSecurity, LargeRequestsAreEncryptedToo) {
  const std::string definition = models() + "/m/model.toml";
  std::string text = read_file(definition);
  const std::size_t at = text.find("max_length = 4096");
  ASSERT_NE(at, std::string::npos) << text;
  write_file(definition, text.replace(at, 17, "max_length = 20000"));
  ASSERT_NO_FATAL_FAILURE(make_keys("keys"));
  ASSERT_NO_FATAL_FAILURE(start_router("r1", together(patient(), tls("keys", "router"))));
  write_file(file("cpu.toml"), "[device]\nkind = \"cpu\"\n");
  start_node("a", together(tls("keys", "a"), {"--config", file("cpu.toml")}));
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  start_load({"--length", "20000", "--rate", "5", "--seconds", "1", "--warmup", "0", "--verify",
              models() + "/m", "--require-all"});
  expect_all_answered(load_report());
}

// A process that died leaves an error behind that is not to be taken for one of the next connection.
TEST_F(ClusterSecurity, AKilledNodeCostsOthersNothing) {
  ASSERT_NO_FATAL_FAILURE(start_tls_cluster());
  for (const char* name : {"b", "c"}) start_node(name, tls("keys", name));
  ASSERT_NO_FATAL_FAILURE(wait_for_members(3));
  start_requests("300", "4");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(8));
  for (const char* name : {"b", "c"}) node(name).send(SIGKILL);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), 2) << logs();
  EXPECT_EQ(metric("volvox_cluster_joins_total"), 3) << logs();
}

TEST_F(ClusterSecurity, StrangersAreRefusedWhileOthersAreServed) {
  ASSERT_NO_FATAL_FAILURE(start_tls_cluster());
  ASSERT_NO_FATAL_FAILURE(make_keys("strangers"));
  start_requests("100", "5");
  double before = metric(kRefused);

  start_node("wrong-ca", tls("strangers", "wrong-ca"));
  ASSERT_NO_FATAL_FAILURE(
      wait_for_words(node("wrong-ca"), "its certificate is not accepted by cluster.tls_ca"));
  ASSERT_NO_FATAL_FAILURE(wait_for_more(kRefused, before));
  ASSERT_NO_FATAL_FAILURE(wait_for_words(router("r1"), "to the cluster's port was refused"));
  node("wrong-ca").send(SIGKILL);
  node("wrong-ca").wait(seconds(5));

  before = metric(kRefused);
  start_node("plain");
  ASSERT_NO_FATAL_FAILURE(wait_for_words(node("plain"), "if it wants TLS, set cluster.tls_certificate"));
  ASSERT_NO_FATAL_FAILURE(wait_for_more(kRefused, before));
  node("plain").send(SIGKILL);
  node("plain").wait(seconds(5));

  start_node("elsewhere", together(tls("keys", "elsewhere"), {"--cluster", "elsewhere"}));
  ASSERT_NO_FATAL_FAILURE(wait_for_more("volvox_cluster_joins_refused_total", 0));
  ASSERT_NO_FATAL_FAILURE(wait_for_words(router("r1"), "this is cluster 'volvox', not 'elsewhere'"));

  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_members"), 1);
  EXPECT_EQ(metric("volvox_cluster_joins_total"), 1) << logs();
}

// What the program itself would not send.
TEST_F(ClusterSecurity, ConnectionsWithoutCertificateOrSenseAreRefused) {
  ASSERT_NO_FATAL_FAILURE(start_tls_cluster());
  double before = metric(kRefused);
  {
    const Connection connection(dial("r1"));
    ASSERT_TRUE(connection.connected());
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, connection.fd());
    char byte = 0;
    SSL_connect(ssl);  // with TLS 1.3 the refusal comes after it
    EXPECT_LE(SSL_read(ssl, &byte, 1), 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
    EXPECT_TRUE(connection.is_closed());
  }
  ASSERT_NO_FATAL_FAILURE(wait_for_more(kRefused, before));
  before = metric(kRefused);
  const Connection nonsense(dial("r1"));
  EXPECT_TRUE(nonsense.send(std::string(64, '\x7f')));
  EXPECT_TRUE(nonsense.is_closed());
  ASSERT_NO_FATAL_FAILURE(wait_for_more(kRefused, before));
  before = metric(kRefused);
  const Connection silent(dial("r1"));
  EXPECT_TRUE(silent.is_closed()) << "although no other one comes";
  ASSERT_NO_FATAL_FAILURE(wait_for_more(kRefused, before));
  EXPECT_EQ(metric("volvox_cluster_members"), 1);
  EXPECT_TRUE(infer().ok()) << logs();
}

// Whoever comes first does not keep others out, nor the process's descriptors.
TEST_F(ClusterSecurity, FewConnectionsAreInAHandshakeAtATime) {
  write_file(file("few.toml"), "[cluster]\nmax_handshakes = 4\njoin_ms = 60000\n");
  ASSERT_NO_FATAL_FAILURE(make_keys("keys"));
  ASSERT_NO_FATAL_FAILURE(
      start_router("r1", together({"--config", file("few.toml")}, tls("keys", "router"))));
  std::vector<std::unique_ptr<Connection>> silent;
  for (int i = 0; i < 12; ++i) silent.push_back(std::make_unique<Connection>(dial("r1")));
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(silent[static_cast<std::size_t>(i)]->is_closed()) << i;
  ASSERT_NO_FATAL_FAILURE(wait_until("they are counted", [&] { return metric(kRefused) == 8; }));
  start_node("a", tls("keys", "a"));
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
}

TEST_F(ClusterSecurity, OlderVersionsOfTlsAreRefused) {
  ASSERT_NO_FATAL_FAILURE(start_tls_cluster());
  const auto connects = [&](int version) {
    const Connection connection(dial("r1"));
    const Options files = tls("keys", "b");
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, version);
    EXPECT_EQ(SSL_CTX_use_certificate_file(context, files[1].c_str(), SSL_FILETYPE_PEM), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context, files[3].c_str(), SSL_FILETYPE_PEM), 1);
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, connection.fd());
    const bool connected = SSL_connect(ssl) == 1;
    SSL_free(ssl);
    SSL_CTX_free(context);
    return connected;
  };
  EXPECT_TRUE(connects(TLS1_3_VERSION));
  EXPECT_FALSE(connects(TLS1_2_VERSION));
}

// Whoever has the key of one node is not all of them.
TEST_F(ClusterSecurity, ACertificateIsGoodForItsNameOnly) {
  ASSERT_NO_FATAL_FAILURE(start_tls_cluster());
  start_node("stranger", tls("keys", "b"));
  EXPECT_EQ(node("stranger").wait(seconds(20)), (ExitStatus{1, 0})) << logs();
  EXPECT_THAT(node("stranger").err(), HasSubstr("the certificate is good for 'b', not for 'stranger'"));
  // One that does not look at its own certificate, and says that it is another node.
  setenv("VOLVOX_DIALECT_NAME", "a", 1);
  start_node("b", tls("keys", "b"), VOLVOX_NEXT_BINARY);
  unsetenv("VOLVOX_DIALECT_NAME");
  ASSERT_NO_FATAL_FAILURE(wait_for_words(router("r1"), "the certificate is good for 'b', not for 'a'"));
  ASSERT_NO_FATAL_FAILURE(wait_for_more("volvox_cluster_joins_refused_total", 0));
  EXPECT_EQ(metric("volvox_cluster_joins_total"), 1) << logs();
  EXPECT_EQ(metric("volvox_cluster_members"), 1);
  EXPECT_TRUE(infer().ok()) << logs();
}

TEST_F(ClusterSecurity, ANodeWithCertificatesDoesNotJoinARouterInTheClear) {
  ASSERT_NO_FATAL_FAILURE(make_keys("keys"));
  ASSERT_NO_FATAL_FAILURE(start_router("r1"));
  start_node("b",
             together(tls("keys", "b"), {"--metrics", "127.0.0.1:0", "--port-file", file("node-ports")}));
  ASSERT_NO_FATAL_FAILURE(wait_for_words(node("b"), "it does not use TLS"));
  ASSERT_NO_FATAL_FAILURE(wait_until("the node counts it", [&] {
    std::istringstream lines(read_file(file("node-ports")));
    std::string listen, metrics;
    return std::getline(lines, listen) && std::getline(lines, metrics) &&
           metric_at(metrics, "volvox_cluster_dials_failed_total") > 0;
  }));
  start_node("a");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  EXPECT_TRUE(infer().ok()) << logs();
}

TEST_F(ClusterSecurity, WhatIsHalfConfiguredDoesNotStart) {
  ASSERT_NO_FATAL_FAILURE(make_keys("keys"));
  const auto refusal = [&](Options options) {
    options.insert(options.begin(), {"router", "--listen", "tcp://127.0.0.1:0", "--metrics", "",
                                     "--cluster-listen", "127.0.0.1:0"});
    const CommandResult result = run_volvox(options, seconds(20));
    EXPECT_EQ(result.status, (ExitStatus{1, 0})) << result.out;
    return result.err;
  };
  const Options good = tls("keys", "router");
  EXPECT_THAT(refusal({good[0], good[1]}), HasSubstr("cluster.tls_key: is missing"));
  Options wrong = good;
  wrong[3] = file("keys") + "/cluster/a.key";
  EXPECT_THAT(refusal(wrong), HasSubstr("is not the key of"));
  wrong = good;
  wrong[1] = file("nowhere.crt");
  EXPECT_THAT(refusal(wrong), HasSubstr("nowhere.crt' cannot be read: No such file"));
  const CommandResult node = run_volvox(
      {"node", "--models", file("models"), "--routers", "127.0.0.1:1", "--listen", "tcp://127.0.0.1:0",
       "--metrics", "", "--http", "", wrong[0], wrong[1], wrong[2], wrong[3], wrong[4], wrong[5]},
      seconds(20));
  EXPECT_EQ(node.status, (ExitStatus{1, 0}));
  EXPECT_THAT(node.err, HasSubstr("nowhere.crt' cannot be read"));
}

TEST_F(ClusterSecurity, ClientsWithoutTheRightKeyAreRefusedWhileOthersAreServed) {
  for (const char* folder : {"keys", "strangers"}) {
    const CommandResult made = run_volvox({"keys", file(folder), "--client", "alice"}, seconds(20));
    ASSERT_TRUE(made.ok()) << made.err;
  }
  ASSERT_NO_FATAL_FAILURE(
      start_router("r1", together(patient(), {"--server-key", file("keys") + "/server.key_secret",
                                              "--clients", file("keys") + "/clients"})));
  start_node("a");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  const auto keys = [&](const std::string& server, const std::string& client) -> Options {
    return {"--server-key", file(server) + "/server.key", "--client-key", file(client) + "/alice.key_secret"};
  };
  start_requests("100", "3", keys("keys", "keys"));
  const std::map<std::string, Options> strangers{{"in the clear", {}},
                                                 {"with an unknown key", keys("keys", "strangers")},
                                                 {"for another server", keys("strangers", "keys")}};
  for (const auto& [who, options] : strangers) {
    SCOPED_TRACE(who);
    const double before = metric("volvox_clients_refused_total");
    const CommandResult refused = infer(options);
    EXPECT_EQ(refused.status, (ExitStatus{1, 0}));
    EXPECT_EQ(json::parse(refused.out, nullptr, false)["error"]["code"], "UNAUTHENTICATED") << refused.out;
    ASSERT_NO_FATAL_FAILURE(wait_for_more("volvox_clients_refused_total", before));
  }
  expect_all_answered(load_report());
  EXPECT_TRUE(infer(keys("keys", "keys")).ok());
}

}  // namespace
}  // namespace volvox
