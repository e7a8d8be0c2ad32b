#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "actors/node/catalog.h"
#include "actors/node/node.h"
#include "actors/sessions/session_places.h"
#include "actors/sessions/state_copier.h"
#include "base/error.h"
#include "device/device.h"
#include "install/installation.h"
#include "install/session_rows.h"
#include "routing/sessions/session.h"

namespace volvox {

// Where the sessions' states are: the table's places and slots are numbers, which stand for a place on one
// of the devices and for slots in the pools of the session's model there; and states that gave way to others
// are in the host's memory, which is bounded. Knows no rules: does what SessionTable says. States are copied
// elsewhere (StateCopier): this says from where to where, and takes note when it is done. One thread.
class SessionStates {
 public:
  // Numbers of devices, the one that is liked best first.
  using Wanted = std::span<const std::uint32_t>;

  // `spill_bytes`: of all states on the host together.
  SessionStates(std::vector<NodeDevicePtr> devices, std::uint32_t max_resident, std::uint64_t spill_bytes);

  // What a part of `steps` steps that runs in slot `write` needs, on the device where the session's state is,
  // or else on one of those wanted. OVERLOADED when there is none; SESSION_LOST when the state was left by
  // another installation of the model.
  struct Rows {
    LentRows lent;
    std::optional<CarriedState> from;  // empty: the initial state
  };
  Result<Rows> rows(SessionRef session, const ModelPtr& model, StateSlot read, StateSlot write,
                    std::uint32_t steps, Wanted wanted);
  // Nothing of the session runs: in the other slot of its place lies nothing that anybody needs.
  void keep_only(SessionRef session, StateSlot state);
  // Where the slot's rows are; nothing while it has none.
  std::optional<std::uint32_t> device_of(StateSlot slot) const;

  // Copies that are to be made, to the host, from there and to another device; null: there is no room. No
  // task may be in flight that touches the slot, and nothing else may be asked for of the session before
  // ended().
  StateCopyPtr spill(SessionRef session, StateSlot state);
  StateCopyPtr restore(SessionRef session, StateSlot into, Wanted wanted);
  StateCopyPtr move(SessionRef session, StateSlot state, std::uint32_t device);
  // One that was not made changes nothing, but that one from the host is lost.
  void ended(StateCopy& copy);
  void forget(SessionRef session);  // the state, whose only copy is on the host
  // Nothing lies in the place of this slot any more. Debug builds poison its rows.
  void free(SessionRef session, StateSlot slot);

  std::uint64_t host_bytes() const { return host_bytes_; }
  std::uint64_t moves() const { return moves_; }

 private:
  struct Home {
    ModelPtr model;  // as long as there is a state of it
    bool on_host = false;
    std::vector<std::byte> host;
  };

  // What one of the table's slots stands for.
  struct Slot {
    LentNumber number;        // of the model's on the device; null: nothing
    std::uint32_t steps = 1;  // of the part that leaves its state in it
  };
  struct Place {
    std::uint32_t device = 0;
    LentNumber number;  // of the device's places; null: none
    std::array<Slot, 2> slots;
  };
  // Those of a model on a device.
  struct ModelSlots {
    std::weak_ptr<const InstalledModel> model;
    std::shared_ptr<NumberLender> lender;
    // That came back: the last one is lent first, which lies in a cache, and needs no lock.
    std::vector<LentNumber> spare;
  };

  Home& home(SessionRef session);
  void drop_copy(Home& home);
  StateCopyPtr copy_of(StateCopy::Kind kind, SessionRef session, StateSlot slot);
  StatePlace place_of(StateSlot slot) const;
  Place& place(StateSlot slot) { return places_[slot / 2]; }
  Slot& slot(StateSlot slot) { return places_[slot / 2].slots[slot % 2]; }
  ModelSlots& slots_of(const ModelPtr& model, std::uint32_t device);
  LentNumber lend(const ModelPtr& model, std::uint32_t device);
  bool take_slot(const ModelPtr& model, StateSlot slot, Wanted wanted);
  void give_back(const ModelPtr& model, std::uint32_t device, Slot& slot);
  void poison(const InstalledModel& model, const Place& place) const;

  const std::vector<NodeDevicePtr> devices_;
  const std::uint64_t spill_bytes_;
  std::uint64_t host_bytes_ = 0, moves_ = 0;  // states on their way to and from the host included
  std::vector<Place> places_;                 // by the table's place
  std::map<std::pair<std::uint64_t, std::uint32_t>, ModelSlots> slots_;  // by the model's serial, and device
  std::vector<Home> homes_;                                              // by the session's number
};

}  // namespace volvox
