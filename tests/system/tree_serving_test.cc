// Trees on a real server, from outside: right answers beside chains, and bad structures refused at both
// doors.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/system/server_process.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class ServedTrees : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::string> small{"--hidden", "24", "--vocabulary", "100"};
    ASSERT_NO_FATAL_FAILURE(server_.add_model("tree_lstm", "binary", small));
    std::vector<std::string> child_sum = small;
    child_sum.push_back("--every-step");
    ASSERT_NO_FATAL_FAILURE(server_.add_model("child_sum", "any", child_sum));
    ASSERT_NO_FATAL_FAILURE(server_.add_model("check_tree", "hash"));
    ASSERT_NO_FATAL_FAILURE(server_.add_model("check_tree", "nodes", {"--every-step"}));
    ASSERT_NO_FATAL_FAILURE(server_.add_model("check", "chain"));
    ASSERT_NO_FATAL_FAILURE(server_.start());
  }

  std::string report_of(const std::string& name) const { return server_.scratch().file(name + ".json"); }

  std::unique_ptr<Process> start_load(const std::string& model, const std::vector<std::string>& options) {
    std::vector<std::string> all{"--concurrency", "16", "--requests", "300",
                                 "--warmup",      "0",  "--models",   server_.models(),
                                 "--require-all"};
    all.insert(all.end(), options.begin(), options.end());
    return std::make_unique<Process>(server_.load_command(model, all, report_of(model)), server_.scratch(),
                                     "load-" + model);
  }

  void expect_clean(const std::string& model) const {
    const json report = json::parse(read_file(report_of(model)), nullptr, false);
    ASSERT_TRUE(report.is_object()) << model;
    EXPECT_EQ(report["completed"], 300) << model;
    EXPECT_GE(report["verified"], 100) << model;
    EXPECT_EQ(report["wrong"], 0) << model;
    EXPECT_EQ(report["duplicates"], 0) << model;
  }

  ServerProcess server_;
};

// Every kind of tree and a chain at once; a file of trees, and random ones.
TEST_F(ServedTrees, AnswersAreRightWhateverRunsBeside) {
  const std::string file = server_.scratch().file("trees.txt");
  write_file(file, "(3 (2 It) (4 (2 works) (2 well)))\n(1 (1 Not) (2 (2 bad) (2 .)))\n(2 Yes)\n");
  std::vector<std::unique_ptr<Process>> loads;
  loads.push_back(start_load("binary", {"--trees", file}));
  loads.push_back(start_load("any", {"--length", "12"}));
  loads.push_back(start_load("hash", {}));
  loads.push_back(start_load("nodes", {"--trees", "random"}));
  loads.push_back(start_load("chain", {}));
  for (auto& load : loads) {
    const auto status = load->wait(seconds(60) * slowness());
    EXPECT_EQ(status, (ExitStatus{0, 0})) << load->out() << load->err();
  }
  for (const char* model : {"binary", "any", "hash", "nodes", "chain"}) expect_clean(model);
}

TEST_F(ServedTrees, AWrongReferenceIsSeen) {
  const std::string altered = server_.scratch().file("altered");
  std::filesystem::copy(server_.model("binary"), altered, std::filesystem::copy_options::recursive);
  ASSERT_NO_FATAL_FAILURE(scale_weight_row(altered, "tree.leaf.weight", 24 + 5, 1.05F));
  const auto load = server_.load("binary", {"--concurrency", "8", "--requests", "60", "--warmup", "0",
                                            "--verify", altered, "--verify-count", "60"});
  ASSERT_TRUE(load.report.is_object()) << load.command.err;
  EXPECT_EQ(load.report["completed"], 60);
  EXPECT_GT(load.report["wrong"], 0);
}

TEST_F(ServedTrees, InferTakesOneAndChecksItsAnswer) {
  const json tree = {{"tree", {{"parents", {2, 2, 4, 4, -1}}}}};
  const json request{{"model", "nodes"}, {"tokens", {12, 7, 0, 31, 0}}, {"structure", tree}};
  const CommandResult result = server_.infer(request, {"--verify", server_.model("nodes")});
  ASSERT_TRUE(result.ok()) << result.out << result.err;
  const json answer = json::parse(result.out);
  EXPECT_EQ(answer["cells"], 5);
  EXPECT_EQ(answer["outputs"]["state"]["data"].size(), 5U);
  const CommandResult wrong = server_.infer(request, {"--verify", server_.model("hash")});
  EXPECT_FALSE(wrong.ok()) << "another model's answer";
  EXPECT_NE(wrong.err.find("the answer is wrong"), std::string::npos) << wrong.err;
}

struct Bad {
  const char* model;
  std::vector<std::int32_t> tokens;
  json structure;
  const char* says;
};

const std::vector<Bad>& bad_requests() {
  static const std::vector<Bad> bad{
      {"binary", {1, 2}, {{"tree", {{"parents", {1, -1}}}}}, "this model's trees are binary"},
      {"hash", {1, 2, 3}, {{"tree", {{"parents", {-1, 2, -1}}}}}, "several roots"},
      {"hash", {1, 2, 3}, {{"chain", {{"length", 3}}}}, "send a tree"},
      {"chain", {1, 2, 3}, {{"tree", {{"parents", {2, 2, -1}}}}}, "send a chain"},
      {"binary", {1, 2}, {{"tree", {{"parents", {2, 2, -1}}}}}, "a row for each node"},
      {"binary", {1, -1, 3}, {{"tree", {{"parents", {2, 2, -1}}}}}, "has the id -1 at 1"},
  };
  return bad;
}

TEST_F(ServedTrees, BadStructuresAreRefusedOverZeroMq) {
  for (const Bad& bad : bad_requests()) {
    const CommandResult result =
        server_.infer({{"model", bad.model}, {"tokens", bad.tokens}, {"structure", bad.structure}});
    EXPECT_FALSE(result.ok()) << bad.says;
    const json answer = json::parse(result.out, nullptr, false);
    ASSERT_TRUE(answer.is_object() && answer.contains("error")) << result.out << result.err;
    EXPECT_EQ(answer["error"]["code"], "INVALID_ARGUMENT") << bad.says;
    EXPECT_NE(answer["error"]["message"].get<std::string>().find(bad.says), std::string::npos) << answer;
  }
}

TEST_F(ServedTrees, BadStructuresAreRefusedOverHttp) {
  for (const Bad& bad : bad_requests()) {
    json input{{"name", "tokens"}, {"datatype", "INT32"}, {"data", bad.tokens}};
    input["shape"] = {bad.tokens.size()};
    const json request{{"parameters", {{"structure", bad.structure}}}, {"inputs", {input}}};
    const CommandResult result =
        run_command({"/usr/bin/curl", "--silent", "--write-out", "\n%{http_code}", "--max-time", "30",
                     "--json", request.dump(), server_.http() + "/v2/models/" + bad.model + "/infer"},
                    seconds(40));
    EXPECT_NE(result.out.find("\n400"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find(bad.says), std::string::npos) << result.out;
  }
}

}  // namespace
}  // namespace volvox
