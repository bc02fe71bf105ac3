import re

import pytest

from skimp._params._names import as_object
from skimp.kernels import Gaussian, Kernel
from skimp.losses import Loss, squared


def kernel(value):
    names = {"rbf": "Gaussian", "line": "Linear"}
    return as_object(value, Kernel, names, "skimp.kernels", owner="Model", role="kernel")


def test_an_object_is_returned_as_it_is():
    given = Gaussian(2.0)
    assert kernel(given) is given


def test_the_name_of_a_class_gives_a_new_object():
    assert isinstance(kernel("rbf"), Gaussian)
    assert kernel("rbf") is not kernel("rbf")


def test_the_name_of_an_object_gives_that_object():
    found = as_object("sq", Loss, {"sq": "squared"}, "skimp.losses", owner="Model", role="loss")
    assert found is squared


@pytest.mark.parametrize("value", ["Gaussian", None, Gaussian, 3])
def test_anything_else_is_refused(value):
    message = f"Model: kernel must be a kernel object or one of 'rbf', 'line', got {value!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel(value)
