import numpy as np
import pytest

from skimp.data import ArrayRows
from skimp.losses import hinge
from skimp.solvers._dual_rows import BlockFacts, KeptFacts
from tests.duals import data


@pytest.mark.parametrize("weighted", [True, False])
def test_facts_of_blocks_are_those_that_are_kept(weighted):
    X, Y, weight = data(hinge)
    rows = ArrayRows(X, Y, weight if weighted else None, block_rows=32)
    weight = weight if weighted else np.ones(80)
    for facts in (KeptFacts(80, 3, rows.dtype), BlockFacts(rows.dtype)):
        for block in rows.blocks():
            given, own, Q = facts.see(block)
            part = slice(block.start, block.start + block.size)
            assert np.array_equal(given, Y[part])
            assert np.array_equal(own, weight[part])
            np.testing.assert_allclose(Q, np.sum(X[part] ** 2, axis=1))
        norms = np.sum(X**2, axis=1)
        found = facts.settle(0.05, weight.sum(), weight @ norms)
        np.testing.assert_allclose(found, (weight.sum(), weight @ norms / weight.sum()))
        facts.add_to_norms(2.5)
        for block in rows.blocks():
            part = slice(block.start, block.start + block.size)
            given, C = facts.targets(block)
            assert np.array_equal(given, Y[part])
            np.testing.assert_allclose(C, weight[part] / (2 * 0.05 * weight.sum()))
            np.testing.assert_allclose(facts.norms(block), norms[part] + 2.5)
