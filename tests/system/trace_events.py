"""What `volvox trace` writes, checked against the Trace Event Format as Perfetto reads it."""

import collections

# Keys that an event of each phase must have, and may have besides.
KEYS = {
    "M": ({"ph", "name", "pid", "tid", "args"}, set()),
    "X": ({"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"}, set()),
    "b": ({"ph", "name", "cat", "id", "pid", "tid", "ts"}, {"args"}),
    "e": ({"ph", "name", "cat", "id", "pid", "tid", "ts"}, set()),
    "s": ({"ph", "name", "cat", "id", "pid", "tid", "ts"}, set()),
    "t": ({"ph", "name", "cat", "id", "pid", "tid", "ts"}, set()),
    "f": ({"ph", "name", "cat", "id", "pid", "tid", "ts", "bp"}, set()),
}
# Times are in microseconds, and are written as the nearest double.
TOLERANCE = 0.002


def complaints(trace):
    """All that is wrong with a trace, in words."""
    found = []
    if set(trace) != {"displayTimeUnit", "otherData", "traceEvents"} or trace["displayTimeUnit"] not in ("ms", "ns"):
        found.append(f"the document has the members {sorted(trace)}")
    events = trace["traceEvents"]
    found += [f"bad {event}" for event in events if not well_formed(event)]
    if found:
        return found
    return slices_that_overlap(events) + parts_that_do_not_nest(events) + flows_that_hang(events) + unnamed_tracks(events)


def well_formed(event):
    if event.get("ph") not in KEYS:
        return False
    needed, allowed = KEYS[event["ph"]]
    if not needed <= set(event) <= needed | allowed:
        return False
    numbers = [event[key] for key in ("ts", "dur", "pid", "tid") if key in event]
    return all(isinstance(number, (int, float)) and number >= 0 for number in numbers) and isinstance(event["name"], str)


def of(events, phase, category=None):
    return [event for event in events if event["ph"] == phase and category in (None, event.get("cat"))]


def slices_that_overlap(events):
    """Slices of one thread stand in their order, one after the other."""
    ends = collections.defaultdict(float)
    found = []
    for event in of(events, "X"):
        track = (event["pid"], event["tid"])
        if event["ts"] + TOLERANCE < ends[track]:
            found.append(f"{event} begins before the slice before it ended")
        ends[track] = event["ts"] + event["dur"]
    return found


def parts_that_do_not_nest(events):
    """Each begin of an asynchronous track has its end, inside out, and time does not run backwards."""
    open_ones = collections.defaultdict(list)
    last = {}
    found = []
    for event in events:
        if event["ph"] not in "be":
            continue
        track = (event["pid"], event["cat"], event["id"])
        if event["ts"] + TOLERANCE < last.get(track, 0.0):
            found.append(f"time runs backwards at {event}")
        last[track] = event["ts"]
        if event["ph"] == "b":
            open_ones[track].append(event["name"])
        elif not open_ones[track] or open_ones[track].pop() != event["name"]:
            found.append(f"nothing that {event} could end")
    return found + [f"{names} of {track} never end" for track, names in open_ones.items() if names]


def flows_that_hang(events):
    """A flow begins once, ends once, goes forward, and lies in slices."""
    slices = collections.defaultdict(list)
    for event in of(events, "X"):
        slices[event["pid"], event["tid"]].append(event)
    flows = collections.defaultdict(list)
    found = []
    for event in events:
        if event["ph"] in "stf":
            flows[event["id"]].append(event)
            around = slices[event["pid"], event["tid"]]
            if not any(one["ts"] - TOLERANCE <= event["ts"] <= one["ts"] + one["dur"] + TOLERANCE for one in around):
                found.append(f"{event} lies in no slice")
    for number, steps in flows.items():
        steps.sort(key=lambda event: event["ts"])
        phases = "".join(event["ph"] for event in steps)
        if phases not in ("sf", "stf"):
            found.append(f"flow {number} is {phases}")
    return found


def unnamed_tracks(events):
    named = {(event["pid"], event["tid"]) for event in of(events, "M") if event["name"] == "thread_name"}
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}
    return [f"track {track} has no name" for track in used - named]


def rows_that_nobody_fills(events):
    """Of a chain, of which everything is in the trace: each task has a row for each request that has joined and not left."""
    inside = set()
    found = []
    for task in of(events, "X", "task"):
        inside |= set(task["args"]["joined"])
        if task["args"]["rows"] != len(inside):
            found.append(f"task {task['args']['seq']} has {task['args']['rows']} rows for {len(inside)} requests")
        inside -= set(task["args"]["left"])
    return found + ([f"{inside} never leave"] if inside else [])
