#include "actors/sessions/session_states.h"

#include <utility>

namespace volvox {

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
  if (home.model != model) home.model = model;  // shared by all sessions: a count that others write, too
  Rows rows;
  rows.place = places_[write / 2].rows;
  if (read != kInitialState) rows.from = carried(read);
  rows.into = carried(write).slot;
  return rows;
}

StatePlace SessionStates::place_of(StateSlot slot, const Place& place) const {
  return {devices_[place.device], place.rows, {2 * *place.rows + slot % 2, slots_[slot]}};
}

StateCopyPtr SessionStates::copy_of(StateCopy::Kind kind, SessionRef session, StateSlot slot) {
  auto copy = std::make_shared<StateCopy>();
  copy->kind = kind;
  copy->session = session;
  copy->slot = slot;
  copy->model = home(session).model;
  return copy;
}

StateCopyPtr SessionStates::spill(SessionRef session, StateSlot state) {
  const std::size_t size = carried_bytes(*home(session).model);
  if (size > spill_bytes_ - host_bytes_) return nullptr;
  StateCopyPtr copy = copy_of(StateCopy::Kind::kSpill, session, state);
  copy->from = place_of(state, places_[state / 2]);
  copy->bytes.resize(size);
  host_bytes_ += size;
  return copy;
}

StateCopyPtr SessionStates::restore(SessionRef session, StateSlot into, Wanted wanted) {
  Home& home = this->home(session);
  if (!take_place(*home.model, into, wanted)) return nullptr;
  set_steps(into, 1);
  StateCopyPtr copy = copy_of(StateCopy::Kind::kRestore, session, into);
  copy->to = place_of(into, places_[into / 2]);
  copy->bytes = std::move(home.host);
  return copy;
}

StateCopyPtr SessionStates::move(SessionRef session, StateSlot state, std::uint32_t device) {
  const InstalledModel& model = *home(session).model;
  const Place place = lend(model, {&device, 1});
  if (place.rows == nullptr) return nullptr;
  StateCopyPtr copy = copy_of(StateCopy::Kind::kMove, session, state);
  copy->from = place_of(state, places_[state / 2]);
  copy->to = place_of(state, place);
  copy->bytes.resize(carried_bytes(model));
  return copy;
}

void SessionStates::ended(StateCopy& copy) {
  Home& home = this->home(copy.session);
  // Whoever still holds the copy must not hold its places: others wait for them.
  copy.from = {};
  const StatePlace to = std::exchange(copy.to, {});
  switch (copy.kind) {
    case StateCopy::Kind::kSpill:
      if (!copy.made) {
        host_bytes_ -= copy.bytes.size();
        return;
      }
      home.host = std::move(copy.bytes);
      home.on_host = true;
      return;
    case StateCopy::Kind::kRestore:
      home.host = std::move(copy.bytes);
      return drop_copy(home);
    case StateCopy::Kind::kMove:
      if (!copy.made) return;
      places_[copy.slot / 2] = {to.device->number, to.rows};
      ++moves_;
      return;
  }
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
    const std::size_t size = state_bytes(model.model->pools[lane.pool - model.first_pool].kinds);
    const std::vector<std::byte> bad(size, std::byte{0xff});
    for (const std::uint32_t row : rows_of_place(model.sessions, lane, *place.rows)) {
      static_cast<void>(devices_[place.device]->device->write_slot(lane.pool, row, bad));
    }
  }
}

}  // namespace volvox
