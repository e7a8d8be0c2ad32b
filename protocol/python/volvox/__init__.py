"""Volvox from Python: the client, and models of PyTorch as folders that a server takes.

    from volvox import Client, SessionToken, export

`export` and `export_state` need numpy, `export_step` and `export_sequence` PyTorch, and nothing else does.
"""

from volvox_client import Client, Part, SessionToken, VolvoxError

from volvox.model import CellWriter, read_safetensors, write_model
from volvox.recurrent import export, export_state
from volvox.torch_export import export_sequence, export_step

__all__ = ["CellWriter", "Client", "Part", "SessionToken", "VolvoxError", "export", "export_sequence", "export_state", "export_step",
           "read_safetensors", "write_model"]  # fmt: skip
