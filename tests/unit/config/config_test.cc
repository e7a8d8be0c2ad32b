#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/addresses.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/tokens.h"
#include "config/validate.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(std::string_view toml) {
  const auto config = parse_config(toml, "a.toml");
  return config ? "" : config.error().message;
}

std::string read_file(const char* path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Counts fields and asks whether a text sets them all.
struct FieldsIn {
  const std::string& file;
  int fields = 0;
  std::string prefix{};
  void section(std::string_view name) { EXPECT_THAT(file, HasSubstr("\n[" + std::string(name) + "]\n")); }
  void seen(std::string_view key) {
    ++fields;
    EXPECT_THAT(file, HasSubstr("\n" + prefix + std::string(key) + " = "));
  }
  void text(std::string_view key, const std::string&) { seen(key); }
  template <class T>
  void number(std::string_view key, T, T, T) {
    seen(key);
  }
  void real(std::string_view key, double, double, double) { seen(key); }
  void flag(std::string_view key, bool) { seen(key); }
  template <class Enum>
  void choice(std::string_view key, Enum) {
    seen(key);
  }
  // There are none by default: the example shows the fields of one in comments.
  template <class Table, class Fields>
  void tables(std::string_view name, const std::vector<Table>&, Fields visit) {
    EXPECT_THAT(file, HasSubstr("\n# [[" + std::string(name) + "]]\n"));
    prefix = "# ";
    const Table table{};
    visit(table, *this);
    prefix.clear();
  }
};

TEST(Config, AnEmptyDocumentGivesTheDefaults) {
  const auto config = parse_config("", "empty.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(*config, ServeConfig{});
  EXPECT_TRUE(validate(ServeConfig{}));
}

TEST(Config, TheExampleShowsEveryFieldWithItsDefault) {
  const auto config = load_config(VOLVOX_EXAMPLE_CONFIG);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(*config, ServeConfig{});
  const std::string text = read_file(VOLVOX_EXAMPLE_CONFIG);
  FieldsIn fields{text};
  const ClusterConfig defaults;
  visit_fields(defaults, fields);
  visit_cluster(defaults, fields);
  EXPECT_GT(fields.fields, 30);
}

TEST(Config, WhatIsPrintedReadsBack) {
  ServeConfig config;
  config.server.name = "a \"quoted\" name";
  config.server.metrics = "";
  config.device.kind = DeviceKind::kTimed;
  config.device.timed_row_us = 0.125;
  config.device.timed_hang_file = "some/hang";
  config.batching.policy = PolicyKind::kPadded;
  config.batching.eager = EagerChoice::kOff;
  config.limits.retry_after_ms = 7;
  config.wire.nesting = 32;
  config.model = {{.name = "a", .weight = 2.5}, {.name = "b", .priority = PriorityChoice::kLow}};
  const auto again = parse_config(to_toml(config), "printed.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, config);
}

TEST(Config, EachQueueMayHaveALimit) {
  const std::string two = "[device]\nqueues = 2\n";
  const auto config = parse_config(two + "[[queue]]\nmax_batch = 64\n[[queue]]\n", "a.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->queue, (std::vector<QueueSection>{{64}, {0}}));
  EXPECT_EQ(*parse_config(to_toml(*config), "printed.toml"), *config);
  EXPECT_EQ(error_of("[[queue]]\n[[queue]]\n"),
            "a.toml: queue: has more tables than there are queues; raise device.queues");
  EXPECT_EQ(error_of("[batching]\npolicy = \"padded\"\n[[queue]]\n"),
            "a.toml: queue: needs batching.policy = \"cellular\": the others run whole batches");
}

TEST(Config, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(error_of("[device]\nqueues = 0\n"), "a.toml:2: device.queues: must be between 1 and 64, not 0");
  EXPECT_EQ(error_of("[device]\n\nqueues = \"two\"\n"), "a.toml:3: device.queues: must be a whole number");
  EXPECT_EQ(error_of("[device]\nqueues = 99999999999\n"),
            "a.toml:2: device.queues: must be between 1 and 64, not 99999999999");
  EXPECT_EQ(error_of("[server]\nlisten = 7100\n"), "a.toml:2: server.listen: must be a string in quotes");
  EXPECT_EQ(error_of("[batching]\npolicy = \"best\"\n"),
            "a.toml:2: batching.policy: must be one of cellular, padded, depth, agenda");
  EXPECT_EQ(error_of("[device]\ntimed_row_us = nan\n"),
            "a.toml:2: device.timed_row_us: must be between 0 and 1e+06, not nan");
  EXPECT_EQ(error_of("\nserver = 3\n"), "a.toml:2: server: must be a section: write [server]");
}

TEST(Config, UnknownKeysAreRefused) {
  EXPECT_THAT(error_of("[server]\nlisten = \"tcp://127.0.0.1:1\"\nlissen = 1\n"),
              StartsWith("a.toml:3: server.lissen: is unknown; [server] has "));
  EXPECT_THAT(error_of("[servers]\n"),
              StartsWith("a.toml:1: servers: is unknown; there are admin, batching"));
}

TEST(Config, BrokenTomlNamesItsLine) {
  EXPECT_THAT(error_of("[server]\nname = \n"), StartsWith("a.toml:2: "));
  EXPECT_THAT(error_of("\xff\xfe"), StartsWith("a.toml:1: "));
}

TEST(Config, ContradictionsNameTheLineOfTheirKey) {
  EXPECT_THAT(error_of("[server]\nname = \"x\"\nlisten = \"localhost:7100\"\n"),
              StartsWith("a.toml:3: server.listen: 'localhost:7100' is no endpoint"));
  EXPECT_THAT(error_of("[server]\nmetrics = \"7101\"\n"),
              StartsWith("a.toml:2: server.metrics: '7101' is no"));
  EXPECT_THAT(error_of("[http]\nlisten = \"7102\"\n"), StartsWith("a.toml:2: http.listen: '7102' is no"));
  EXPECT_THAT(error_of("[http]\nmax_mib = 95\n"), StartsWith("a.toml:2: http.max_mib: must be at least 96"));
  EXPECT_EQ(error_of("[http]\nmax_mib = 96\n"), "");
  EXPECT_EQ(error_of("[http]\nlisten = \"\"\nmax_mib = 1\n"), "");
  EXPECT_THAT(error_of("[security]\nserver_key = \"k\"\n"),
              StartsWith("a.toml: security.clients: is missing"));
  EXPECT_THAT(error_of("[security]\nclients = \"*\"\n"),
              StartsWith("a.toml: security.server_key: is missing"));
  EXPECT_EQ(error_of("[security]\nserver_key = \"k\"\nclients = \"*\"\n"), "");
  EXPECT_THAT(error_of("[wire]\nmax_body_bytes = 536870911\n"),
              StartsWith("a.toml: wire.traversal_words: must exceed"));
  EXPECT_THAT(parse_config("[wire]\nmax_name_bytes = 1024\n", "a.toml").error().message,
              StartsWith("a.toml: wire.max_header_bytes: must be at least 5376"));
  EXPECT_THAT(error_of("[wire]\nnesting = 65\n"), StartsWith("a.toml:2: wire.nesting: "));
  EXPECT_THAT(error_of("[wire]\nmax_tensors = 1025\n"), StartsWith("a.toml:2: wire.max_tensors: "));
  EXPECT_THAT(error_of("[limits]\nmax_receiving_mib = 63\n"),
              StartsWith("a.toml:2: limits.max_receiving_mib: is less than four of the largest bodies"));
  EXPECT_EQ(error_of("[limits]\nmax_receiving_mib = 64\n"), "");
  EXPECT_THAT(error_of("[limits]\nsilent_client_ms = 999\n"),
              StartsWith("a.toml:2: limits.silent_client_ms: must be 0, or at least 1000"));
  EXPECT_EQ(error_of("[limits]\nsilent_client_ms = 0\n"), "");
}

TEST(Config, ModelsHaveTablesOfTheirOwn) {
  const auto config = parse_config(
      "[[model]]\nname = \"a\"\nweight = 2\n\n[[model]]\nname = \"b\"\nmax_waiting = 7\n", "a.toml");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->model.size(), 2U);
  EXPECT_EQ(model_section(*config, "a").weight, 2.0);
  EXPECT_EQ(model_section(*config, "b").max_waiting, 7U);
  EXPECT_EQ(model_section(*config, "c"), ModelSection{});
}

TEST(Config, ErrorsInAModelsTableNameIt) {
  EXPECT_EQ(error_of("[model]\nname = \"a\"\n"),
            "a.toml:1: model: must be a list of tables: write [[model]]");
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\n[[model]]\nname = \"b\"\nweight = 0\n"),
            "a.toml:5: model[1].weight: must be between 0.001 and 1000, not 0");
  EXPECT_THAT(error_of("[[model]]\nname = \"a\"\nwait = 1\n"),
              StartsWith("a.toml:3: model[0].wait: is unknown; [model[0]] has "));
  EXPECT_EQ(error_of("[[model]]\nweight = 1\n"),
            "a.toml: model[0].name: names no model; give the name that clients use");
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\n[[model]]\nname = \"a\"\n"),
            "a.toml:4: model[1].name: has a table already; merge the two");
  EXPECT_EQ(error_of("[[model]]\nname = \"a\"\nmax_deadline_ms = 5\ndefault_deadline_ms = 6\n"),
            "a.toml:4: model[0].default_deadline_ms: must be at most max_deadline_ms");
}

TEST(Config, ClientsHaveTablesOfTheirOwn) {
  const std::string keys = "[security]\nserver_key = \"k\"\nclients = \"c\"\n";
  const auto config = parse_config(keys + "[[client]]\nname = \"alice\"\nmax_requests = 7\n", "a.toml");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->client.size(), 1U);
  EXPECT_EQ(config->client[0], (ClientSection{"alice", 7, 0}));
  EXPECT_EQ(error_of(keys + "[[client]]\nmax_requests = 1\n"),
            "a.toml: client[0].name: names no client; give the name of its key's file");
  EXPECT_EQ(error_of(keys + "[[client]]\nname = \"a\"\n[[client]]\nname = \"a\"\n"),
            "a.toml:7: client[1].name: has a table already; merge the two");
  EXPECT_THAT(error_of("[[client]]\nname = \"a\"\n"),
              StartsWith("a.toml: client: needs security.server_key"));
}

TEST(Config, AFileThatIsNotThereIsAClearError) {
  const auto config = load_config("no/such/file.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(config.error().message, "no/such/file.toml: cannot be read; is the path right?");
  EXPECT_FALSE(load_config("."));
}

TEST(Config, ValuesFromTheCommandLineAreCheckedToo) {
  ServeConfig config;
  config.device.queues = 65;
  const Status status = validate(config);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "device.queues: must be between 1 and 64, not 65");
}

TEST(ClusterConfig, OneFileServesAllProcesses) {
  const std::string text =
      "[server]\nname = 'n1'\n[cluster]\nrouters = '127.0.0.1:1, localhost:2'\nplacement = 'pack'\n";
  const auto config = parse_cluster_config(text, "x.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server.name, "n1");
  EXPECT_EQ(config->cluster.placement, PlacementChoice::kPack);
  EXPECT_EQ(parse_config(text, "x.toml")->server.name, "n1");
  const std::string senseless = "[cluster]\nsuspect_ms = 1000\n";
  EXPECT_TRUE(parse_config(senseless, "x.toml")) << "it is nothing to a server on its own";
  EXPECT_FALSE(parse_cluster_config(senseless, "x.toml"));
  EXPECT_EQ(parse_cluster_config(to_toml(*config), "printed.toml"), *config);
}

TEST(Addresses, AreSplit) {
  EXPECT_EQ(split_addresses(" a:1, b:2,,"), (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(split_addresses("ipc:///a b , c"), (std::vector<std::string>{"ipc:///a b", "c"}));
  EXPECT_TRUE(split_addresses(" , ").empty());
  EXPECT_TRUE(split_addresses("").empty());
}

TEST(Addresses, LoseTheirBrackets) {
  EXPECT_EQ(without_brackets("[::1]"), "::1");
  EXPECT_EQ(without_brackets("127.0.0.1"), "127.0.0.1");
}

TEST(ClusterConfig, ContradictionsAreNamed) {
  const auto error = [](const std::string& cluster) {
    return parse_cluster_config("[cluster]\n" + cluster, "x.toml").error().message;
  };
  EXPECT_EQ(error("suspect_ms = 1000"), "x.toml: cluster.dead_ms: must exceed cluster.suspect_ms");
  EXPECT_EQ(error("routers = 'routers.example:7110'\nmax_routers = 4\nmax_requests = 24")
                .find("x.toml:4: cluster.max_requests: must be at least 25: "),
            0U);
  EXPECT_EQ(error("dead_ms = 7"), "x.toml:2: cluster.dead_ms: must be between 301 and 3600000, not 7");
  EXPECT_EQ(error("routers = '127.0.0.1'"),
            "x.toml:2: cluster.routers: '127.0.0.1' is no HOST:PORT; write for example 127.0.0.1:7101");
  EXPECT_EQ(error("name = ''"), "x.toml:2: cluster.name: must have between 1 and wire.max_name_bytes bytes");
  EXPECT_EQ(
      error("routers = '127.0.0.1:1'\nmax_request_mib = 160"),
      "x.toml:3: cluster.max_request_mib: must be at least 161: each router must be able to send a body of "
      "wire.max_body_bytes");
  const std::string named = "routers = 'routers.example:7110'\n";
  EXPECT_EQ(
      error(named + "max_request_mib = 720").find("x.toml:3: cluster.max_request_mib: must be at least 721"),
      0U);
  EXPECT_EQ(
      error(named + "max_request_mib = 320\nmax_routers = 3"),
      "x.toml:3: cluster.max_request_mib: must be at least 321: each router must be able to send a body of "
      "wire.max_body_bytes");
  EXPECT_EQ(error("max_routers = 1\nrouters = '127.0.0.1:1,127.0.0.1:2'"),
            "x.toml:2: cluster.max_routers: is less than the routers that are named");
  EXPECT_EQ(error("nodse = 1").find("x.toml:2: cluster.nodse: is unknown"), 0U);
}

TEST(ClusterConfig, LinksInTheClearStayOnLoopbackUnlessOneInsists) {
  const auto problem = [](const std::string& cluster) {
    const auto config = parse_cluster_config("[cluster]\n" + cluster, "x.toml");
    return config ? std::string() : config.error().message;
  };
  const std::string wide = "listen = '0.0.0.0:7110'\n";
  EXPECT_EQ(
      problem(wide).find("x.toml:2: cluster.listen: must be a loopback address as long as links are not "
                         "encrypted"),
      0U);
  EXPECT_EQ(problem(wide + "insecure = true"), "");
  EXPECT_EQ(problem(wide + "tls_certificate = 'c'\ntls_key = 'k'\ntls_ca = 'a'"), "");
  EXPECT_EQ(problem("listen = 'localhost:7110'"), "");
  EXPECT_EQ(problem("insecure = 1"), "x.toml:2: cluster.insecure: must be true or false");
}

TEST(ClusterConfig, HalfOfTlsIsRefused) {
  const auto problem = [](const std::string& cluster) {
    const auto config = parse_cluster_config("[cluster]\n" + cluster, "x.toml");
    return config ? std::string() : config.error().message;
  };
  const std::string rest =
      " is missing: cluster.tls_certificate, tls_key and tls_ca belong together; give all, or none";
  EXPECT_EQ(problem("tls_key = 'k'\ntls_ca = 'a'"), "x.toml: cluster.tls_certificate:" + rest);
  EXPECT_EQ(problem("tls_certificate = 'c'\ntls_ca = 'a'"), "x.toml: cluster.tls_key:" + rest);
  EXPECT_EQ(problem("tls_certificate = 'c'\ntls_key = 'a'"), "x.toml: cluster.tls_ca:" + rest);
}

TEST(Config, DoorsBeyondLoopbackAskWhoComesInUnlessOneInsists) {
  const std::string keys = "[security]\nserver_key = \"k\"\nclients = \"*\"\n";
  for (const char* wide :
       {"tcp://0.0.0.0:7100", "tcp://*:7100", "tcp://10.0.0.7:7100", "tcp://127.evil.example:7100"}) {
    const std::string listen = std::string("[server]\nlisten = \"") + wide + "\"\n";
    EXPECT_THAT(error_of(listen), StartsWith("a.toml:2: server.listen: is reached from beyond loopback"))
        << wide;
    EXPECT_EQ(error_of(listen + "insecure = true\n"), "");
    EXPECT_EQ(error_of(listen + keys), "");
  }
  EXPECT_EQ(error_of("[server]\nlisten = \"ipc:///run/volvox\"\n"), "");
  EXPECT_EQ(error_of("[server]\nlisten = \"tcp://[::1]:7100\"\n"), "");
  const std::string http = "[http]\nlisten = \"[::]:7102\"\n";
  EXPECT_THAT(error_of(http), StartsWith("a.toml:2: http.listen: is reached from beyond loopback"));
  EXPECT_THAT(error_of(keys + http), StartsWith("a.toml:5: http.listen: is reached"))
      << "keys are of another door";
  EXPECT_EQ(error_of(http + "insecure = true\n"), "");
  EXPECT_EQ(error_of(http + "token = \"t\"\n"), "");
  const std::string metrics = "[server]\nmetrics = \"0.0.0.0:7101\"\n";
  EXPECT_THAT(error_of(metrics), StartsWith("a.toml:2: server.metrics: is reached from beyond loopback"));
  EXPECT_THAT(error_of(metrics + "insecure = true\n"), StartsWith("a.toml:2: server.metrics: is reached"));
  EXPECT_EQ(error_of(metrics + "metrics_insecure = true\n"), "");
  EXPECT_EQ(error_of(metrics + "metrics_token = \"t\"\n"), "");
  const std::string probes = "[server]\nprobes = \"0.0.0.0:7103\"\n";
  EXPECT_THAT(error_of(probes), StartsWith("a.toml:2: server.probes: is reached from beyond loopback"));
  EXPECT_EQ(error_of(probes + "probes_insecure = true\n"), "");
  EXPECT_EQ(error_of("[server]\nprobes = \"unix:/run/volvox/probes\"\n[http]\nlisten = \"unix:http\"\n"), "");
  EXPECT_THAT(error_of("[http]\nlisten = \"unix:\"\n"),
              StartsWith("a.toml:2: http.listen: 'unix:' is no address"));
}

TEST(Addresses, LoopbackIsWhatOnlyThisMachineReaches) {
  for (const char* own : {"127.0.0.1", "127.255.0.9", "[::1]", "localhost", "LocalHost"})
    EXPECT_TRUE(is_loopback(own)) << own;
  for (const char* others : {"127.evil.example", "127.0.0.1.evil.example", "127.", "localhost.evil.example",
                             "0.0.0.0", "[::]", "10.0.0.7", "*", "", "::1", "[::1].evil"})
    EXPECT_FALSE(is_loopback(others)) << others;
  EXPECT_TRUE(is_numeric_host("10.0.0.7"));
  EXPECT_TRUE(is_numeric_host("[2001:db8::1]"));
  for (const char* name : {"10.0.0", "10.0.0.7.example", "127.evil.example", "", "[]", "[x]"})
    EXPECT_FALSE(is_numeric_host(name)) << name;
}

TEST(Tokens, OneALineLongAndPlain) {
  const auto tokens = parse_tokens("# comment\n\n 0123456789abcdef \r\nfedcba9876543210");
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
  for (const char* bad :
       {"", "\n# only\n", "0123456789abcde", "0123456789 abcdef", "0123456789abcd\xc3\xa4\n"})
    EXPECT_FALSE(parse_tokens(bad)) << bad;
}

TEST(Tokens, AreReadFromFilesOfTheirOwnersOnly) {
  const std::string file = testing::TempDir() + "volvox-tokens";
  std::ofstream(file) << "0123456789abcdef\n";
  namespace fs = std::filesystem;
  for (const fs::perms loose : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write}) {
    fs::permissions(file, fs::perms::owner_all | loose);
    const auto tokens = read_tokens(file);
    ASSERT_FALSE(tokens);
    EXPECT_THAT(tokens.error().message, testing::HasSubstr("chmod 600"));
  }
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(read_tokens(file));
  std::ofstream(file) << "short\n";
  EXPECT_THAT(read_tokens(file).error().message, StartsWith(file + ": a token must have"));
  fs::remove(file);
  EXPECT_FALSE(read_tokens(file));
}

TEST(Addresses, HostAndPort) {
  EXPECT_EQ(parse_host_port("127.0.0.1:7101")->port, 7101);
  EXPECT_EQ(parse_host_port("[::1]:0")->host, "[::1]");
  for (const char* bad : {"", ":", "7101", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", ":7101", "::1:7101",
                          "127.0.0.1:71x", "[]:1", "a b:1"}) {
    EXPECT_FALSE(parse_host_port(bad)) << bad;
  }
}

TEST(Addresses, Endpoints) {
  for (const char* good : {"tcp://127.0.0.1:7100", "tcp://*:7100", "tcp://[::]:1", "ipc://x", "inproc://x"}) {
    EXPECT_TRUE(check_endpoint(good)) << good;
  }
  for (const char* bad :
       {"", "tcp://", "tcp://127.0.0.1", "ipc://", "http://127.0.0.1:1", "127.0.0.1:7100"}) {
    EXPECT_FALSE(check_endpoint(bad)) << bad;
  }
}

TEST(Config, TracesGoToAUrl) {
  EXPECT_EQ(error_of("[tracing]\ncollector = \"http://127.0.0.1:4318/v1/traces\"\nrate = 0.01\n"), "");
  EXPECT_EQ(error_of("[tracing]\ncollector = \"https://traces/v1/traces\"\n"), "");
  EXPECT_THAT(error_of("[tracing]\nrate = 0.01\n"), HasSubstr("tracing.collector"));
  EXPECT_THAT(error_of("[tracing]\nrate = 1.1\n"), HasSubstr("tracing.rate"));
  for (const char* bad : {"127.0.0.1:4318", "http://", "file:///etc/passwd", "HTTP"})
    EXPECT_THAT(error_of("[tracing]\ncollector = \"" + std::string(bad) + "\"\n"), HasSubstr("no URL"));
}

}  // namespace
}  // namespace volvox
