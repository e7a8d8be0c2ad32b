#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/system/process.h"

namespace volvox {

// A real `volvox serve` on loopback, on ports of its own, with a repository of its own. Gone with the object.
class ServerProcess {
 public:
  ServerProcess();

  // The repository to put models into, before start().
  std::string models() const { return scratch_.file("models"); }
  std::string model(const std::string& name) const { return models() + "/" + name; }
  const ScratchFolder& scratch() const { return scratch_; }

  // Adds a model to the repository by `volvox models KIND …`.
  void add_model(const std::string& kind, const std::string& name,
                 const std::vector<std::string>& options = {});

  // Starts the server, `config` being more of its configuration file, and waits until it is ready. A test's
  // failure if it does not get there.
  void start(const std::string& config = "");

  // Waits until the server has answered some requests. A test's failure if it does not.
  void wait_for_answers() const;

  const std::string& endpoint() const { return endpoint_; }
  const std::string& metrics() const { return metrics_; }  // "http://127.0.0.1:40001"
  const std::string& http() const { return http_; }        // likewise
  std::string admin() const { return scratch_.file("admin.sock"); }
  Process& process() { return *process_; }
  std::string log() const { return process_ ? process_->out() + process_->err() : std::string(); }

  // SIGTERM, and how the server ended, if in time.
  std::optional<ExitStatus> stop(std::chrono::milliseconds at_most);

  // `volvox load` against this server; the result of `--json` is in `report` (null if there is none).
  struct Load {
    CommandResult command;
    nlohmann::json report;
  };
  Load load(const std::string& model, const std::vector<std::string>& options,
            std::chrono::milliseconds at_most = std::chrono::seconds(30)) const;

  // The command line of such a load, to be run beside a test.
  std::vector<std::string> load_command(const std::string& model, const std::vector<std::string>& options,
                                        const std::string& json_file) const;

  // `volvox infer` with this request.
  CommandResult infer(const nlohmann::json& request, const std::vector<std::string>& options = {}) const;

 private:
  bool read_ports();

  ScratchFolder scratch_;
  std::unique_ptr<Process> process_;
  std::string endpoint_, metrics_, http_;
};

// Multiplies row `row` of the f32 tensor `name` of a model's newest weights by `factor`.
void scale_weight_row(const std::string& model_folder, const std::string& name, std::size_t row,
                      float factor);

}  // namespace volvox
