import copy
import io
import pickle
from itertools import permutations

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from skimp.features import BilinearPooling
from skimp.nn import CompactBilinearPooling
from tests.pairs import pairwise

METHODS = ["krp", "tensor_sketch", "maclaurin", "full"]
# channels, methods and degrees; with and without second moments, with dense and sparse vectors
FORMS = [
    *((10, method, degree, 40) for method in METHODS for degree in (2, 3)),
    *(((6, 4), method, 2, 40) for method in METHODS),
    *((60, "krp", degree, 40) for degree in (2, 3)),
    ((60, 50), "krp", 2, 40),
    (60, "tensor_sketch", 2, 200),
    ((40, 20), "tensor_sketch", 2, 400),
]


def layer(channels, method, degree, k=40, **options):
    options = {"n_vectors": 50, "seed": 3, **options}
    return CompactBilinearPooling(channels, k, method=method, degree=degree, **options)


def descriptors(channels, n=2, locations=6, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    sizes = [channels] if isinstance(channels, int) else channels
    return [
        torch.randn(n, locations, size, generator=generator, dtype=torch.float64).to(dtype)
        for size in sizes
    ]


def by_locations(pool):
    """Return a copy that computes the functions at each location."""
    pool = copy.deepcopy(pool)
    pool.weights = None
    return pool


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
@pairwise(pooling=["sum", "mean"], signed_sqrt=[False, True], normalize=[False, True])
def test_layer_equals_pooling_of_arrays(
    channels, method, degree, k, pooling, signed_sqrt, normalize
):
    after = {"pooling": pooling, "signed_sqrt": signed_sqrt, "normalize": normalize}
    inputs = descriptors(channels)
    first = channels[0] if isinstance(channels, tuple) else None
    arrays = BilinearPooling(
        k,
        method=method,
        degree=degree,
        first_channels=first,
        n_vectors=50,
        random_state=3,
        **after,
    )
    expected = arrays.fit_transform(torch.cat(inputs, -1).numpy())
    pool = layer(channels, method, degree, k, **after).double()
    assert pool.out_features == expected.shape[1]
    # the vectors of the layer are rounded to single precision
    for form in (pool, by_locations(pool)):
        np.testing.assert_allclose(form(*inputs), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_feature_maps_and_descriptors_are_the_same(channels, method, degree, k):
    inputs = descriptors(channels, dtype=torch.float32)
    maps = [part.mT.unflatten(2, (2, 3)) for part in inputs]
    pool = layer(channels, method, degree, k)
    assert torch.allclose(pool(*maps), pool(*inputs), rtol=1e-4, atol=1e-5)


def test_moments_of_many_channels():
    (X,) = descriptors(300)
    pool = layer(300, "krp", 2, 1000).double()
    assert pool.weights is not None
    assert torch.allclose(pool(X), by_locations(pool)(X))


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
@pytest.mark.parametrize("after", [{}, {"pooling": "mean", "signed_sqrt": True, "normalize": True}])
def test_gradients(channels, method, degree, k, after):
    inputs = [part.requires_grad_() for part in descriptors(channels, locations=3)]
    pool = layer(channels, method, degree, k, **after).double()
    for form in (pool, by_locations(pool)):
        assert torch.autograd.gradcheck(form, inputs, fast_mode=False)
        assert torch.autograd.gradgradcheck(form, inputs, fast_mode=True)


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_written_gradients_are_those_of_autograd(channels, method, degree, k, monkeypatch):
    pool, found = layer(channels, method, degree, k).double(), []
    for gathers in (False, True):
        monkeypatch.setattr("skimp.nn._fixed.SparseMatrix.gathers", gathers)
        inputs = [part.requires_grad_() for part in descriptors(channels)]
        pool(*inputs).sin().sum().backward()
        found.append(torch.cat([part.grad for part in inputs], -1))
    assert torch.allclose(*found, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_gradients_of_functions(channels, method, degree, k):
    inputs = descriptors(channels)
    pool = layer(channels, method, degree, k).double()

    slow_pool = by_locations(pool)

    def of_image(*parts, pool=pool):
        return pool(*(part[None] for part in parts)).sin().sum()

    def of_locations(*parts):
        return of_image(*parts, pool=slow_pool)

    places = tuple(range(len(inputs)))
    found = torch.func.vmap(torch.func.grad(of_image, places))(*inputs)
    given = [part.clone().requires_grad_() for part in inputs]
    pool(*given).sin().sum().backward()
    for part, gradient in zip(given, found, strict=True):
        assert torch.allclose(gradient, part.grad)
    hessian = torch.func.jacrev(torch.func.jacrev(of_image))
    slow = torch.func.jacrev(torch.func.jacrev(of_locations))
    part, others = inputs[0][0], [other[0] for other in inputs[1:]]
    assert torch.allclose(hessian(part, *others), slow(part, *others), rtol=1e-4, atol=1e-4)


def test_the_slope_at_zero_is_finite():
    X = torch.zeros(1, 4, 10, dtype=torch.float64, requires_grad=True)
    layer(10, "krp", 2, signed_sqrt=True).double()(X).sum().backward()
    assert torch.equal(X.grad, torch.zeros_like(X))
    layer(10, "krp", 2, signed_sqrt=True, normalize=True)(X.float()).sum().backward()
    assert X.grad.isfinite().all()


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_seeds(channels, method, degree, k):
    inputs = descriptors(channels, dtype=torch.float32)
    Y = layer(channels, method, degree, k)(*inputs)
    assert torch.equal(layer(channels, method, degree, k)(*inputs), Y)
    other = layer(channels, method, degree, k, seed=4)(*inputs)
    assert torch.equal(other, Y) == (method == "full")


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_another_layer_takes_over_the_state(channels, method, degree, k):
    inputs = descriptors(channels, dtype=torch.float32)
    pool = layer(channels, method, degree, k)
    file = io.BytesIO()
    torch.save(pool.state_dict(), file)
    file.seek(0)
    other = layer(channels, method, degree, k, seed=4)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(*inputs), pool(*inputs))
    assert torch.equal(by_locations(other)(*inputs), by_locations(pool)(*inputs))
    assert not list(pool.parameters())


def test_a_state_of_other_parameters_is_refused():
    pool = layer(10, "krp", 2)
    state = {name: part.clone() for name, part in pool.state_dict().items()}
    for other in (
        layer(10, "krp", 2, 41),
        layer(10, "krp", 2, n_vectors=60),
        layer(10, "krp", 2, n_terms=3),
        layer(10, "tensor_sketch", 2),
        layer(60, "krp", 2),
        layer((4, 6), "krp", 2),
    ):
        X = descriptors(other.channels)
        Y = other.double()(*X)
        for given, taking in ((state, other), (other.state_dict(), pool)):
            with pytest.raises(RuntimeError, match=r"size mismatch|Missing key"):
                taking.load_state_dict(given)
        assert torch.equal(other(*X), Y)


@pytest.mark.parametrize("method", METHODS[:3])
def test_states_of_other_channels_are_refused(method):
    layers = [layer(channels, method, 2) for channels in (12, (6, 6), (3, 9))]
    layers.append(layer(12, method, 2, 30))
    for one, two in permutations(layers, 2):
        with pytest.raises(RuntimeError, match="size mismatch"):
            one.load_state_dict(two.state_dict())


def test_layers_of_few_channels_warn_of_zeros():
    with pytest.warns(UserWarning, match="Decrease sparsity"):
        CompactBilinearPooling(64, 10, sparsity=100)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("krp", "factors"),
        ("krp", "vectors.indices"),
        ("krp", "vectors.indptr"),
        ("maclaurin", "factors"),
        ("tensor_sketch", "buckets"),
    ],
)
def test_states_with_indices_out_of_range_are_refused(method, name):
    pool = layer(60, method, 2)
    Y = pool(torch.ones(1, 1, 60))
    state = {key: part.clone() for key, part in pool.state_dict().items()}
    state[name][-1] += 60_000
    with pytest.raises(RuntimeError, match="out of range"):
        pool.load_state_dict(state)
    assert torch.equal(pool(torch.ones(1, 1, 60)), Y)


@pytest.mark.parametrize("pays", [(True, False), (False, True)])
def test_weights_follow_the_loaded_vectors(pays, monkeypatch):
    (X,) = descriptors(60, dtype=torch.float32)
    pools = []
    for seed, moments in enumerate(pays):
        monkeypatch.setattr("skimp.features._second_moments._pays", lambda *_, m=moments: m)
        pools.append(layer(60, "krp", 2, seed=seed))
    assert [pool.weights is not None for pool in pools] == list(pays)
    pools[0].load_state_dict(pools[1].state_dict())  # under the rule of the second layer
    assert (pools[0].weights is not None) == pays[1]
    assert torch.allclose(pools[0](X), pools[1](X))


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_layers_are_pickled(channels, method, degree, k):
    inputs = descriptors(channels, dtype=torch.float32)
    pool = layer(channels, method, degree, k)
    Y = pool(*inputs)
    other = pickle.loads(pickle.dumps(pool))
    assert torch.equal(other(*inputs), Y)
    other.load_state_dict(layer(channels, method, degree, k, seed=4).state_dict())
    assert torch.equal(other(*inputs), layer(channels, method, degree, k, seed=4)(*inputs))


@pytest.mark.parametrize(("channels", "degree"), [(10, 2), (10, 3), (60, 2), (60, 3)])
def test_a_layer_can_be_moved_and_shared(channels, degree):
    (X,) = descriptors(channels, dtype=torch.float32)
    pool = layer(channels, "krp", degree)
    Y = pool(X)
    assert torch.equal(pool.share_memory()(X), Y)
    # of single precision whatever the dtype of the layer
    assert torch.equal(pool.half()(X), Y)
    assert torch.equal(pool.bfloat16()(X), Y)
    state = pool.state_dict()
    pool.load_state_dict(state)
    assert torch.equal(pool(X), Y)
    empty = layer(channels, "krp", degree, seed=5).to("meta")
    assert empty(X.to("meta")).shape == Y.shape
    empty.load_state_dict(state, assign=True)
    assert torch.equal(empty(X), Y)
    empty.to("meta").to_empty(device="cpu").load_state_dict(state)
    assert torch.equal(empty(X), Y)


def test_weights_are_derived_on_the_device_of_the_layer():
    pool = layer(60, "krp", 2)
    weights = pool.weights.matrix(torch.float32)
    pool.to("meta").hold_weights(weights)
    assert pool(torch.ones(2, 3, 60, device="meta")).device.type == "meta"


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_states_have_integers_that_distributed_training_knows(channels, method, degree, k):
    dtypes = {part.dtype for part in layer(channels, method, degree, k).buffers()}
    assert dtypes <= {torch.float32, torch.int32}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
def test_low_precision(method, low):
    (X,) = descriptors(10, dtype=torch.float32)
    pool, X = layer(10, method, 2), X.to(low).float()
    Y = pool(X)
    assert torch.equal(pool(X.to(low)), Y.to(low))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = pool(X.to(low))
    assert inside.dtype == torch.float32
    assert torch.equal(inside, Y)


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_compiled_and_exported_programs(channels, method, degree, k):
    pool = layer(channels, method, degree, k, signed_sqrt=True, normalize=True)
    inputs = descriptors(channels, n=3, dtype=torch.float32)
    Y = pool(*inputs)
    compiled, found = torch.compile(pool, backend="aot_eager"), []
    for form in (pool, compiled):
        given = [part.clone().requires_grad_() for part in inputs]
        form(*given).sin().sum().backward()
        found.append(torch.cat([part.grad for part in given], -1))
    assert torch.allclose(*found, rtol=1e-3, atol=1e-3 * found[0].abs().max())
    assert torch.allclose(compiled(*inputs), Y, rtol=1e-4, atol=1e-5)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("locations")}
    dynamic = tuple(sizes for _ in inputs)
    # a single optional argument stays None
    dynamic = (*dynamic, None)[:2]
    given = (*inputs, None)[:2]
    program = torch.export.export(pool, given, dynamic_shapes=dynamic).module()
    for n, locations in ((3, 6), (5, 2)):
        inputs = descriptors(channels, n=n, locations=locations, dtype=torch.float32)
        found = program(*(*inputs, None)[:2])
        assert torch.allclose(found, pool(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:::torch", "ignore:::onnxscript", "ignore:::copyreg")
@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_onnx(channels, method, degree, k, tmp_path):
    import onnxruntime

    pool = layer(channels, method, degree, k, signed_sqrt=True, normalize=True).eval()

    def squares(Y):  # a root magnifies the rounding of small numbers
        return Y * np.abs(Y)

    inputs = descriptors(channels, n=3, dtype=torch.float32)
    names = ["X", "other"][: len(inputs)]
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("locations")}
    file = tmp_path / "pool.onnx"
    torch.onnx.export(
        pool,
        tuple(inputs),
        file,
        input_names=names,
        dynamic_shapes=dict.fromkeys(names, sizes),
        dynamo=True,
        verbose=False,
    )
    session = onnxruntime.InferenceSession(file)
    for n, locations in ((3, 6), (5, 2)):
        inputs = descriptors(channels, n=n, locations=locations, dtype=torch.float32)
        fed = {name: part.numpy() for name, part in zip(names, inputs, strict=True)}
        (found,) = session.run(None, fed)
        expected = pool(*inputs).numpy()
        np.testing.assert_allclose(squares(found), squares(expected), rtol=1e-4, atol=1e-5)


def test_the_layer_can_be_copied_and_moved_between_dtypes():
    (X,) = descriptors(10)
    pool = layer(10, "krp", 2)
    assert torch.equal(copy.deepcopy(pool)(X), pool(X))
    assert pool.double()(X).dtype == torch.float64
    assert pool.half()(X.half()).dtype == torch.float16


def test_it_trains_inside_a_network():
    (X,) = descriptors(8, n=40, dtype=torch.float32)
    y = (X[:, :, 0] * X[:, :, 1]).sum(1)
    torch.manual_seed(0)
    pool = layer(4, "krp", 2, 30)
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), pool, torch.nn.Linear(30, 1))
    adam = torch.optim.Adam(network.parameters(), 0.02)
    losses = []
    for _ in range(150):
        adam.zero_grad()
        loss = (network(X).squeeze(1) - y).square().mean()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e14])
def test_normalized_features_are_unit_vectors(scale):
    (X,) = descriptors(10, dtype=torch.float32)
    pool = layer(10, "krp", 2, normalize=True)
    X = (scale * X).requires_grad_()
    Y = pool(X)
    assert torch.allclose(normalize(Y), Y)
    assert torch.allclose(Y, pool(X / scale), atol=1e-6)
    Y[:, 0].sum().backward()
    unit = (X.detach() / scale).requires_grad_()
    pool(unit)[:, 0].sum().backward()
    assert torch.allclose(X.grad * scale, unit.grad, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"in_channels": 0}, ValueError, "in_channels must be"),
        ({"in_channels": (3, 4, 5)}, ValueError, "in_channels must be"),
        ({"out_features": 0}, ValueError, "out_features must be"),
        ({"out_features": None}, ValueError, "out_features must be"),
        ({"method": "mean"}, ValueError, "CompactBilinearPooling: method must be"),
        ({"normalize": 1}, ValueError, "normalize must be"),
        ({"n_vectors": 4}, ValueError, "n_vectors must be more than 4"),
        ({"in_channels": (3, 4), "degree": 3}, ValueError, "degree must be 2 for two inputs"),
        ({"seed": -1}, ValueError, "seed must be"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    arguments = {"in_channels": 10, "out_features": 20, **options}
    with pytest.raises(error, match=message):
        CompactBilinearPooling(**arguments)


def test_bad_inputs_are_refused():
    pool = layer(10, "krp", 2)
    for shape in ((2, 3, 9), (2, 10), (2, 9, 3, 3)):
        with pytest.raises(ValueError, match="expected an input of shape"):
            pool(torch.ones(shape))
    with pytest.raises(TypeError, match=r"found torch\.int64"):
        pool(torch.ones(2, 3, 10, dtype=torch.int64))
    with pytest.raises(ValueError, match="expected 1 of the inputs X and other, found 2"):
        pool(torch.ones(2, 3, 10), torch.ones(2, 3, 10))
    for one, two in (((2, 3, 4), (2, 4, 5)), ((2, 4, 2, 3), (2, 5, 3, 2))):
        with pytest.raises(ValueError, match="same images and locations"):
            layer((4, 5), "krp", 2)(torch.ones(one), torch.ones(two))
    with pytest.raises(ValueError, match="at least one location"):
        pool(torch.ones(2, 0, 10))
    with pytest.raises(TypeError, match="expected a tensor, found ndarray"):
        pool(np.ones((2, 3, 10)))


@pytest.mark.parametrize(("channels", "method", "degree", "k"), FORMS)
def test_no_images(channels, method, degree, k):
    inputs = [part.requires_grad_() for part in descriptors(channels, n=0)]
    pool = layer(channels, method, degree, k).double()
    for form in (pool, by_locations(pool)):
        Y = form(*inputs)
        assert Y.shape == (0, pool.out_features)
        Y.sum().backward()
