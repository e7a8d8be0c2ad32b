"""Volvox from Python: the client, and models of PyTorch as folders that a server takes.

    from volvox import Client, SessionToken, export

`export` needs PyTorch and numpy, and nothing else does.
"""

from volvox_client import Client, SessionToken, VolvoxError

from volvox.model import CellWriter, write_model
from volvox.torch_export import export, export_step

__all__ = ["CellWriter", "Client", "SessionToken", "VolvoxError", "export", "export_step", "write_model"]
