#include "routing/sessions/state_places.h"

namespace volvox {

void StatePlaces::enter(const SessionName& name, std::uint32_t holder, std::uint64_t share,
                        std::uint64_t state_bytes) {
  if (name.ref.index >= records_.size()) records_.resize(name.ref.index + 1);
  if (holder >= holders_.size()) holders_.resize(holder + 1);
  holders_[holder].share = share;
  Record& record = records_[name.ref.index];
  record = {};
  record.name = name;
  record.holder = holder;
  record.bytes = state_bytes;
}

bool StatePlaces::copying(std::uint32_t session) const {
  return where(session) == Where::kSpilling || where(session) == Where::kRestoring;
}

std::optional<StateSlot> StatePlaces::slot(std::uint32_t session) const {
  const Record& record = records_[session];
  return record.place == kNoIndex ? std::nullopt : std::optional(slot(record, 0));
}

StateSlot StatePlaces::read(std::uint32_t session) const {
  const Record& record = records_[session];
  return record.has_state ? slot(record, record.side) : kInitialState;
}

void StatePlaces::advance(std::uint32_t session) {
  records_[session].side ^= 1;
  records_[session].has_state = true;
}

void StatePlaces::take_place(Record& record) {
  if (free_.empty()) {
    record.place = made_++;
    return;
  }
  record.place = free_.back();
  free_.pop_back();
}

void StatePlaces::give_up_place(Record& record, Where then, SessionActions& out) {
  SessionAction& free = record.name.act(SessionAction::Kind::kFree, out);
  free.read = slot(record, 0);
  free.write = slot(record, 1);
  free_.push_back(record.place);
  aside_ -= record.aside ? 1 : 0;
  record.aside = false;
  record.place = kNoIndex;
  record.where = then;
}

void StatePlaces::set_aside(const std::function<bool(StateSlot)>& which) {
  aside_ = 0;
  promised_ = 0;
  for (std::uint32_t session = 0; session < records_.size(); ++session) {
    Record& record = records_[session];
    record.aside = record.place != kNoIndex && which(slot(record, 0));
    aside_ += record.aside ? 1 : 0;
    promised_ += record.where == Where::kSpilling && !record.aside ? 1 : 0;
    const bool idle_with_state = record.idle && record.where == Where::kResident && record.has_state;
    if (record.aside) {
      leave_spare(session);
    } else if (idle_with_state && !record.spare) {
      spare(session);
    }
  }
}

void StatePlaces::stand_in_line(std::uint32_t session) {
  if (records_[session].in_line) return;
  records_[session].in_line = true;
  line_.push_back(records_, session);
}

void StatePlaces::leave_line(std::uint32_t session) {
  if (!records_[session].in_line) return;
  records_[session].in_line = false;
  line_.erase(records_, session);
}

void StatePlaces::become_idle(std::uint32_t session, SessionActions& out) {
  Record& record = records_[session];
  record.idle = true;
  if (record.where == Where::kSpilled) return put_away(session);
  if (record.where != Where::kResident) return;
  record.has_state ? spare(session) : give_up_place(record, Where::kNowhere, out);
}

void StatePlaces::leave_idle(std::uint32_t session) {
  Record& record = records_[session];
  leave_spare(session);
  if (record.put_away) holders_[record.holder].put_away.erase(records_, session);
  record.idle = record.put_away = false;
}

void StatePlaces::touch(std::uint32_t session) {
  const Record& record = records_[session];
  if (record.spare) spare_.move_to_back(records_, session);
  if (record.put_away) holders_[record.holder].put_away.move_to_back(records_, session);
}

void StatePlaces::spare(std::uint32_t session) {
  if (records_[session].aside) return;
  records_[session].spare = true;
  spare_.push_back(records_, session);
}

void StatePlaces::leave_spare(std::uint32_t session) {
  if (records_[session].spare) spare_.erase(records_, session);
  records_[session].spare = false;
}

void StatePlaces::put_away(std::uint32_t session) {
  records_[session].put_away = true;
  holders_[records_[session].holder].put_away.push_back(records_, session);
}

StatePlaces::Step StatePlaces::serve(SessionActions& out) {
  while (!line_.empty() && has_free_place()) {
    const std::uint32_t session = line_.front();
    if (seat(session, out)) return {Step::Kind::kRun, session};
  }
  while (line_.size() > promised_ && !spare_.empty()) {
    const std::uint32_t session = spare_.front();
    const Step step = spill(session, out);
    if (step.kind == Step::Kind::kFull) spare_.move_to_back(records_, session);
    if (step.kind != Step::Kind::kNone) return step;
  }
  return {};
}

// Whether its part can run at once.
bool StatePlaces::seat(std::uint32_t session, SessionActions& out) {
  Record& record = records_[session];
  leave_line(session);
  take_place(record);
  record.where = record.has_state ? Where::kRestoring : Where::kResident;
  record.side = record.has_state ? 0 : 1;
  if (!record.has_state) return true;
  --spilled_;
  ++restoring_;
  SessionAction& restore = record.name.act(SessionAction::Kind::kRestore, out);
  restore.write = slot(record, 0);
  return false;
}

StatePlaces::Step StatePlaces::spill(std::uint32_t session, SessionActions& out) {
  Record& record = records_[session];
  const Step step = host_room(session);
  failed_spills_ += step.kind == Step::Kind::kFull ? 1 : 0;
  if (step.kind != Step::Kind::kNone) return step;
  leave_spare(session);
  record.where = Where::kSpilling;
  ++spilling_;
  promised_ += record.aside ? 0 : 1;
  held_.add(record.holder, record.bytes);
  SessionAction& spill = record.name.act(SessionAction::Kind::kSpill, out);
  spill.read = slot(record, record.side);
  return step;
}

// Host memory, too, is for all: whoever holds most of it, or more than its share, gives up states that were
// not used for long, or else the one that is to be spilled, for the one in line whose part is to run; but
// nobody for one that holds as much, or for itself.
StatePlaces::Step StatePlaces::host_room(std::uint32_t session) const {
  const Record& record = records_[session];
  const std::uint64_t own = held_.of(record.holder) + record.bytes;
  const bool over = own > holders_[record.holder].share;
  if (!over && held_.total() + record.bytes <= max_spilled_bytes_) return {};
  const bool is_biggest = over || own >= held_.most();
  const std::uint32_t victim = is_biggest ? record.holder : held_.biggest();
  const std::uint32_t wanted = line_.empty() ? victim : records_[line_.front()].holder;
  if (victim == wanted || (!over && held_.of(victim) <= held_.of(wanted))) return {Step::Kind::kFull};
  const std::uint32_t state = holders_[victim].put_away.front();
  if (state != kNoIndex) return {Step::Kind::kEvict, state};
  return is_biggest ? Step{Step::Kind::kEvict, session} : Step{Step::Kind::kFull};
}

void StatePlaces::go_behind(std::uint32_t session, SessionActions& out) {
  stand_in_line(session);
  give_up_place(records_[session], Where::kNowhere, out);
}

void StatePlaces::spilled(std::uint32_t session, bool ok, SessionActions& out) {
  Record& record = records_[session];
  --spilling_;
  promised_ -= record.aside ? 0 : 1;
  ++(ok ? spills_ : failed_spills_);
  if (ok) {
    give_up_place(record, Where::kSpilled, out);
    ++spilled_;
    if (record.idle) put_away(session);
  } else {
    record.where = Where::kResident;
    held_.remove(record.holder, record.bytes);
  }
}

void StatePlaces::restored(std::uint32_t session, bool ok) {
  Record& record = records_[session];
  record.where = Where::kResident;
  --restoring_;
  restores_ += ok ? 1 : 0;
  held_.remove(record.holder, record.bytes);
}

void StatePlaces::not_restored(std::uint32_t session, SessionActions& out) {
  --restoring_;
  ++spilled_;
  give_up_place(records_[session], Where::kSpilled, out);
}

void StatePlaces::let_go(std::uint32_t session, SessionActions& out) {
  Record& record = records_[session];
  if (record.where == Where::kResident) give_up_place(record, Where::kNowhere, out);
  if (record.where != Where::kSpilled) return;
  record.name.act(SessionAction::Kind::kForget, out);
  record.where = Where::kNowhere;
  --spilled_;
  held_.remove(record.holder, record.bytes);
}

void StatePlaces::count(SessionStats& stats) const {
  stats.resident = in_use();
  stats.spilled = spilled_;
  stats.copying = spilling_ + restoring_;
  stats.in_line = line_.size();
  stats.spilled_bytes = held_.total();
  stats.most_spilled_bytes = held_.most();
  stats.spills = spills_;
  stats.failed_spills = failed_spills_;
  stats.restores = restores_;
}

}  // namespace volvox
