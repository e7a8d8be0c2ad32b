#include "cells/unfold/lane_assembly.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cells/ir/cell_builder.h"
#include "cells/ir/inference.h"
#include "cells/ir/lane_order.h"
#include "cells/ir/product_terms.h"
#include "cells/ir/split.h"
#include "cells/model/model.h"
#include "cells/ops/ops.h"

namespace volvox {
namespace {

// Bytes of the matrices that the cell multiplies by.
std::uint64_t product_bytes(const Cell& cell) {
  std::int64_t weights = 0;
  for (const Operator& op : cell.operators) {
    if (!op.is(kProductOp)) continue;
    for (std::size_t i = 0; i < product_term_count(op); ++i) {
      weights += elements(cell.values[op.output].shape) * elements(cell.values[op.inputs[i]].shape);
    }
  }
  return static_cast<std::uint64_t>(weights) * sizeof(float);
}

Result<SplitCell> split(const Assembly& assembly, const CellDefinition& definition, const Cell& whole,
                        const GivenGathers& given) {
  const LoadOptions& options = assembly.options();
  if (!options.eager || product_bytes(whole) < options.eager_from_bytes)
    return SplitCell{std::nullopt, whole, 0};
  auto parts = split_cell(whole, given);
  if (!parts) return assembly.error(definition.line, parts.error().message);
  return parts;
}

// The type of a cell, with its states in a pool of its own.
std::uint8_t add_type(Model& model, CellTypeSpec type) {
  const auto number = static_cast<std::uint8_t>(model.types.size());
  type.out_pool = number;
  type.gather_pools.fill(number);
  model.pools.push_back({type.cell.states});
  model.types.push_back(std::move(type));
  return number;
}

bool gathers(const Cell& cell, std::uint32_t index) {
  return std::any_of(cell.operators.begin(), cell.operators.end(),
                     [index](const Operator& op) { return op.is(kGatherOp) && op.index == index; });
}

bool reads_itself(const Cell& cell) {
  return gathers(cell, 0);
}

// Gathers beyond 0, which is the lane's own.
std::uint32_t others_read(const Cell& cell) {
  return std::max(cell.gathers, 1U) - 1;
}

const StateKind* find_state(const std::vector<StateKind>& kinds, const std::string& name, DType dtype,
                            const Shape& shape) {
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const StateKind& kind) {
    return kind.name == name && kind.dtype == dtype && kind.shape == shape;
  });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace

LaneAssembly::LaneAssembly(Assembly& assembly)
    : assembly_(assembly),
      model_(assembly.model()),
      written_(model_.outputs.size(), false),
      writers_(model_.outputs.size(), LaneEdge::kNone) {}

// What the cell gathers of lanes that run ahead of it. None does where a lane reads the step before of one
// that may lie above it, nor where a plan has no room for as many lanes; and none should where a sequence
// ends when it likes: steps after its end would be wasted.
Result<GivenGathers> LaneAssembly::given_to(const CellDefinition& cell, const Cell& whole) const {
  GivenGathers given{};
  if (!reads_itself(whole)) return given;
  std::size_t needed = 0;  // lanes, if each computes something ahead
  for (const LaneDefinition& lane : assembly_.definition().lanes) {
    needed += lane.initial.empty() ? 2 : 3;
    if (needed > LanePlan::kMaxLanes) return GivenGathers{};
    const auto before = [](const std::string& from) { return from.ends_with(":before"); };
    if (std::any_of(lane.from.begin(), lane.from.end(), before)) return GivenGathers{};
    if (lane.cell != cell.name) continue;
    const auto sequence = assembly_.sequence_of(lane);
    if (!sequence) return tl::unexpected(sequence.error());
    if (model_.sequences[*sequence].kind == SequenceSpec::Kind::kStopped) return GivenGathers{};
  }
  for (std::uint32_t i = 1; i <= others_read(whole); ++i) given[i] = true;
  return given;
}

Result<std::size_t> LaneAssembly::add_cell(const CellDefinition& definition, Cell given) {
  auto seen = assembly_.over_windows(definition, std::move(given));
  if (!seen) return tl::unexpected(seen.error());
  Cell whole = std::move(*seen);
  const auto ahead = given_to(definition, whole);
  if (!ahead) return tl::unexpected(ahead.error());
  auto split_parts = split(assembly_, definition, whole, *ahead);
  if (!split_parts) return tl::unexpected(split_parts.error());
  Parts parts{.gather = split_parts->gather, .whole = std::move(whole), .name = definition.name};
  if (split_parts->eager) {
    // It yields to its core, which is closer to an answer.
    CellTypeSpec eager = assembly_.type_of(definition, std::move(*split_parts->eager));
    --eager.priority;
    eager.independent = true;
    parts.eager = add_type(model_, std::move(eager));
  }
  CellTypeSpec core = assembly_.type_of(definition, std::move(split_parts->core));
  core.independent = !reads_itself(parts.whole) && (parts.whole.gathers > 0 || parts.whole.gathers_all);
  parts.core = add_type(model_, std::move(core));
  if (parts.eager) model_.types[parts.core].gather_pools[parts.gather] = *parts.eager;
  cells_.push_back(std::move(parts));
  return cells_.size() - 1;
}

Status LaneAssembly::make_room(const LaneDefinition& definition, std::size_t lanes) const {
  if (model_.plan.lanes.size() + lanes <= LanePlan::kMaxLanes) return {};
  return assembly_.error(definition.line, std::string("lane: at most ") +
                                              std::to_string(LanePlan::kMaxLanes) +
                                              " are possible, with those for what cells compute ahead");
}

Status LaneAssembly::add_lane(std::size_t cell, const LaneDefinition& definition) {
  const Parts& parts = cells_[cell];
  std::vector<LaneSpec>& lanes = model_.plan.lanes;
  if (Status fits = make_room(definition, parts.eager ? 2 : 1); !fits) return fits;
  const std::string& name = definition.name.empty() ? definition.cell : definition.name;
  if (names_.contains(name)) {
    return assembly_.error(
        definition.line,
        "lane: " + in_quotes(name) + " comes twice; give each of a cell's lanes a name of its own");
  }
  const auto sequence = assembly_.sequence_of(definition);
  if (!sequence) return tl::unexpected(sequence.error());
  const bool stops = model_.sequences[*sequence].kind == SequenceSpec::Kind::kStopped;
  if (stops && definition.reverse)
    return assembly_.error(definition.line, "reverse: nobody knows where this sequence ends");
  LaneSpec core{.length_of = *sequence, .until_stopped = stops, .reversed = definition.reverse};
  Status mapped = assembly_.map_pulls(parts.whole, definition, core.pulls);
  if (mapped) mapped = assembly_.map_pushes(parts.whole, definition, core.pushes, written_);
  if (!mapped) return mapped;
  core.type = core.pool = parts.core;
  core.has_state = !model_.types[parts.core].cell.states.empty();
  if (parts.eager) {
    LaneSpec eager = core;
    eager.type = eager.pool = *parts.eager;
    eager.ring = std::max(assembly_.options().eager_window, 1U);
    eager.has_state = true;
    eager.pushes = {};
    core.edges.push_back(
        {.gather = static_cast<std::uint8_t>(parts.gather), .from = static_cast<std::uint8_t>(lanes.size())});
    lanes.push_back(std::move(eager));
  }
  lanes.push_back(std::move(core));
  names_[name] = lanes_.size();
  lanes_.push_back({&definition, cell, static_cast<std::uint8_t>(lanes.size() - 1), 0});
  return note_outputs(definition, lanes.back());
}

// Whose steps an output's rows are.
Status LaneAssembly::note_outputs(const LaneDefinition& definition, const LaneSpec& lane) {
  for (const LanePush& push : lane.pushes) {
    if (push.output == LanePush::kNowhere) continue;
    if (push.every) {
      model_.outputs[push.output].sequence = lane.length_of;
      if (Status fine = note_path(definition, lane, push.output); !fine) return fine;
      writers_[push.output] = static_cast<std::uint8_t>(model_.plan.lanes.size() - 1);
    } else if (lane.until_stopped) {
      return assembly_.error(definition.line,
                             "push: output " + in_quotes(model_.outputs[push.output].name) +
                                 " is of the last step, which is not known before it has run; say every = "
                                 "true for it");
    }
  }
  return {};
}

Status LaneAssembly::note_path(const LaneDefinition& definition, const LaneSpec& lane, std::size_t output) {
  OutputSpec& spec = model_.outputs[output];
  spec.path = assembly_.definition().outputs[output].path;
  if (!spec.path || !lane.reversed) return {};
  return assembly_.error(definition.line, "reverse: the path " + in_quotes(spec.name) +
                                              " goes from the first row to the last; leave one of them out");
}

// ---- What lanes read of each other ----

Result<LaneAssembly::Source> LaneAssembly::source(const Lane& reader, const std::string& text) const {
  using Which = Source::Which;
  constexpr std::array<std::pair<std::string_view, Which>, 3> kWords{
      {{"before", Which::kBefore}, {"last", Which::kLast}, {"all", Which::kAll}}};
  const std::size_t colon = text.find(':');
  Source source;
  const auto wrong = [&](const std::string& what) {
    return assembly_.error(reader.definition->line, "from: " + what);
  };
  if (colon != std::string::npos) {
    const std::string word = text.substr(colon + 1);
    const auto* known =
        std::find_if(kWords.begin(), kWords.end(), [&](const auto& one) { return one.first == word; });
    if (known == kWords.end())
      return wrong("there is no " + in_quotes(word) + " of a lane; there are before, last and all");
    source.which = known->second;
  }
  const auto found = names_.find(std::string_view(text).substr(0, colon));
  const bool earlier = found != names_.end() && &lanes_[found->second] < &reader;
  if (found == names_.end() || !(earlier || source.which == Which::kBefore))
    return wrong("there is no lane " + in_quotes(text.substr(0, colon)) + " before this one");
  source.lane = &lanes_[found->second];
  return source;
}

// Both parts of a cell read what they gather. An eager one can run many steps at once if the lane that it
// follows keeps as many.
void LaneAssembly::add_edge(const Lane& reader, const LaneEdge& edge) {
  const Parts& parts = cells_[reader.cell];
  std::vector<LaneSpec>& lanes = model_.plan.lanes;
  if (edge.all || gathers(model_.types[parts.core].cell, edge.gather))
    lanes[reader.number].edges.push_back(edge);
  if (!parts.eager || edge.all || !gathers(model_.types[*parts.eager].cell, edge.gather)) return;
  LaneSpec &eager = lanes[reader.number - 1U], &below = lanes[edge.from];
  eager.edges.push_back(edge);
  if (edge.stride > 0 && below.ring != 0) below.ring = std::max(below.ring, eager.ring);
}

Status LaneAssembly::read(const Lane& reader, const Source& from, std::uint32_t gather,
                          std::array<PoolId, kMaxGathers>& pools, std::optional<PoolId>& listed) {
  using Which = Source::Which;
  LaneSpec& below = model_.plan.lanes[from.lane->number];
  const LaneSpec& spec = model_.plan.lanes[reader.number];
  LaneEdge edge{.gather = static_cast<std::uint8_t>(gather), .from = from.lane->number};
  const auto wrong = [&](const std::string& what) {
    const LaneDefinition& whose = *from.lane->definition;
    return assembly_.error(
        reader.definition->line,
        "from: the lane " + in_quotes(whose.name.empty() ? whose.cell : whose.name) + what);
  };
  if (below.until_stopped && (from.which == Which::kLast || from.which == Which::kAll))
    return wrong(" ends when it likes, so its end cannot be read");
  if (from.which == Which::kAll) {
    edge.all = true;
    below.ring = 0;
    listed = below.pool;
  } else {
    pools[gather] = below.pool;
  }
  if (from.which == Which::kLast) {
    edge.stride = 0;
    edge.from_end = true;
  }
  const bool opposite = below.reversed != spec.reversed;
  if (from.which == Which::kBefore) {
    if (opposite) return wrong(" runs the other way, so its step before is not computed yet");
    edge.offset = -1;
  }
  if (from.which == Which::kSame && opposite) {  // the same row of the sequence
    edge.stride = -1;
    edge.from_end = true;
    below.ring = 0;
  }
  if (edge.stride != 0 && !edge.all && below.length_of != spec.length_of)
    return wrong(" has steps of another sequence; read its \":last\" or \":all\"");
  add_edge(reader, edge);
  return {};
}

Status LaneAssembly::connect(Lane& lane) {
  const Parts& parts = cells_[lane.cell];
  const LaneDefinition& definition = *lane.definition;
  auto pools = model_.types[parts.core].gather_pools;
  if (reads_itself(parts.whole)) {
    auto& edges = model_.plan.lanes[lane.number].edges;
    edges.insert(edges.begin(), LaneEdge{.gather = 0, .from = lane.number, .offset = -1});
  }
  std::optional<PoolId> listed;
  std::uint32_t gather = 0;
  std::uint8_t depth = 0;
  for (const std::string& text : definition.from) {
    const auto from = source(lane, text);
    if (!from) return tl::unexpected(from.error());
    const bool all = from->which == Source::Which::kAll;
    if (all && listed)
      return assembly_.error(definition.line, "from: a cell reads one lane as a whole at most");
    if (!all && ++gather > others_read(parts.whole)) continue;
    if (Status ok = read(lane, *from, gather, pools, listed); !ok) return ok;
    if (from->lane->cell == lane.cell) model_.types[parts.core].independent = false;  // by ":before"
    if (from->which != Source::Which::kBefore) depth = std::max<std::uint8_t>(depth, from->lane->depth + 1);
  }
  if (gather != others_read(parts.whole) || listed.has_value() != parts.whole.gathers_all) {
    return assembly_.error(definition.line,
                           "from: names " + std::to_string(definition.from.size()) + " lanes, the cell " +
                               in_quotes(definition.cell) + " reads " +
                               std::to_string(others_read(parts.whole)) +
                               (parts.whole.gathers_all ? " and one as a whole (\":all\")" : ""));
  }
  lane.depth = depth;
  return use_pools(lane, pools, listed, depth);
}

// What the cell gathers is kept where its lane reads.
Status LaneAssembly::check_states(const Lane& lane, const OpDef& gathered, std::uint32_t index,
                                  PoolId pool) const {
  const Cell& cell = cells_[lane.cell].whole;
  for (const Operator& op : cell.operators) {
    if (!op.is(gathered) || (op.is(kGatherOp) && op.index != index)) continue;
    const Value& wanted = cell.values[op.output];
    if (find_state(model_.pools[pool].kinds, op.name, wanted.dtype, wanted.shape) != nullptr) continue;
    return assembly_.error(lane.definition->line, "from: the cell " + in_quotes(lane.definition->cell) +
                                                      " reads a state " + in_quotes(op.name) + " of " +
                                                      described(wanted.dtype, wanted.shape) +
                                                      ", and the lane below keeps none");
  }
  return {};
}

// All lanes of a cell read the same planes, and lie equally deep.
Status LaneAssembly::use_pools(const Lane& lane, const std::array<PoolId, kMaxGathers>& pools,
                               std::optional<PoolId> listed, std::uint8_t depth) {
  Parts& parts = cells_[lane.cell];
  for (std::uint32_t i = 1; i <= others_read(parts.whole); ++i) {
    if (Status kept = check_states(lane, kGatherOp, i, pools[i]); !kept) return kept;
  }
  if (listed) {
    if (Status kept = check_states(lane, kGatherAllOp, 0, *listed); !kept) return kept;
  }
  CellTypeSpec& core = model_.types[parts.core];
  if (parts.used && (pools != core.gather_pools || (listed && *listed != core.ragged_pool))) {
    return assembly_.error(lane.definition->line,
                           "from: lanes of one cell read lanes of one cell; write the cell " +
                               in_quotes(lane.definition->cell) + " twice");
  }
  if (!parts.used) {
    core.gather_pools = pools;
    if (listed) core.ragged_pool = *listed;
    core.priority += depth;
    if (parts.eager) {
      CellTypeSpec& eager = model_.types[*parts.eager];
      for (std::uint32_t i = 1; i <= others_read(parts.whole); ++i) eager.gather_pools[i] = pools[i];
      eager.priority += depth;
    }
  }
  parts.used = true;
  return {};
}

// ---- Where a lane begins ----

// The sequence of one step.
std::uint8_t LaneAssembly::once() {
  auto& sequences = model_.sequences;
  const auto found = std::find_if(sequences.begin(), sequences.end(), [](const SequenceSpec& sequence) {
    return sequence.kind == SequenceSpec::Kind::kOnce;
  });
  const auto number = static_cast<std::uint8_t>(found - sequences.begin());
  if (found == sequences.end()) sequences.push_back({.kind = SequenceSpec::Kind::kOnce, .max_length = 1});
  return number;
}

// The cell of the step before the first one: it takes those states that the other lane keeps as well from its
// last step, and the others as they are initially.
Result<std::uint8_t> LaneAssembly::begin_type(const Lane& lane, const Lane& from) {
  const Parts& parts = cells_[lane.cell];
  const CellTypeSpec& core = model_.types[parts.core];
  const PoolId below = spec(from).pool;
  CellBuilder b(parts.name + ".begin");
  bool any = false;
  for (const StateKind& state : core.cell.states) {
    const bool kept = find_state(model_.pools[below].kinds, state.name, state.dtype, state.shape) != nullptr;
    any = any || kept;
    b.state(state);
    b.scatter(state.name, b.gather(kept ? 0 : 1, state.name, state.shape, state.dtype));
  }
  if (!any) {
    return assembly_.error(lane.definition->line, "initial: the lane " + in_quotes(lane.definition->initial) +
                                                      " keeps no state that the cell " +
                                                      in_quotes(lane.definition->cell) + " has");
  }
  auto cell = b.build();
  if (!cell) return assembly_.error(lane.definition->line, cell.error().message);
  CellTypeSpec type = core;
  type.name = cell->name;
  type.cell = std::move(*cell);
  type.independent = true;
  type.gather_pools.fill(core.out_pool);
  type.gather_pools[0] = below;
  model_.types.push_back(std::move(type));
  return static_cast<std::uint8_t>(model_.types.size() - 1);
}

// The lane's first step reads the last one of another lane, whose states may be others: a lane of one step
// between the two hands over what both have.
Status LaneAssembly::begin_with(Lane& lane) {
  const LaneDefinition& definition = *lane.definition;
  Parts& parts = cells_[lane.cell];
  const auto found = names_.find(definition.initial);
  if (found == names_.end() || &lanes_[found->second] >= &lane) {
    return assembly_.error(definition.line,
                           "initial: there is no lane " + in_quotes(definition.initial) + " before this one");
  }
  if (!reads_itself(parts.whole))
    return assembly_.error(definition.line, "initial: the cell does not read its own last state");
  const Lane& from = lanes_[found->second];
  if (spec(from).until_stopped)
    return assembly_.error(definition.line, "initial: that lane ends when it likes; its end cannot be read");
  if (Status fits = make_room(definition, 1); !fits) return fits;
  if (!parts.begin) {
    const auto type = begin_type(lane, from);
    if (!type) return tl::unexpected(type.error());
    parts.begin = *type;
  }
  if (model_.types[*parts.begin].gather_pools[0] != spec(from).pool) {
    return assembly_.error(definition.line,
                           "initial: lanes of one cell begin with lanes of one cell; write the cell twice");
  }
  const auto number = static_cast<std::uint8_t>(model_.plan.lanes.size());
  LaneSpec begin{.type = *parts.begin, .length_of = once(), .ring = 1, .pool = parts.core};
  begin.edges.push_back({.gather = 0, .from = from.number, .stride = 0, .from_end = true});
  model_.plan.lanes.push_back(std::move(begin));
  for (LaneEdge& edge : model_.plan.lanes[lane.number].edges) {
    if (edge.from == lane.number && edge.gather == 0) edge.before_first = number;
  }
  return {};
}

// ---- The end ----

Status LaneAssembly::add_stops() {
  for (const SequenceDefinition& sequence : assembly_.definition().sequences) {
    if (sequence.until.empty()) continue;
    const auto output = std::find_if(model_.outputs.begin(), model_.outputs.end(),
                                     [&](const OutputSpec& one) { return one.name == sequence.until; });
    const auto of = std::find_if(model_.sequences.begin(), model_.sequences.end(),
                                 [&](const SequenceSpec& one) { return one.name == sequence.name; });
    const auto number = static_cast<std::uint8_t>(output - model_.outputs.begin());
    const bool fits = output != model_.outputs.end() && output->dtype == DType::kI32 &&
                      elements(output->shape) == 1 && writers_[number] != LaneEdge::kNone &&
                      output->sequence == of - model_.sequences.begin();
    if (!fits) {
      return assembly_.error(sequence.line, "until: there is no output " + in_quotes(sequence.until) +
                                                " of one i32 for each step of " + in_quotes(sequence.name));
    }
    of->stop = {number, writers_[number], static_cast<std::int32_t>(sequence.equals)};
  }
  return {};
}

// A lane may be read by one that follows it and by one that waits for the end of something else: then it
// keeps its whole length. So does a chain whose follower waits for the end of another lane itself, as what
// reads both directions does: it would have to wait, too, and then to go step by step with its follower.
void LaneAssembly::keep_what_is_read_later() {
  std::vector<LaneSpec>& lanes = model_.plan.lanes;
  for (const LaneSpec& reader : lanes) {
    const auto waits_for_end = [&](const LaneEdge& edge) { return edge.all || edge.stride <= 0; };
    if (std::none_of(reader.edges.begin(), reader.edges.end(), waits_for_end)) continue;
    for (const LaneEdge& edge : reader.edges) {
      LaneSpec& from = lanes[edge.from];
      const bool is_chain = !model_.types[from.type].independent;
      if (is_chain && &from != &reader && !waits_for_end(edge)) from.ring = 0;
    }
  }
  while (const auto lane = LaneOrder(model_.plan).find_small_ring()) {
    const auto small =
        lanes[*lane].ring != 0
            ? lanes.begin() + static_cast<std::ptrdiff_t>(*lane)
            : std::find_if(lanes.begin(), lanes.end(), [](const LaneSpec& one) { return one.ring != 0; });
    if (small == lanes.end()) return;  // a circle, which validate() finds
    small->ring = 0;
  }
  keep_what_nobody_follows();
}

// All steps of a lane whose steps do not read each other may run in one task, unless one that follows it step
// by step holds it back; and no two rows of a task may write one slot.
void LaneAssembly::keep_what_nobody_follows() {
  std::vector<LaneSpec>& lanes = model_.plan.lanes;
  std::vector<bool> followed(lanes.size());
  for (const LaneSpec& reader : lanes) {
    for (const LaneEdge& edge : reader.edges) {
      if (&lanes[edge.from] != &reader && !edge.all && edge.stride > 0) followed[edge.from] = true;
    }
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    std::uint32_t& ring = lanes[lane].ring;
    if (ring == 0 || !model_.types[lanes[lane].type].independent) continue;
    ring = followed[lane] ? std::max(ring, assembly_.options().eager_window) : 0;
  }
}

Status LaneAssembly::finish() {
  for (Lane& lane : lanes_) {
    if (Status ok = connect(lane); !ok) return ok;
  }
  for (Lane& lane : lanes_) {
    if (lane.definition->initial.empty()) continue;
    if (Status ok = begin_with(lane); !ok) return ok;
  }
  if (Status ok = assembly_.check_written(written_); !ok) return ok;
  if (model_.sequences.size() > LanePlan::kMaxLengths) {
    return assembly_.error(1, "sequence: at most " + std::to_string(LanePlan::kMaxLengths) +
                                  " are possible, one of them for `initial`");
  }
  for (std::uint8_t i = 0; i < model_.sequences.size(); ++i) {
    const auto& lanes = model_.plan.lanes;
    const bool runs =
        std::any_of(lanes.begin(), lanes.end(), [i](const LaneSpec& lane) { return lane.length_of == i; });
    if (!runs)
      return assembly_.error(1, "sequence: no lane runs over " + in_quotes(model_.sequences[i].name));
  }
  keep_what_is_read_later();
  const std::vector<bool> waits = LaneOrder(model_.plan).may_wait();
  for (std::size_t lane = 0; lane < waits.size(); ++lane) model_.plan.lanes[lane].may_wait = waits[lane];
  return add_stops();
}

}  // namespace volvox
