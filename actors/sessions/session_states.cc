#include "actors/sessions/session_states.h"

#include <utility>

namespace volvox {

SessionStates::SessionStates(std::vector<NodeDevicePtr> devices, std::uint32_t max_resident,
                             std::uint64_t spill_bytes)
    : devices_(std::move(devices)), spill_bytes_(spill_bytes), places_(max_resident) {}

SessionStates::Home& SessionStates::home(SessionRef session) {
  if (session.index >= homes_.size()) homes_.resize(session.index + 1);
  return homes_[session.index];
}

SessionStates::ModelSlots& SessionStates::slots_of(const ModelPtr& model, std::uint32_t device) {
  const std::pair key(model->serial, device);
  const auto known = slots_.find(key);
  if (known != slots_.end()) return known->second;
  std::erase_if(slots_, [](const auto& entry) { return entry.second.model.expired(); });
  const std::uint32_t places = model->sessions.places;
  ModelSlots slots{model, devices_[device]->session_places->slots_of(model->serial, places), {}};
  slots.spare.reserve(std::size_t{2} * places);
  return slots_.emplace(key, std::move(slots)).first->second;
}

// What a task may still write is left to whoever holds it.
LentNumber SessionStates::lend(const ModelPtr& model, std::uint32_t device) {
  ModelSlots& slots = slots_of(model, device);
  while (!slots.spare.empty()) {
    LentNumber number = std::move(slots.spare.back());
    slots.spare.pop_back();
    if (number.use_count() == 1) return number;
  }
  return slots.lender->take();
}

bool SessionStates::take_slot(const ModelPtr& model, StateSlot wanted_slot, Wanted wanted) {
  Place& place = this->place(wanted_slot);
  for (const std::uint32_t device : wanted) {
    if (place.number) break;
    place.number = devices_[device]->session_places->take(model->sessions.places);
    place.device = device;
  }
  if (!place.number) return false;
  LentNumber& number = slot(wanted_slot).number;
  if (!number) number = lend(model, place.device);
  return number != nullptr;
}

void SessionStates::give_back(const ModelPtr& model, std::uint32_t device, Slot& slot) {
  LentNumber number = std::exchange(slot.number, nullptr);
  if (number && model) slots_of(model, device).spare.push_back(std::move(number));
}

std::optional<std::uint32_t> SessionStates::device_of(StateSlot slot) const {
  const Place& place = places_[slot / 2];
  return place.number == nullptr ? std::nullopt : std::optional(place.device);
}

Result<SessionStates::Rows> SessionStates::rows(SessionRef session, const ModelPtr& model, StateSlot read,
                                                StateSlot write, std::uint32_t steps, Wanted wanted) {
  Home& home = this->home(session);
  if (read != kInitialState && home.model != model) {
    return fail(ErrorCode::kSessionLost, "the model was loaded anew meanwhile; begin a new session");
  }
  if (home.model != model) home.model = model;  // shared by all sessions: a count that others write, too
  if (!take_slot(model, write, wanted)) {
    return fail(ErrorCode::kOverloaded,
                "the device has no room for the session's state; repeat the part in a moment");
  }
  Slot& into = slot(write);
  into.steps = steps;
  Rows rows;
  rows.lent = {place(write).number, nullptr, into.number};
  if (read == kInitialState) return rows;
  const Slot& from = slot(read);
  rows.lent.from = from.number;
  rows.from = CarriedState{*from.number, from.steps};
  return rows;
}

void SessionStates::keep_only(SessionRef session, StateSlot state) {
  Place& place = this->place(state);
  give_back(home(session).model, place.device, place.slots[state % 2 ^ 1]);
}

StatePlace SessionStates::place_of(StateSlot slot) const {
  const Place& place = places_[slot / 2];
  const Slot& own = place.slots[slot % 2];
  return {devices_[place.device], place.number, own.number, {*own.number, own.steps}};
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
  copy->from = place_of(state);
  copy->bytes.resize(size);
  host_bytes_ += size;
  return copy;
}

StateCopyPtr SessionStates::restore(SessionRef session, StateSlot into, Wanted wanted) {
  Home& home = this->home(session);
  if (!take_slot(home.model, into, wanted)) return nullptr;
  slot(into).steps = 1;
  StateCopyPtr copy = copy_of(StateCopy::Kind::kRestore, session, into);
  copy->to = place_of(into);
  copy->bytes = std::move(home.host);
  return copy;
}

StateCopyPtr SessionStates::move(SessionRef session, StateSlot state, std::uint32_t device) {
  const ModelPtr& model = home(session).model;
  LentNumber place = devices_[device]->session_places->take(model->sessions.places);
  LentNumber number = place ? lend(model, device) : nullptr;
  if (!number) return nullptr;
  StateCopyPtr copy = copy_of(StateCopy::Kind::kMove, session, state);
  copy->from = place_of(state);
  const CarriedState moved{*number, slot(state).steps};
  copy->to = {devices_[device], std::move(place), std::move(number), moved};
  copy->bytes.resize(carried_bytes(*model));
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
      place(copy.slot).number = to.place;
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
  Place& place = this->place(slot);
#ifndef NDEBUG
  if (home.model && place.number) poison(*home.model, place);
#endif
  for (Slot& own : place.slots) give_back(home.model, place.device, own);
  place.number = nullptr;
  if (!home.on_host) home.model = nullptr;
}

// A NaN in every state, in all rows of the place.
void SessionStates::poison(const InstalledModel& model, const Place& place) const {
  for (const SessionRows::Lane& lane : model.sessions.lanes) {
    const std::size_t size = state_bytes(model.model->pools[lane.pool - model.first_pool].kinds);
    const std::vector<std::byte> bad(size, std::byte{0xff});
    const auto write = [&](std::uint32_t row) {
      static_cast<void>(devices_[place.device]->device->write_slot(lane.pool, row, bad));
    };
    for (const Slot& slot : place.slots) {
      for (std::uint32_t row = 0; slot.number && row < rows_per_slot(lane.ring); ++row)
        write(first_row(lane, *slot.number) + row);
    }
    if (has_third_row(lane.ring)) write(third_row(model.sessions, lane, *place.number));
  }
}

}  // namespace volvox
