import pickle
from inspect import isabstract

import pytest

from skimp import kernels
from skimp.kernels import Kernel
from skimp.testing import check_kernel
from tests.catalog import KERNELS, parts
from tests.reference import naive


@pytest.mark.parametrize(("kernel", "options"), KERNELS)
def test_kernel(kernel, options):
    check_kernel(kernel, **options)


def test_a_pickle_is_equal_and_repr_is_the_call_that_makes_the_kernel():
    for kernel in parts(KERNELS):
        copied = pickle.loads(pickle.dumps(kernel))
        assert copied == kernel
        assert hash(copied) == hash(kernel)
        if isinstance(kernel, kernels.Precomputed):
            assert repr(kernel) == "Precomputed(<array of shape (40, 40)>)"
        else:
            assert eval(repr(kernel), {**vars(kernels), **vars(naive)}) == kernel


def test_every_kernel_has_a_row():
    exported = {name: getattr(kernels, name) for name in kernels.__all__}
    public = {
        name
        for name, kind in exported.items()
        if isinstance(kind, type) and issubclass(kind, Kernel) and not isabstract(kind)
    }
    in_rows = set()
    waiting = parts(KERNELS)
    while waiting:
        kernel = waiting.pop()
        in_rows.add(type(kernel).__name__)
        waiting += [p for p in kernel.get_params(deep=False).values() if isinstance(p, Kernel)]
    assert public == in_rows
