"""What the tree's sources may and may not contain, as tables. check_tree.py applies them."""

import re

# The house, layer by layer: which folders each folder may include besides itself (docs/architecture.md).
ENGINE = ("base", "config", "tracing", "cells", "shapes", "repository", "import", "device", "batching", "install", "routing", "serving", "cpu", "gpu", "simulation")
SERVING = ("monitoring", "protocol", "loadgen", "actors", "cli")
LAYERS = ENGINE + SERVING
MAY_INCLUDE = {
    "base": (),
    "config": ("base",),
    "tracing": ("base",),
    "cells": ("base",),
    "shapes": ("cells", "base"),
    "repository": ("cells", "base"),
    "import": ("repository", "cells", "base"),
    "device": ("cells", "base"),
    "batching": ("device", "cells", "config", "base"),
    "install": ("batching", "device", "cells", "config", "base"),
    "routing": ("config", "base"),
    "serving": ("routing", "install", "batching", "device", "cells", "config", "base"),
    "cpu": ("device", "cells", "base"),
    "gpu": ("device", "cells", "base"),
    "simulation": ENGINE,
    "monitoring": ("serving", "tracing", "config", "base"),
    "protocol": ("config", "base"),
    "loadgen": ("protocol", "monitoring", "shapes", "config", "base"),
    "actors": ("protocol", "monitoring", *ENGINE[: ENGINE.index("cpu")]),
    "cli": LAYERS,
}

# (folders, headers they must not include, why)
SERVING_LIBRARIES = r"(caf|capnp|kj|prometheus|spdlog|fmt|openssl|civetweb\w*)/|zmq(_addon)?\.h|curl/"
FORBIDDEN_HEADERS = (
    (ENGINE, SERVING_LIBRARIES, "the engine builds without CAF, ZeroMQ, Cap'n Proto, Prometheus and their kin"),
    (("batching",), r"device/(fake|timed|test)", "batching sees the device's interface only"),
    (
        ("batching", "routing", "serving"),
        r"(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token|ctime|iostream|fstream)$"
        r"|(pthread|unistd|poll|time|fcntl)\.h|sys/",
        "decisions are pure: no thread, clock, file or socket",
    ),
    (
        tuple(layer for layer in LAYERS if layer != "gpu"),
        r"(cuda|cublas|cudnn|nvrtc|nvml|cooperative_groups)\w*(\.h|\.hpp)?$|cuda/",
        "only gpu/ knows CUDA",
    ),
)

# (folders, code they must not hold, why); comments and strings are not looked at.
FORBIDDEN_CODE = (
    (LAYERS, re.compile(r"\bthread_local\b"), "no hidden state: threads and streams are explicit"),
    (
        ("batching", "routing", "serving"),
        re.compile(
            r"\b(steady_)?now\s*\(\s*\)|\bclock_gettime\b|\bgettimeofday\b|\bsleep_(for|until)\b"
            r"|\bstd::(jthread|thread|mutex|atomic)\b|\b(rand|srand|random_device)\b"
        ),
        "decisions are pure: time and chance are arguments",
    ),
)

# Headers that the build writes.
GENERATED = re.compile(r"\.capnp\.h$|^cpu/fused_blocks\.h$")

# Headers that everybody may see must not need a GPU toolkit, wherever they lie.
CUDA_IN_HEADER = re.compile(r"\bcuda(Stream|Event|Graph|Error|Malloc|Memcpy)\w*|\bcublas\w+_t\b|\bcudnn\w+_t\b")

# What one has to read at once. A file alone could be kept small by spreading a class over several, which makes it no
# easier to understand: its lines are those of its definition and of its member functions, in all files together.
MAX_LINES = 600
MAX_CLASS_LINES = 600
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
# A path that exists on one machine only. A variable in front ("$dir/tmp/…") makes it a different path.
MACHINE_PATH = re.compile(r"(?<![\w.})$*])/(?:work|root|home|tmp|Users)/\w")
CODE_SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".capnp", ".py", ".sh", ".cmake", "CMakeLists.txt")
TEXT_SUFFIXES = CODE_SUFFIXES + (".md", ".toml", ".json", ".yml", ".yaml", ".supp", ".ignore", ".txt", "run")
