#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/catalog.h"
#include "actors/session_places.h"
#include "base/error.h"
#include "batching/installation.h"
#include "batching/session_rows.h"
#include "device/device.h"
#include "routing/session.h"

namespace volvox {

// Where the sessions' states are: the table's slots are numbers, which stand for places in the pools of the
// session's model; and states that gave way to others are in the host's memory, which is bounded. Knows no
// rules: does what SessionTable says. One thread.
class SessionStates {
 public:
  // `spill_bytes`: of all states on the host together.
  SessionStates(std::shared_ptr<Device> device, std::shared_ptr<SessionPlaces> places,
                std::uint32_t max_resident, std::uint64_t spill_bytes);

  // What a part that runs in slot `write` needs: its rows are the session's until free(). OVERLOADED when
  // there are none; SESSION_LOST when the state was left by another installation of the model.
  struct Rows {
    PlacePtr place;
    std::optional<CarriedState> from;  // empty: the initial state
    std::uint32_t into = 0;            // slot in the model's pools
  };
  Result<Rows> rows(SessionRef session, const ModelPtr& model, StateSlot read, StateSlot write);
  // A part of `steps` steps has left, or will leave, its state in the slot.
  void set_steps(StateSlot slot, std::uint32_t steps) { slots_[slot] = steps; }

  // Copies. No task may be in flight that touches the slot.
  bool spill(SessionRef session, StateSlot read);
  bool restore(SessionRef session, StateSlot write);
  void forget(SessionRef session);  // the state, whose only copy is on the host
  // Nothing lies in the place of this slot any more. Debug builds poison its rows.
  void free(SessionRef session, StateSlot slot);

  std::uint64_t host_bytes() const { return host_bytes_; }

 private:
  struct Home {
    ModelPtr model;  // as long as there is a state of it
    bool on_host = false;
    std::vector<std::byte> host;
  };

  Home& home(SessionRef session);
  void drop_copy(Home& home);
  bool take_place(const InstalledModel& model, StateSlot slot);
  CarriedState carried(StateSlot slot) const;
  // Calls copy(pool, row, bytes) for each lane's row of the state, until one fails.
  template <class Bytes, class Copy>
  static bool each_row(const InstalledModel& model, const CarriedState& state, Bytes bytes, Copy copy);
  void poison(const InstalledModel& model, StateSlot slot);

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<SessionPlaces> lent_;
  const std::uint64_t spill_bytes_;
  std::uint64_t host_bytes_ = 0;
  std::vector<PlacePtr> places_;      // by the table's place
  std::vector<std::uint32_t> slots_;  // by the table's slot: steps of the part that left the state in it
  std::vector<Home> homes_;           // by the session's number
};

// Bytes of one session's state outside of the planes.
std::size_t carried_bytes(const InstalledModel& model);

}  // namespace volvox
