#include "actors/sessions/session_states.h"

#include <utility>

namespace volvox {
namespace {

std::size_t lane_bytes(const InstalledModel& model, const SessionRows::Lane& lane) {
  return state_bytes(model.model->pools[lane.pool - model.first_pool].kinds);
}

}  // namespace

std::size_t carried_bytes(const InstalledModel& model) {
  std::size_t total = 0;
  for (const SessionRows::Lane& lane : model.sessions.lanes) total += lane_bytes(model, lane);
  return total;
}

SessionStates::SessionStates(std::vector<NodeDevicePtr> devices, std::uint32_t max_resident,
                             std::uint64_t spill_bytes)
    : devices_(std::move(devices)),
      spill_bytes_(spill_bytes),
      places_(max_resident),
      slots_(std::size_t{2} * max_resident, 1) {}

SessionStates::Home& SessionStates::home(SessionRef session) {
  if (session.index >= homes_.size()) homes_.resize(session.index + 1);
  return homes_[session.index];
}

SessionStates::Place SessionStates::lend(const InstalledModel& model, Wanted wanted) const {
  for (const std::uint32_t device : wanted) {
    if (PlacePtr rows = devices_[device]->session_places->take(model.sessions.places))
      return {device, std::move(rows)};
  }
  return {};
}

bool SessionStates::take_place(const InstalledModel& model, StateSlot slot, Wanted wanted) {
  Place& place = places_[slot / 2];
  if (place.rows == nullptr) place = lend(model, wanted);
  return place.rows != nullptr;
}

std::optional<std::uint32_t> SessionStates::device_of(StateSlot slot) const {
  const Place& place = places_[slot / 2];
  return place.rows == nullptr ? std::nullopt : std::optional(place.device);
}

CarriedState SessionStates::carried(StateSlot slot) const {
  return {2 * *places_[slot / 2].rows + slot % 2, slots_[slot]};
}

Result<SessionStates::Rows> SessionStates::rows(SessionRef session, const ModelPtr& model, StateSlot read,
                                                StateSlot write, Wanted wanted) {
  Home& home = this->home(session);
  if (read != kInitialState && home.model != model) {
    return fail(ErrorCode::kSessionLost, "the model was loaded anew meanwhile; begin a new session");
  }
  if (!take_place(*model, write, wanted)) {
    return fail(ErrorCode::kOverloaded,
                "the device has no room for the session's state; repeat the part in a moment");
  }
  home.model = model;
  Rows rows;
  rows.place = places_[write / 2].rows;
  if (read != kInitialState) rows.from = carried(read);
  rows.into = carried(write).slot;
  return rows;
}

template <class Bytes, class Copy>
bool SessionStates::each_row(const InstalledModel& model, StateSlot slot, Bytes bytes, Copy copy) const {
  Device& device = *devices_[places_[slot / 2].device]->device;
  for (const SessionRows::Lane& lane : model.sessions.lanes) {
    const std::size_t size = lane_bytes(model, lane);
    if (!copy(device, lane.pool, row_of(lane, carried(slot)), bytes.first(size))) return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

bool SessionStates::read(const InstalledModel& model, StateSlot slot, std::span<std::byte> to) const {
  return each_row(model, slot, to,
                  [](Device& device, PoolId pool, std::uint32_t row, std::span<std::byte> bytes) {
                    return device.read_slot(pool, row, bytes).has_value();
                  });
}

bool SessionStates::write(const InstalledModel& model, StateSlot slot,
                          std::span<const std::byte> from) const {
  return each_row(model, slot, from,
                  [](Device& device, PoolId pool, std::uint32_t row, std::span<const std::byte> bytes) {
                    return device.write_slot(pool, row, bytes).has_value();
                  });
}

bool SessionStates::spill(SessionRef session, StateSlot state) {
  Home& home = this->home(session);
  const std::size_t size = carried_bytes(*home.model);
  if (size > spill_bytes_ - host_bytes_) return false;
  std::vector<std::byte> copy(size);
  if (!read(*home.model, state, copy)) return false;
  home.host = std::move(copy);
  home.on_host = true;
  host_bytes_ += size;
  return true;
}

bool SessionStates::restore(SessionRef session, StateSlot into, Wanted wanted) {
  Home& home = this->home(session);
  bool copied = take_place(*home.model, into, wanted);
  if (copied) {
    set_steps(into, 1);
    copied = write(*home.model, into, home.host);
  }
  drop_copy(home);
  return copied;
}

bool SessionStates::move(SessionRef session, StateSlot state, std::uint32_t device) {
  const InstalledModel& model = *home(session).model;
  Place place = lend(model, {&device, 1});
  if (place.rows == nullptr) return false;
  std::vector<std::byte> copy(carried_bytes(model));
  if (!read(model, state, copy)) return false;
  std::swap(places_[state / 2], place);
  if (!write(model, state, copy)) {
    std::swap(places_[state / 2], place);
    return false;
  }
  ++moves_;
  return true;
}

void SessionStates::drop_copy(Home& home) {
  host_bytes_ -= home.host.size();
  home.host = {};
  home.on_host = false;
}

void SessionStates::forget(SessionRef session) {
  drop_copy(home(session));
  home(session).model = nullptr;
}

void SessionStates::free(SessionRef session, StateSlot slot) {
  Home& home = this->home(session);
#ifndef NDEBUG
  if (places_[slot / 2].rows != nullptr && home.model != nullptr) poison(*home.model, slot);
#endif
  places_[slot / 2] = {};
  if (!home.on_host) home.model = nullptr;
}

// A NaN in every state, in all rows of the place.
void SessionStates::poison(const InstalledModel& model, StateSlot slot) {
  const Place& place = places_[slot / 2];
  for (const SessionRows::Lane& lane : model.sessions.lanes) {
    const std::vector<std::byte> bad(lane_bytes(model, lane), std::byte{0xff});
    const std::uint32_t first = lane.first + 2 * *place.rows * lane.ring;
    for (std::uint32_t row = first; row < first + 2 * lane.ring; ++row) {
      static_cast<void>(devices_[place.device]->device->write_slot(lane.pool, row, bad));
    }
  }
}

}  // namespace volvox
