@0xb8e2f6a0c47d91e5;

# What travels between a router and a node of one cluster. docs/cluster.md explains it.
#
# Each message is one ClusterMessage of at most 64 KiB, or of what its reader said in `messageBytes`; what is larger travels
# as `fragment`s of its bytes. Fields and kinds are only ever added, at the end: a reader skips a kind that it does not know, so
# that neighbouring versions work together.
# Version 2 added generations.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("volvox::wire");

# What a model takes or gives, for whoever asks a router.
struct ClusterTensor {
  name @0 :Text;
  type @1 :UInt16;        # as ElementType in volvox.capnp
  shape @2 :List(Int64);  # -1: any size
}

struct ClusterOffer {
  model @0 :Text;
  version @1 :UInt32;
  digest @2 :UInt64;    # of the weights
  cellNs @3 :UInt64;    # what a cell costs here when the node is busy
  cells @4 :UInt32;     # of a request, on average
  inputs @5 :List(ClusterTensor);
  outputs @6 :List(ClusterTensor);
  maxCells @7 :UInt32;  # of a request, at most; 0: the node does not say
}

# The first message from the node that dialled; until `joinReply` accepts it, nothing else is looked at.
struct ClusterJoin {
  cluster @0 :Text;
  name @1 :Text;
  incarnation @2 :UInt64;     # drawn at random when the process started, never 0
  version @3 :UInt16;         # that it speaks best
  oldestVersion @4 :UInt16;   # that it still speaks
  offers @5 :List(ClusterOffer);
  list @6 :UInt32;            # the number of these offers
  requestLimit @7 :UInt64;    # what the router may send at once, as in a report; 0: it hears so in the first one
  requestWindow @8 :UInt64;
  byteLimit @9 :UInt64;
  byteWindow @10 :UInt64;
  messageBytes @11 :UInt32;   # the largest message that the node takes in one piece; 0: 64 KiB
}

struct ClusterJoinReply {
  accepted @0 :Bool;
  errorCode @1 :UInt16;
  message @2 :Text;
  name @3 :Text;              # the router's
  incarnation @4 :UInt64;
  version @5 :UInt16;
  oldestVersion @6 :UInt16;
  messageBytes @7 :UInt32;    # as the join's, of the router
}

# node → router: a member offers these now, in place of those before; since version 2.
struct ClusterOffers {
  list @0 :UInt32;            # greater than that of the join and of those before
  offers @1 :List(ClusterOffer);
}

# router → node. Numbers are cumulative since the join.
struct ClusterPing {
  ping @0 :Int64;
  wantedRequests @1 :UInt64;
  wantedBytes @2 :UInt64;
  returnedRequests @3 :UInt64;
  returnedBytes @4 :UInt64;
  list @5 :UInt32;            # the newest offers that came
}

# node → router, every 100 ms.
struct ClusterReport {
  echo @0 :Int64;             # the last ping that came, -1 before the first
  workNs @1 :UInt64;          # that other routers' requests leave to do
  waitNs @2 :UInt64;          # until a request that came now would begin
  rows @3 :UInt32;
  fullRows @4 :UInt32;
  requestLimit @5 :UInt64;
  requestWindow @6 :UInt64;
  byteLimit @7 :UInt64;
  byteWindow @8 :UInt64;
  cellNs @9 :List(UInt64);    # by number of the offer; empty: as before
  list @10 :UInt32;           # the offers that those are of
  waitsNs @11 :List(UInt64);  # as waitNs, by number of the offer; empty: that one is all that is known
}

struct ClusterAttempt {
  index @0 :UInt32;
  generation @1 :UInt32;
  number @2 :UInt32;
}

# router → node. `header` and `body` are the client's two frames.
struct ClusterSubmit {
  attempt @0 :ClusterAttempt;
  deadlineUs @1 :UInt64;      # what is left; 0 = none
  header @2 :Data;
  body @3 :Data;
  account @4 :Text;           # the name of the client's key; empty: it needed none
  connection @5 :UInt64;      # stands for the client's connection to the router, in the whole cluster; 0: not told
  version @6 :UInt32;         # of the model, that the router has chosen where the header leaves it open; a node that does not
                              # have it any more takes its newest; 0: not told
}

struct ClusterCancel {
  attempt @0 :ClusterAttempt;
  why @1 :UInt16;             # DEADLINE_EXCEEDED, as in volvox.capnp's replies; anything else: CANCELLED
}

# node → router. `header` and `body` are two frames of a reply to the client.
struct ClusterResult {
  attempt @0 :ClusterAttempt;
  final @1 :Bool;
  header @2 :Data;
  body @3 :Data;
}

# A part of the bytes of a larger message. The parts of one message come in order.
struct ClusterFragment {
  stream @0 :UInt64;
  offset @1 :UInt64;
  total @2 :UInt64;
  bytes @3 :Data;
}

# So many fragments arrived since the last one.
struct ClusterAck {
  fragments @0 :UInt32;
}

struct ClusterMessage {
  # Of the link. The end that dials counts it up at every join, in all that it sends; the other end says the last that it saw.
  # What belongs to another one is dropped. 0: an end of version 1, which knows of none.
  generation @13 :UInt32;

  union {
    unset @0 :Void;
    join @1 :ClusterJoin;
    joinReply @2 :ClusterJoinReply;
    ping @3 :ClusterPing;
    report @4 :ClusterReport;
    submit @5 :ClusterSubmit;
    cancel @6 :ClusterCancel;
    result @7 :ClusterResult;
    drain @8 :Text;           # node → router: nothing new; router → node: drain, the operator wants it; why
    leave @9 :Text;           # both: goodbye; why. The router says it back
    fragment @10 :ClusterFragment;
    ack @11 :ClusterAck;
    rejoin @12 :Text;         # router → node: you are no member any more, join again; why
    offers @14 :ClusterOffers;
  }
}
