#include "actors/sessions/session_states.h"

#include <utility>

namespace volvox {

SessionStates::SessionStates(std::vector<NodeDevicePtr> devices, std::uint32_t max_resident,
                             std::uint64_t spill_bytes)
    : devices_(std::move(devices)),
      spill_bytes_(spill_bytes),
      places_(max_resident),
      spare_(devices_.size()) {
  for (const NodeDevicePtr& device : devices_)
    spare_[device->number].reserve(std::size_t{2} * device->session_places->count());
}

SessionStates::Home& SessionStates::home(SessionRef session) {
  if (session.index >= homes_.size()) homes_.resize(session.index + 1);
  return homes_[session.index];
}

// What a task may still write is left to whoever holds it; and what another model has no rows for, to others.
LentNumber SessionStates::lend(const InstalledModel& model, std::uint32_t device) {
  std::vector<LentNumber>& spare = spare_[device];
  const std::uint32_t places = model.sessions.places;
  while (!spare.empty()) {
    LentNumber number = std::move(spare.back());
    spare.pop_back();
    if (number.use_count() == 1 && *number < 2 * places) return number;
  }
  return devices_[device]->session_places->take_slot(places);
}

bool SessionStates::take_slot(const InstalledModel& model, StateSlot wanted_slot, Wanted wanted) {
  Place& place = this->place(wanted_slot);
  LentNumber& number = slot(wanted_slot).number;
  if (number) return true;
  const std::uint32_t home = place.device;
  for (const std::uint32_t device : place.empty() ? wanted : Wanted(&home, 1)) {
    number = lend(model, device);
    if (!number) continue;
    place.device = device;
    return true;
  }
  return false;
}

void SessionStates::give_back(const ModelPtr& model, std::uint32_t device, Slot& slot) {
  if (!slot.number) return;
#ifndef NDEBUG
  if (model && slot.number.use_count() == 1) poison(*model, device, *slot.number);
#endif
  static_cast<void>(model);
  spare_[device].push_back(std::move(slot.number));
  slot.number = nullptr;
}

std::optional<std::uint32_t> SessionStates::device_of(StateSlot slot) const {
  const Place& place = places_[slot / 2];
  return place.empty() ? std::nullopt : std::optional(place.device);
}

Result<SessionStates::Rows> SessionStates::rows(SessionRef session, const ModelPtr& model, StateSlot read,
                                                StateSlot write, std::uint32_t steps, Wanted wanted) {
  Home& home = this->home(session);
  if (read != kInitialState && home.model != model) {
    return fail(ErrorCode::kSessionLost, "the model was loaded anew meanwhile; begin a new session");
  }
  Rows rows;
  const bool found = take_slot(*model, write, wanted);
  const bool needs_third = needs_third_row(model->sessions, steps);
  if (found && needs_third)
    rows.written.third = devices_[place(write).device]->session_places->take_third(model->sessions.places);
  if (!found || (needs_third && !rows.written.third)) {
    return fail(ErrorCode::kOverloaded,
                "the device has no room for the session's state; repeat the part in a moment");
  }
  if (home.model != model) home.model = model;  // shared by all sessions: a count that others write, too
  Slot& into = slot(write);
  into.steps = steps;
  rows.written.slot = into.number;
  if (read != kInitialState) rows.from = CarriedState{*slot(read).number, slot(read).steps};
  return rows;
}

void SessionStates::keep_only(SessionRef session, StateSlot state) {
  Place& place = this->place(state);
  give_back(home(session).model, place.device, place.slots[state % 2 ^ 1]);
}

StatePlace SessionStates::place_of(std::uint32_t device, const LentNumber& number,
                                   std::uint32_t steps) const {
  return {devices_[device], number, {*number, steps}};
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
  copy->from = place_of(place(state).device, slot(state).number, slot(state).steps);
  copy->bytes.resize(size);
  host_bytes_ += size;
  return copy;
}

StateCopyPtr SessionStates::restore(SessionRef session, StateSlot into, Wanted wanted) {
  Home& home = this->home(session);
  if (!take_slot(*home.model, into, wanted)) return nullptr;
  slot(into).steps = 1;
  StateCopyPtr copy = copy_of(StateCopy::Kind::kRestore, session, into);
  copy->to = place_of(place(into).device, slot(into).number, 1);
  copy->bytes = std::move(home.host);
  return copy;
}

StateCopyPtr SessionStates::move(SessionRef session, StateSlot state, std::uint32_t device) {
  const InstalledModel& model = *home(session).model;
  const LentNumber number = lend(model, device);
  if (!number) return nullptr;
  const Slot& from = slot(state);
  StateCopyPtr copy = copy_of(StateCopy::Kind::kMove, session, state);
  copy->from = place_of(place(state).device, from.number, from.steps);
  copy->to = place_of(device, number, from.steps);
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
      for (Slot& slot : place(copy.slot).slots) give_back(home.model, place(copy.slot).device, slot);
      place(copy.slot).device = to.device->number;
      slot(copy.slot).number = to.slot;
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
  for (Slot& own : place(slot).slots) give_back(home.model, place(slot).device, own);
  if (!home.on_host) home.model = nullptr;
}

// A NaN in every state, in all rows of the slot.
void SessionStates::poison(const InstalledModel& model, std::uint32_t device, std::uint32_t number) {
  for (const SessionRows::Lane& lane : model.sessions.lanes) {
    const std::size_t size = state_bytes(model.model->pools[lane.pool - model.first_pool].kinds);
    const std::vector<std::byte> bad(size, std::byte{0xff});
    for (std::uint32_t row = 0; row < rows_per_slot(lane.ring); ++row)
      static_cast<void>(devices_[device]->device->write_slot(lane.pool, first_row(lane, number) + row, bad));
  }
}

}  // namespace volvox
