"""A digest of rows, which differs if a number, a target, a weight, a dtype or the order differs."""

from hashlib import blake2b
from typing import Any
from zlib import crc32

import joblib
import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch
from skimp.data._block import Block
from skimp.data._context import Context
from skimp.data._rows import Rows


def digest_rows(rows: Rows, context: Context) -> str:
    """Return a digest of the rows and of their names and blocks, in one pass."""
    total = blake2b(repr((rows.feature_names, rows.dtype, rows.block_rows)).encode())

    def of_block(block: Block, _: Scratch) -> str:
        return "".join(_digest(values) for values in (block.X, block.y, block.weight))

    def add(done: int, digest: str) -> int:
        total.update(digest.encode())
        return done + 1

    context.map_reduce(rows, of_block, add, 0)
    return total.hexdigest()[:32]


def _digest(values: Any) -> str:
    if values is None:
        return "none"
    if sparse.issparse(values):
        return "".join(_digest(part) for part in (values.data, values.indices, values.indptr))
    if values.dtype.kind not in "biufU":
        return str(joblib.hash(values))
    return f"{values.dtype}{values.shape}{crc32(np.ascontiguousarray(values).view(np.uint8).data)}"
