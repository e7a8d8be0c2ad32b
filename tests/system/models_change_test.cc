// Models are loaded, replaced and unloaded while clients go on.

#include <filesystem>
#include <memory>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/system/server_process.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class ModelsChange : public testing::Test {
 protected:
  CommandResult models(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "models");
    arguments.insert(arguments.end(), {"--admin", server_.admin()});
    return run_volvox(arguments, seconds(20));
  }
  void copy_version(const std::string& model, int from, int to) const {
    const std::string folder = server_.model(model) + "/";
    std::filesystem::copy(folder + std::to_string(from), folder + std::to_string(to));
  }
  json answer_of(const std::string& model, int version = 0) const {
    json request{{"model", model}, {"tokens", {12, 7, 99}}};
    if (version != 0) request["version"] = version;
    const CommandResult answer = server_.infer(request);
    return answer.ok() ? json::parse(answer.out)["outputs"] : json(answer.err);
  }

  ServerProcess server_;
};

TEST_F(ModelsChange, AReloadMidLoadIsNotNoticed) {
  ASSERT_NO_FATAL_FAILURE(server_.add_model("check", "m"));
  ASSERT_NO_FATAL_FAILURE(server_.start());
  const std::string file = server_.scratch().file("beside.json");
  Process load(
      server_.load_command(
          "m", {"--concurrency", "16", "--seconds", "3", "--warmup", "0.2", "--verify", server_.model("m")},
          file),
      server_.scratch(), "beside");
  int reloads = 0;
  for (int version = 2; load.running(); ++version, ++reloads) {
    copy_version("m", 1, version);
    const CommandResult reload = models({"reload", "m"});
    ASSERT_TRUE(reload.ok()) << reload.err << server_.log();
  }
  EXPECT_GT(reloads, 2);
  const json report = json::parse(read_file(file), nullptr, false);
  ASSERT_TRUE(report.is_object()) << load.out() << load.err();
  EXPECT_GT(report["offered"], 0);
  EXPECT_EQ(report["completed"], report["offered"]) << report["errors"];
  EXPECT_EQ(report["wrong"], 0);
  EXPECT_EQ(report["duplicates"], 0);
  EXPECT_EQ(server_.stop(seconds(5)), (ExitStatus{0, 0})) << server_.log();
  EXPECT_FALSE(std::filesystem::exists(server_.admin()));
}

TEST_F(ModelsChange, EachVersionAnswersForItself) {
  ASSERT_NO_FATAL_FAILURE(server_.add_model("lstm", "m", {"--hidden", "8", "--vocabulary", "100"}));
  ASSERT_NO_FATAL_FAILURE(server_.add_model("noop", "other"));
  ASSERT_NO_FATAL_FAILURE(server_.start());
  const json first = answer_of("m");
  ASSERT_TRUE(first.is_object()) << first;
  copy_version("m", 1, 2);
  scale_weight_row(server_.model("m"), "lstm.weight_ih", 3, 2.0F);  // version 1, on disk
  ASSERT_TRUE(models({"load", "m", "--version", "2"}).ok()) << server_.log();
  EXPECT_EQ(answer_of("m", 2), first) << "a copy of what the first version was";
  EXPECT_EQ(answer_of("m", 1), first) << "what is loaded does not change with the file";
  ASSERT_TRUE(models({"reload", "m", "--version", "1"}).ok()) << server_.log();
  const json changed = answer_of("m");
  ASSERT_TRUE(changed.is_object()) << changed;
  EXPECT_NE(changed, first);
  EXPECT_NE(answer_of("m", 2).dump().find("MODEL_NOT_FOUND"), std::string::npos);
  const CommandResult listed = models({"list"});
  ASSERT_TRUE(listed.ok()) << listed.err;
  EXPECT_NE(listed.out.find("other"), std::string::npos);
  const CommandResult status = run_volvox({"status", "--admin", server_.admin()}, seconds(10));
  EXPECT_TRUE(status.ok()) << status.out << status.err;
  EXPECT_NE(status.out.find("other/1"), std::string::npos) << status.out;
  ASSERT_TRUE(models({"unload", "m"}).ok());
  EXPECT_NE(answer_of("m").dump().find("MODEL_NOT_FOUND"), std::string::npos);
  const CommandResult twice = models({"unload", "m"});
  EXPECT_EQ(twice.status, (ExitStatus{1, 0}));
  EXPECT_NE(twice.err.find("MODEL_NOT_FOUND"), std::string::npos) << twice.err;
  ASSERT_TRUE(models({"load", "m"}).ok());
  EXPECT_EQ(answer_of("m", 2), first) << "the newest in the repository";
}

TEST_F(ModelsChange, TheLogSpeaksJsonAndChangesItsLevel) {
  ASSERT_NO_FATAL_FAILURE(server_.add_model("check", "m"));
  ASSERT_NO_FATAL_FAILURE(server_.start("[server]\nlog_format = \"json\"\nlog_level = \"error\"\n"));
  EXPECT_EQ(server_.process().err(), "") << "nothing is an error yet";
  ASSERT_TRUE(run_volvox({"log-level", "info", "--admin", server_.admin()}, seconds(10)).ok());
  ASSERT_TRUE(models({"unload", "m"}).ok());
  const std::string log = server_.process().err();
  const json line = json::parse(log.substr(0, log.find('\n')), nullptr, false);
  ASSERT_TRUE(line.is_object()) << log;
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["message"], "draining model 'm' version 1");
  struct stat there {};
  ASSERT_EQ(::stat(server_.admin().c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace volvox
