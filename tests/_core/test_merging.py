import numpy as np
import pytest

from skimp._core._merging import merge_table
from skimp._core.loops._budgeted import best_weight


@pytest.mark.parametrize("kappa", [0.0, 1e-8, 0.01, 0.1, 0.1353, 0.14, 0.5, 0.9, 0.9999, 1.0])
@pytest.mark.parametrize("a", [1e-9, 0.1, 0.4, 0.499, 0.5, 0.501, 0.6, 1 - 1e-9])
def test_weight_equals_a_search(kappa, a):
    h = np.linspace(0, 1, 100_001)

    def kept(h):
        return a * kappa ** ((1 - h) ** 2) + (1 - a) * kappa ** (h**2)

    found = kept(best_weight(merge_table(), kappa, a, 1 - a))
    assert found == pytest.approx(kept(h).max(), rel=2e-4)
