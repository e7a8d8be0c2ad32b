#include "actors/node/model_host.h"

#include <exception>
#include <functional>
#include <future>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/work/messages.h"
#include "cells/unfold/unfolding.h"
#include "install/model_cost.h"

namespace volvox {
namespace {

ModelState state_of(const InstalledModel& model, bool draining) {
  const Model& loaded = *model.model;
  return {loaded.name, loaded.version, loaded.digest, model.pool_bytes, loaded.folded_bytes, draining};
}

std::string label(const Model& model) {
  return "model '" + model.name + "' version " + std::to_string(model.version);
}

std::vector<Device*> devices_of(const Node& node) {
  std::vector<Device*> devices;
  for (const NodeDevicePtr& device : node.devices) devices.push_back(device->device.get());
  return devices;
}

// Held by whoever still knows a model.
class Token {
 public:
  explicit Token(std::function<void()> last) : last_(std::move(last)) {}
  ~Token() { last_(); }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

 private:
  const std::function<void()> last_;
};

Status guarded(const std::function<Status()>& command) {
  try {
    return command();
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInternal, std::string("the command failed: ") + error.what());
  }
}

}  // namespace

ModelHost::ModelHost(NodePtr node, SchedulerSlots schedulers, ModelSource source, ModelMetrics& metrics)
    : node_(std::move(node)),
      schedulers_(std::move(schedulers)),
      source_(std::move(source)),
      metrics_(metrics),
      installer_(devices_of(*node_), install_options(*node_)),
      jobs_(std::make_shared<JobThread>("models")) {}

ModelHost::~ModelHost() {
  jobs_->stop();
}

void ModelHost::post(std::function<Status()> command, Done done) {
  const auto answer = std::make_shared<Done>(std::move(done));
  const bool posted = jobs_->post([command = std::move(command), answer] {
    const Status status = guarded(command);
    if (!status) spdlog::warn("{}", status.error().message);
    (*answer)(status);
  });
  if (!posted) (*answer)(fail(ErrorCode::kUnavailable, "the server is shutting down"));
}

Status ModelHost::install(std::span<const std::shared_ptr<const Model>> models) {
  std::promise<Status> promise;
  post([this, models] { return install_all(models); },
       [&promise](Status status) { promise.set_value(std::move(status)); });
  return promise.get_future().get();
}

// One share is left for a model that comes later, or replaces one of these.
Status ModelHost::install_all(std::span<const std::shared_ptr<const Model>> models) {
  default_share_ = install_options(*node_).pool_bytes / (models.size() + 1);
  for (const auto& model : models) {
    if (Status adopted = adopt(model); !adopted) return adopted;
  }
  return {};
}

void ModelHost::load(const std::string& name, std::uint32_t version, Done done) {
  post([this, name, version] { return run_load(name, version); }, std::move(done));
}

void ModelHost::unload(const std::string& name, std::uint32_t version, Done done) {
  post([this, name, version] { return run_unload(name, version); }, std::move(done));
}

void ModelHost::reload(const std::string& name, std::uint32_t version, Done done) {
  post([this, name, version] { return run_reload(name, version); }, std::move(done));
}

Status ModelHost::run_load(const std::string& name, std::uint32_t version) {
  const auto model = source_(name, version);
  if (!model) return tl::unexpected(model.error());
  if (node_->catalog->find((*model)->name, (*model)->version)) {
    return invalid(label(**model) + " is loaded already; `reload` replaces it by what the repository has");
  }
  return adopt(*model);
}

Status ModelHost::run_unload(const std::string& name, std::uint32_t version) {
  if (const auto found = node_->catalog->find(name, version); !found) return tl::unexpected(found.error());
  for (const std::uint32_t number : node_->catalog->versions(name)) {
    if (version == 0 || number == version) withdraw(node_->catalog->take(name, number));
  }
  return {};
}

Status ModelHost::run_reload(const std::string& name, std::uint32_t version) {
  const auto source = source_(name, version);
  if (!source) return tl::unexpected(source.error());
  const Model& model = **source;
  const auto same = node_->catalog->find(model.name, model.version);
  if (!same || (*same)->model->digest != model.digest) {
    if (Status adopted = adopt(*source); !adopted) return adopted;
  }
  for (const std::uint32_t number : node_->catalog->versions(model.name)) {
    if (number != model.version) withdraw(node_->catalog->take(model.name, number));
  }
  return {};
}

Status ModelHost::adopt(const std::shared_ptr<const Model>& model) {
  if (model->plan.lanes.empty() && node_->config.batching.policy == PolicyKind::kPadded) {
    metrics_.loaded(false);
    return invalid(label(*model) + " unfolds into " + std::string(model->unfolding->takes(*model)) +
                   "s, which cannot be padded; set batching.policy to \"cellular\"");
  }
  const ModelSection& section = model_section(node_->config, model->name);
  ModelShare share{section.weight, section.max_waiting, default_share_};
  if (section.state_mib != 0) share.pool_bytes = std::uint64_t{section.state_mib} << 20;
  auto installed = installer_.add(model, share);
  metrics_.loaded(installed.has_value());
  if (!installed) return tl::unexpected(installed.error());
  show(std::move(*installed));
  spdlog::info("loaded {}", label(*model));
  return {};
}

// From here on requests find it. Whoever lets go of it last brings it back to this thread.
void ModelHost::show(std::unique_ptr<InstalledModel> installed) {
  try {
    node_->statistics[installed->id].reset();
    const auto devices = static_cast<std::uint32_t>(node_->devices.size());
    ModelCost cost =
        model_cost(installed->plan, installed->parts.types, devices * node_->config.device.queues);
    cost.weight = installed->parts.config.weight;
    node_->workload->set_model(installed->id, cost);
  } catch (...) {
    installer_.remove(*installed);
    throw;
  }
  const auto bring_back = [this, weak = std::weak_ptr(jobs_)](const InstalledModel* model) {
    std::unique_ptr<const InstalledModel> owned(model);
    const auto last = insist([&] { return std::shared_ptr<const InstalledModel>(std::move(owned)); });
    if (const auto jobs = weak.lock()) insist([&] { jobs->post([this, last] { retire(last); }); });
  };
  const ModelPtr model(installed.release(), bring_back);
  for (const std::shared_ptr<ActorSlot>& slot : schedulers_) {
    const caf::actor scheduler = slot->get();
    if (!scheduler) continue;
    hand_over();
    caf::anon_send(scheduler, UseModel{model});
  }
  if (const ModelPtr replaced = node_->catalog->put(model)) withdraw(replaced);
  update_metrics();
}

// It has left the catalog.
void ModelHost::withdraw(const ModelPtr& model) {
  spdlog::info("draining {}", label(*model->model));
  {
    const std::lock_guard lock(mutex_);
    draining_.emplace(model->serial, state_of(*model, true));
  }
  update_metrics();
}

// Schedulers are told, and not waited for: one that is busy for long must not hold up other commands. The
// last that lets go of the token brings the model back. One that is not there knows no model that nobody
// holds.
void ModelHost::retire(const std::shared_ptr<const InstalledModel>& model) {
  const auto bring_back = [this, model, weak = std::weak_ptr(jobs_)] {
    if (const auto jobs = weak.lock()) insist([&] { jobs->post([this, model] { remove(*model); }); });
  };
  const auto known = insist([&] { return std::make_shared<const Token>(bring_back); });
  for (const std::shared_ptr<ActorSlot>& slot : schedulers_) {
    const caf::actor scheduler = slot->get();
    if (!scheduler) continue;
    hand_over();
    insist([&] { caf::anon_send(scheduler, ForgetModel{model->id, model->serial, known}); });
  }
}

void ModelHost::remove(const InstalledModel& model) {
  installer_.remove(model);
  {
    const std::lock_guard lock(mutex_);
    draining_.erase(model.serial);
  }
  spdlog::info("unloaded {}", label(*model.model));
  update_metrics();
}

std::vector<ModelState> ModelHost::list() const {
  std::vector<ModelState> models;
  for (const ModelPtr& model : node_->catalog->all()) models.push_back(state_of(*model, false));
  const std::lock_guard lock(mutex_);
  for (const auto& [serial, state] : draining_) models.push_back(state);
  return models;
}

void ModelHost::update_metrics() const {
  const std::lock_guard lock(mutex_);
  metrics_.set(node_->catalog->all().size(), draining_.size(), installer_.pool_bytes());
}

}  // namespace volvox
