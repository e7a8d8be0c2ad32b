#include "tests/system/server_process.h"

#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

namespace volvox {

using std::chrono::milliseconds;
using std::chrono::seconds;

ServerProcess::ServerProcess() {
  std::filesystem::create_directory(models());
}

void ServerProcess::add_model(const std::string& kind, const std::string& name,
                              const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"models", "new", kind, model(name)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const CommandResult result = run_volvox(arguments, seconds(20));
  ASSERT_TRUE(result.ok()) << result.err;
}

void ServerProcess::start(const std::string& config) {
  const std::string config_file = scratch_.file("serve.toml");
  write_file(config_file, config);
  process_ = std::make_unique<Process>(
      std::vector<std::string>{volvox_binary(), "serve", "--config", config_file, "--models", models(),
                               "--listen", "tcp://127.0.0.1:0", "--metrics", "127.0.0.1:0", "--http",
                               "127.0.0.1:0", "--admin", admin(), "--port-file", scratch_.file("ports")},
      scratch_, "serve");
  const auto until = std::chrono::steady_clock::now() + seconds(20) * slowness();
  while (!read_ports()) {
    ASSERT_TRUE(process_->running()) << "the server ended before it was ready:\n" << log();
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "the server does not get ready:\n" << log();
    std::this_thread::sleep_for(milliseconds(10));
  }
}

void ServerProcess::wait_for_answers() const {
  for (int i = 0; i < 300 * slowness(); ++i) {
    const CommandResult status = run_volvox({"status", metrics_, "--json", "--interval", "0"}, seconds(10));
    const auto page = nlohmann::json::parse(status.out, nullptr, false);
    if (page.is_object() && page["requests"].value("ok", 0.0) >= 10) return;
    std::this_thread::sleep_for(milliseconds(20));
  }
  FAIL() << "the server answers nothing";
}

// The file appears, complete, once the server can answer: the endpoint, and the addresses of the monitoring
// pages and of HTTP.
bool ServerProcess::read_ports() {
  std::istringstream lines(read_file(scratch_.file("ports")));
  return static_cast<bool>(std::getline(lines, endpoint_) && std::getline(lines, metrics_) &&
                           std::getline(lines, http_));
}

std::optional<ExitStatus> ServerProcess::stop(milliseconds at_most) {
  process_->send(SIGTERM);
  return process_->wait(at_most * slowness());
}

std::vector<std::string> ServerProcess::load_command(const std::string& model,
                                                     const std::vector<std::string>& options,
                                                     const std::string& json_file) const {
  std::vector<std::string> arguments{volvox_binary(), "load",      "--connect", endpoint_, "--model",
                                     model,           "--metrics", metrics_,    "--json",  json_file};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return arguments;
}

ServerProcess::Load ServerProcess::load(const std::string& model, const std::vector<std::string>& options,
                                        milliseconds at_most) const {
  const std::string file = scratch_.file("load.json");
  std::filesystem::remove(file);
  Load load;
  load.command = run_command(load_command(model, options, file), at_most);
  load.report = nlohmann::json::parse(read_file(file), nullptr, false);
  if (load.report.is_discarded()) load.report = nullptr;
  return load;
}

CommandResult ServerProcess::infer(const nlohmann::json& request,
                                   const std::vector<std::string>& options) const {
  std::vector<std::string> command{"infer", "--connect", endpoint_, "--timeout", "20"};
  command.insert(command.end(), options.begin(), options.end());
  return run_volvox(command, seconds(30), request.dump());
}

void scale_weight_row(const std::string& model_folder, const std::string& name, std::size_t row,
                      float factor) {
  const std::string path = model_folder + "/1/weights.safetensors";
  std::string file = read_file(path);
  std::uint64_t header_size = 0;
  ASSERT_GT(file.size(), sizeof header_size);
  std::memcpy(&header_size, file.data(), sizeof header_size);
  const auto header = nlohmann::json::parse(file.substr(sizeof header_size, header_size));
  ASSERT_TRUE(header.contains(name)) << name;
  const auto& tensor = header[name];
  const std::size_t width = tensor["shape"][1].get<std::size_t>();
  const std::size_t begin = sizeof header_size + header_size + tensor["data_offsets"][0].get<std::size_t>() +
                            row * width * sizeof(float);
  for (std::size_t i = 0; i < width; ++i) {
    float value = 0;
    std::memcpy(&value, file.data() + begin + i * sizeof value, sizeof value);
    value *= factor;
    std::memcpy(file.data() + begin + i * sizeof value, &value, sizeof value);
  }
  write_file(path, file);
}

}  // namespace volvox
