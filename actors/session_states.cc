#include "actors/session_states.h"

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

SessionStates::SessionStates(std::shared_ptr<Device> device, std::shared_ptr<SessionPlaces> places,
                             std::uint32_t max_resident, std::uint64_t spill_bytes)
    : device_(std::move(device)),
      lent_(std::move(places)),
      spill_bytes_(spill_bytes),
      places_(max_resident),
      slots_(std::size_t{2} * max_resident, 1) {}

SessionStates::Home& SessionStates::home(SessionRef session) {
  if (session.index >= homes_.size()) homes_.resize(session.index + 1);
  return homes_[session.index];
}

bool SessionStates::take_place(const InstalledModel& model, StateSlot slot) {
  PlacePtr& place = places_[slot / 2];
  if (place == nullptr) place = lent_->take(model.sessions.places);
  return place != nullptr;
}

CarriedState SessionStates::carried(StateSlot slot) const {
  return {2 * *places_[slot / 2] + slot % 2, slots_[slot]};
}

Result<SessionStates::Rows> SessionStates::rows(SessionRef session, const ModelPtr& model, StateSlot read,
                                                StateSlot write) {
  Home& home = this->home(session);
  if (read != kInitialState && home.model != model) {
    return fail(ErrorCode::kSessionLost, "the model was loaded anew meanwhile; begin a new session");
  }
  if (!take_place(*model, write)) {
    return fail(ErrorCode::kOverloaded,
                "the device has no room for the session's state; repeat the part in a moment");
  }
  home.model = model;
  Rows rows;
  rows.place = places_[write / 2];
  if (read != kInitialState) rows.from = carried(read);
  rows.into = carried(write).slot;
  return rows;
}

template <class Bytes, class Copy>
bool SessionStates::each_row(const InstalledModel& model, const CarriedState& state, Bytes bytes, Copy copy) {
  for (const SessionRows::Lane& lane : model.sessions.lanes) {
    const std::size_t size = lane_bytes(model, lane);
    if (!copy(lane.pool, row_of(lane, state), bytes.first(size))) return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

bool SessionStates::spill(SessionRef session, StateSlot read) {
  Home& home = this->home(session);
  const std::size_t size = carried_bytes(*home.model);
  if (size > spill_bytes_ - host_bytes_) return false;
  std::vector<std::byte> copy(size);
  const bool copied = each_row(*home.model, carried(read), std::span(copy),
                               [this](PoolId pool, std::uint32_t row, std::span<std::byte> to) {
                                 return device_->read_slot(pool, row, to).has_value();
                               });
  if (!copied) return false;
  home.host = std::move(copy);
  home.on_host = true;
  host_bytes_ += size;
  return true;
}

bool SessionStates::restore(SessionRef session, StateSlot write) {
  Home& home = this->home(session);
  if (!take_place(*home.model, write)) return false;
  set_steps(write, 1);
  const bool copied = each_row(*home.model, carried(write), std::span<const std::byte>(home.host),
                               [this](PoolId pool, std::uint32_t row, std::span<const std::byte> from) {
                                 return device_->write_slot(pool, row, from).has_value();
                               });
  drop_copy(home);
  return copied;
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
  if (places_[slot / 2] != nullptr && home.model != nullptr) poison(*home.model, slot);
#endif
  places_[slot / 2] = nullptr;
  if (!home.on_host) home.model = nullptr;
}

// A NaN in every state, in all rows of the place.
void SessionStates::poison(const InstalledModel& model, StateSlot slot) {
  for (const SessionRows::Lane& lane : model.sessions.lanes) {
    const std::vector<std::byte> bad(lane_bytes(model, lane), std::byte{0xff});
    const std::uint32_t first = lane.first + 2 * *places_[slot / 2] * lane.ring;
    for (std::uint32_t row = first; row < first + 2 * lane.ring; ++row) {
      static_cast<void>(device_->write_slot(lane.pool, row, bad));
    }
  }
}

}  // namespace volvox
