@0xd41bec649605545e;

# What travels between a client and Volvox. docs/protocol.md explains it for a client in any language.
#
# A message is two ZeroMQ frames, each one Cap'n Proto message in the standard (unpacked) stream framing: a header, which is
# all that a gateway or router reads, and a body, which only the process that runs the request reads.
# Fields are only ever added, at the end; `protocolVersion` and `requestId` stay where they are for ever.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("volvox::wire");

const protocolVersion :UInt16 = 1;

enum RequestKind {
  infer @0;   # run a model
  cancel @1;  # stop the request with this id; no reply of its own
  ping @2;    # answered by `pong`, without touching a model
  bundle @3;  # run many parts of sessions, each as if it had come alone; the body is a BundleBody
}

enum Priority {
  normal @0;
  high @1;
  low @2;
}

enum SessionOperation {
  none @0;      # the request stands alone
  begin @1;     # open a session
  continue @2;  # the next part of a session
  end @3;       # the last part of a session
}

# Names a session and who holds its state. The client sends back the token of the last reply, unchanged but for `operation`,
# `nonce` and `sequence`; the token is the only authority, so that no two servers must agree on anything.
struct SessionToken {
  idHi @0 :UInt64;
  idLo @1 :UInt64;
  modelVersion @2 :UInt32;
  operation @3 :SessionOperation;
  modelDigest @4 :UInt64;  # of the weights
  numericsId @5 :UInt64;   # answers are bit-identical only within one
  epoch @6 :UInt64;        # raised by every takeover; a lower one is refused
  nonce @7 :UInt64;        # chosen by the client at `begin`: a repeated begin finds the same session; at random, with nonceHi
  sequence @8 :UInt64;     # number of the part within the session, from 0
  home @9 :Text;           # cluster node that holds the state
  replica @10 :Text;       # cluster node that holds the copy
  nonceHi @11 :UInt64;     # 64 random bits more; 0: without keys, the nonce is good on its own connection only
}

struct RequestHeader {
  protocolVersion @0 :UInt16;
  kind @1 :RequestKind;
  priority @2 :Priority;
  requestId @3 :UInt64;    # chosen by the client, not 0, unique on its connection
  modelVersion @4 :UInt32; # 0 = the newest
  cellsHint @5 :UInt32;    # about how many cells the request unfolds into; 0 = unknown
  deadlineUs @6 :UInt64;   # microseconds left when sent; 0 = none
  traceIdHi @7 :UInt64;
  traceIdLo @8 :UInt64;
  model @9 :Text;
  sessionToken @10 :SessionToken;  # absent = stands alone
  stream @11 :Bool;        # send the rows of outputs that have one for every step as partials, as they are made
  streamFrom @12 :UInt32;  # with `stream`: the first partial that is wanted; those before it are not sent
  parts @13 :UInt32;       # of a bundle: how many, with the ids from requestId on; of a cancel: how many ids it means (0: one)
  parentSpanId @14 :UInt64;  # of the trace: the sender's own span; 0 = none
  traceSampled @15 :Bool;    # the sender records the trace
}

enum ElementType {
  f32 @0;
  f64 @1;
  f16 @2;
  bf16 @3;
  i8 @4;
  i16 @5;
  i32 @6;
  i64 @7;
  u8 @8;
  u16 @9;
  u32 @10;
  u64 @11;
  bool8 @12;  # one byte, 0 or 1
}

# `data` holds the elements in row-major order, little-endian, without gaps: product(shape) × element size bytes.
struct Tensor {
  name @0 :Text;
  type @1 :ElementType;
  shape @2 :List(Int64);  # empty = a scalar
  data @3 :Data;
}

# Children before parents: a node's number is smaller than its parent's. Siblings are ordered by number (left to right).
struct Tree {
  parents @0 :List(Int32);  # node → its parent, −1 for a root
}

# A chain of `length` characters, and words that span [starts[i], ends[i]) of it.
struct Lattice {
  length @0 :UInt32;
  starts @1 :List(Int32);
  ends @2 :List(Int32);
}

# Any directed acyclic graph, in an order in which predecessors come first.
struct Graph {
  cellTypes @0 :List(Text);         # the names that `typeOf` counts in
  typeOf @1 :List(Int32);           # node → index into cellTypes
  predecessorOffsets @2 :List(Int32);  # nodes + 1 entries; node i's predecessors are
  predecessors @3 :List(Int32);        # predecessors[predecessorOffsets[i] .. predecessorOffsets[i + 1])
}

# Sequences by the names that the model gives them. One that the model ends by itself may be left out; its length is then the
# most steps that the model allows.
struct Sequences {
  names @0 :List(Text);
  lengths @1 :List(Int32);  # of each
}

struct Structure {
  union {
    unset @0 :Void;
    chain :group {
      length @1 :UInt32;
    }
    tree @2 :Tree;
    lattice @3 :Lattice;
    graph @4 :Graph;
    sequences @5 :Sequences;
  }
}

struct RequestBody {
  structure @0 :Structure;
  inputs @1 :List(Tensor);
  outputs @2 :List(Text);  # empty = all that the model declares
}

# Tokens of many parts, column by column: what many of them have in common is written once. Part i has the token
# kinds[kindOf[i]] with the id, nonce and sequence of its own.
struct TokenColumns {
  kinds @0 :List(SessionToken);  # ids, nonces and sequences in them mean nothing; none: all parts stand alone
  kindOf @1 :List(UInt16);       # none: all have the first kind
  idHi @2 :List(UInt64);         # of a request that begins: nonceHi
  idLo @3 :List(UInt64);         # of a request that begins: nonce
  sequences @4 :List(UInt64);
}

# Part i is a chain of lengths[i] steps, whose rows of each input follow those of part i − 1.
struct BundleBody {
  tokens @0 :TokenColumns;
  lengths @1 :List(UInt32);
  inputs @2 :List(Tensor);  # the first dimension of each is the sum of the lengths
  outputs @3 :List(Text);   # of each part; empty = all that the model declares
}

enum ReplyKind {
  result @0;   # the answer
  partial @1;  # a part of the answer; more follows
  error @2;    # the request failed; of a bundle: all its parts that have no answer
  pong @3;     # the answer to `ping`
  bundle @4;   # answers to some parts of a bundle; the body is a BundleReplyBody
}

struct ReplyHeader {
  protocolVersion @0 :UInt16;
  kind @1 :ReplyKind;
  errorCode @2 :UInt16;  # only with `error`; the numbers are in docs/protocol.md
  final @3 :Bool;        # nothing more comes for this request
  requestId @4 :UInt64;  # 0 = the request's id could not be read
  index @5 :UInt32;      # of a partial, from 0
  cells @6 :UInt32;      # cells that were run for the request
  retryAfterUs @7 :UInt64;  # only with `error`; 0 = no advice
  queueUs @8 :UInt64;    # from arrival to the first cell's start
  computeUs @9 :UInt64;  # from the first cell's start to the last one's end
  totalUs @10 :UInt64;   # from arrival to this reply
  server @11 :Text;
  message @12 :Text;     # only with `error`: a sentence that says what to do
  sessionToken @13 :SessionToken;
  undecided @14 :Bool;   # only with `error`, of a session's part: it may have been done all the same; repeat it unchanged
  modelVersion @15 :UInt32;  # of the model that answered; 0: an error, a bundle's parts, or a server that does not say
}

struct ReplyBody {
  outputs @0 :List(Tensor);
}

# An output of the parts that have outputs, in their order.
struct BundleOutput {
  tensor @0 :Tensor;
  rows @1 :List(UInt32);  # none: all have the shape that is left without the tensor's first dimension; else part i has
}                         # rows[i] of the tensor's rows

struct PartError {
  part @0 :UInt32;  # number within the bundle, from 0
  errorCode @1 :UInt16;
  undecided @2 :Bool;
  retryAfterUs @3 :UInt64;
  message @4 :Text;
}

# Answers to parts of one bundle. Columns have an entry for each part that is done.
struct BundleReplyBody {
  done @0 :List(UInt32);  # numbers within the bundle, from 0; those that have outputs first
  withOutputs @1 :UInt32; # so many of them
  tokens @2 :TokenColumns;
  cells @3 :List(UInt32);
  queueUs @4 :List(UInt32);
  computeUs @5 :List(UInt32);
  totalUs @6 :List(UInt32);
  outputs @7 :List(BundleOutput);
  errors @8 :List(PartError);  # those that failed
}
