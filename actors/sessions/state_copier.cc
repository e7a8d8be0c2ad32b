#include "actors/sessions/state_copier.h"

#include <exception>
#include <span>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "install/installation.h"

namespace volvox {
namespace {

std::size_t lane_bytes(const InstalledModel& model, const SessionRows::Lane& lane) {
  return state_bytes(model.model->pools[lane.pool - model.first_pool].kinds);
}

// Calls copy(device, pool, row, bytes) for each lane's row of the state, lane after lane, until one fails.
template <class Copy>
bool each_row(const InstalledModel& model, const StatePlace& place, std::span<std::byte> bytes, Copy copy) {
  for (const SessionRows::Lane& lane : model.sessions.lanes) {
    const std::size_t size = lane_bytes(model, lane);
    const Status copied =
        copy(*place.device->device, lane.pool, row_of(lane, place.state), bytes.first(size));
    if (!copied) {
      spdlog::warn("{}: a session's state could not be copied: {}", place.device->name,
                   copied.error().message);
      return false;
    }
    bytes = bytes.subspan(size);
  }
  return true;
}

bool read(const StatePlace& from, StateCopy& copy) {
  return each_row(*copy.model, from, copy.bytes, [](Device& device, PoolId pool, std::uint32_t row, auto to) {
    return device.read_slot(pool, row, to);
  });
}

bool write(const StatePlace& to, StateCopy& copy) {
  return each_row(*copy.model, to, copy.bytes, [](Device& device, PoolId pool, std::uint32_t row, auto from) {
    return device.write_slot(pool, row, from);
  });
}

void make(StateCopy& copy) {
  copy.made = (copy.from.device == nullptr || read(copy.from, copy)) &&
              (copy.to.device == nullptr || write(copy.to, copy));
}

}  // namespace

std::size_t carried_bytes(const InstalledModel& model) {
  std::size_t total = 0;
  for (const SessionRows::Lane& lane : model.sessions.lanes) total += lane_bytes(model, lane);
  return total;
}

std::uint32_t copying_device(const StateCopy& copy) {
  return (copy.from.device ? copy.from : copy.to).device->number;
}

void StateCopier::start(const StateCopyPtr& copy, const Done& done) {
  const auto job = [copy, done] {
    make(*copy);
    done(copy);
  };
  if (!post(copying_device(*copy), job)) done(copy);
}

bool StateCopier::post(std::uint32_t device, JobThread::Job job) {
  try {
    std::unique_ptr<JobThread>& thread = threads_[device];
    if (!thread) thread = std::make_unique<JobThread>("copies " + std::to_string(device));
    return thread->post(std::move(job));
  } catch (const std::exception& error) {
    spdlog::error("states of sessions cannot be copied: {}", error.what());
    return false;
  }
}

}  // namespace volvox
