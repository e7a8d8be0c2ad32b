@0xe7c4b1d2906f3a58;

# What travels between the coordinator of a load and its agents. docs/load.md explains how they work together.
#
# A message is two ZeroMQ frames, each one Cap'n Proto message: a LoadHeader and a LoadMessage. The coordinator begins; both
# speak whenever they have something to say. Times are nanoseconds. Fields and kinds are only ever added, at the end.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("volvox::wire");

struct LoadHeader {
  protocolVersion @0 :UInt16;
  run @1 :UInt64;  # drawn at random by the coordinator: what belongs to another run is not looked at
}

# How long requests are: drawn from a table; without one, as sentences are.
struct LoadLengths {
  table @0 :List(UInt32);
  description @1 :Text;
}

# Tree i is parents[offsets[i] .. offsets[i + 1]); without trees, random ones are made.
struct LoadTrees {
  offsets @0 :List(UInt32);
  parents @1 :List(Int32);
  leaves @2 :LoadLengths;
  mostChildren @3 :UInt32;
  description @4 :Text;
}

# Lattice i has so many characters, and the words offsets[i] .. offsets[i + 1]; without lattices, random ones are made.
struct LoadLattices {
  characters @0 :List(UInt32);
  offsets @1 :List(UInt32);
  starts @2 :List(Int32);
  ends @3 :List(Int32);
  lengths @4 :LoadLengths;
  description @5 :Text;
}

struct LoadGraphType {
  name @0 :Text;
  isLeaf @1 :Bool;
  isInner @2 :Bool;
  readsAny @3 :Bool;
  isStep @4 :Bool;
  keepsNone @5 :Bool;
}

struct LoadGraphs {
  trees @0 :LoadTrees;
  types @1 :List(LoadGraphType);
}

struct LoadSequences {
  lengths @0 :LoadLengths;
  names @1 :List(Text);
  ofInput @2 :List(UInt32);  # by input: the sequence whose steps its rows are; 2³²−1: it has one row
  partners @3 :List(UInt32);  # of two sequences, of which the second's lengths go with the first's; none: drawn apart
}

# Requests to one model, and how often they come among others.
struct LoadClass {
  model @0 :Text;
  modelVersion @1 :UInt32;
  input @2 :Text;
  weight @3 :Float64;
  high @4 :Float64;  # the weights of the priorities
  normal @5 :Float64;
  low @6 :Float64;
  deadline @7 :Int64;
  cancelFraction @8 :Float64;
  cancelAfter @9 :Int64;
  seed @10 :UInt64;
  vocabulary @11 :UInt32;
  more @12 :List(UInt32);  # vocabularies of inputs beside the first
  shapes :union {
    lengths @13 :LoadLengths;
    trees @14 :LoadTrees;
    lattices @15 :LoadLattices;
    graphs @16 :LoadGraphs;
    sequences @17 :LoadSequences;
  }
  rowShape @18 :List(UInt32);  # of the first input where that is of f32; none: of token ids
}

# What one connection of an agent is to do.
struct LoadPart {
  arrivals @0 :UInt8;
  rate @1 :Float64;
  first @2 :Int64;
  concurrency @3 :UInt32;
  firstIndex @4 :UInt64;
  indexStep @5 :UInt64;
  seed @6 :UInt64;
  warmup @7 :Int64;
  measured @8 :Int64;
  requests @9 :UInt64;
  timeout @10 :Int64;
  samples @11 :UInt64;
  timeline @12 :Bool;
}

struct LoadRatePoint {
  at @0 :Float64;  # seconds
  rate @1 :Float64;
}
struct LoadTraceEntry {
  at @0 :Int64;
  ofClass @1 :UInt32;
  size @2 :UInt32;
}

# coordinator → agent: get ready for this; answered by `ready` or `refused`.
struct LoadJob {
  endpoint @0 :Text;
  seed @1 :UInt64;
  classes @2 :List(LoadClass);
  parts @3 :List(LoadPart);
  curve @4 :List(LoadRatePoint);   # of all parts
  trace @5 :List(LoadTraceEntry);  # of all agents: parts take the entries of their indices
}

# coordinator → agent, over and over; the answer says when it came and went by the agent's clock.
struct LoadQuestion {
  asked @0 :Int64;  # by the coordinator's clock
}
struct LoadClock {
  asked @0 :Int64;
  received @1 :Int64;
  answered @2 :Int64;
}

struct LoadRefusal {
  errorCode @0 :UInt16;
  message @1 :Text;
}

struct LoadStart {
  at @0 :Int64;  # by the agent's clock
}

# agent → coordinator, twice a second while it runs. Sums since the start, but for the worst.
struct LoadState {
  offered @0 :UInt64;
  completed @1 :UInt64;
  failed @2 :UInt64;
  latency @3 :UInt64;
  worstLate @4 :UInt64;  # since the last one
}

# agent → coordinator, before the result: answers to be verified, what became of each request.
struct LoadSample {
  index @0 :UInt64;
  body @1 :Data;
}
struct LoadEntry {
  scheduled @0 :Int64;  # since the start
  took @1 :Int64;
  outcome @2 :UInt16;   # its number among the names
}
struct LoadRecords {
  samples @0 :List(LoadSample);
  entries @1 :List(LoadEntry);
  names @2 :List(Text);
}

struct LoadHistogram {
  buckets @0 :List(UInt32);
  counts @1 :List(UInt64);
  max @2 :UInt64;
}
struct LoadCount {
  name @0 :Text;
  count @1 :UInt64;
}
struct LoadExample {
  name @0 :Text;
  message @1 :Text;
}
# Gaps between sends, in microseconds: how many, their sums and those of their squares.
struct LoadGaps {
  count @0 :UInt64;
  planned @1 :Float64;
  plannedSquares @2 :Float64;
  sent @3 :Float64;
  sentSquares @4 :Float64;
}
struct LoadTally {
  offered @0 :UInt64;
  completed @1 :UInt64;
  onTime @2 :UInt64;
  duplicates @3 :UInt64;
  resent @4 :UInt64;
  lateAnswers @5 :UInt64;
  warmupOffered @6 :UInt64;
  warmupCompleted @7 :UInt64;
  errors @8 :List(LoadCount);
  outcomes @9 :List(LoadCount);
  examples @10 :List(LoadExample);
  histograms @11 :List(LoadHistogram);  # latency, queue, compute, refused, retry-after, late
  gaps @12 :LoadGaps;
}

# agent → coordinator, once: what came of it.
struct LoadResult {
  byClass @0 :List(LoadTally);
  apart @1 :LoadTally;
  seconds @2 :Float64;
  cut @3 :Text;  # why it ended before the plan did; empty: it did not
}

struct LoadMessage {
  union {
    unknown @0 :Void;
    question @1 :LoadQuestion;
    clock @2 :LoadClock;
    job @3 :LoadJob;
    ready @4 :Void;
    refused @5 :LoadRefusal;
    start @6 :LoadStart;
    stop @7 :Void;
    state @8 :LoadState;
    records @9 :LoadRecords;
    result @10 :LoadResult;
  }
}
