import pytest

from skimp import kernels
from skimp.testing import check_kernel
from tests.catalog import KERNELS, parts


@pytest.mark.parametrize(("kernel", "options"), KERNELS)
def test_kernel(kernel, options):
    check_kernel(kernel, **options)


@pytest.mark.parametrize("kernel", parts(KERNELS), ids=repr)
def test_repr_is_the_call_that_makes_the_kernel(kernel):
    made = eval(repr(kernel), vars(kernels).copy())
    assert type(made) is type(kernel)
    assert made.get_params() == kernel.get_params()


def test_every_kernel_has_a_row():
    public = {name for name in kernels.__all__ if name not in {"Kernel", "as_kernel"}}
    assert public == {type(kernel).__name__ for kernel in parts(KERNELS)}
