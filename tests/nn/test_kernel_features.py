import copy

import numpy as np
import pytest
import torch
from sklearn.svm import SVC

from skimp import KernelClassifier, KernelRegressor
from skimp.features import Landmarks, Nystroem, RandomBinning, RandomFourier, TensorSketch
from skimp.kernels import Cauchy, Chi2, Gaussian, Laplacian, Linear, Matern, Polynomial
from skimp.nn import KernelFeatures, kernel_machine

X = np.random.default_rng(0).normal(size=(60, 4))
FOURIER = [
    RandomFourier(n_components=20, random_state=0),
    RandomFourier(n_components=21, random_state=0),
    RandomFourier(n_components=21, form="phase", random_state=0),
    RandomFourier(2.0 * Cauchy().on([0, 2]) + Matern(), n_components=21, random_state=0),
    RandomFourier(Laplacian(), n_components=16, sampling="qmc", random_state=0),
    RandomFourier(n_components=20, sampling="structured", random_state=0),
]
LANDMARKS = [
    Nystroem(kernel, budget=15, random_state=0)
    for kernel in (
        Gaussian(0.2),
        Gaussian([0.1, 0, 0.3, 0.2]),
        Laplacian(0.3),
        Cauchy(0.2),
        Matern(0.5),
        Matern(1.5),
        Matern(2.5, gamma=0.3),
        Linear(),
        Polynomial(3, gamma=0.2, coef0=1.5),
    )
] + [Nystroem(budget=15, rank=6, random_state=0)]
MAPS = FOURIER + LANDMARKS


def drawn(part, dtype=np.float64):
    """Return a copy of a map that is fitted to the rows in a dtype."""
    return copy.deepcopy(part).fit(X.astype(dtype))


@pytest.mark.parametrize("part", MAPS, ids=repr)
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_layer_equals_its_map(part, dtype, atol):
    fitted = drawn(part, dtype)
    layer = KernelFeatures(fitted)
    Z = layer(torch.from_numpy(X.astype(dtype)))
    expected = fitted.transform(X.astype(dtype))
    assert Z.numpy().dtype == expected.dtype == dtype
    np.testing.assert_allclose(Z, expected, atol=atol * np.abs(expected).max())
    assert not any(part.requires_grad for part in layer.parameters())


@pytest.mark.parametrize("part", MAPS, ids=repr)
def test_gradients(part):
    layer = KernelFeatures(drawn(part), trainable=True, weighted=isinstance(part, RandomFourier))
    rows = torch.from_numpy(X[:3] + 0.01).requires_grad_()
    parameters = list(layer.parameters())

    def features(rows, *_):
        return layer(rows)

    assert torch.autograd.gradcheck(features, (rows, *parameters), fast_mode=False)


@pytest.mark.parametrize("kernel", [Laplacian(0.3), Matern(0.5), Matern(1.5), Gaussian(0.2)])
def test_gradients_are_finite_at_landmarks(kernel):
    fitted = Nystroem(kernel, budget=60).fit(X)
    rows = torch.from_numpy(X).requires_grad_()
    layer = KernelFeatures(fitted, trainable=True)
    layer(rows).sin().sum().backward()
    assert rows.grad.isfinite().all()
    assert layer.form.columns.points.grad.isfinite().all()


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Cauchy, Matern])
@pytest.mark.parametrize("stretch", [1, [1, 1e4, 1, 10]], ids=["means", "scales"])
def test_raw_columns_lose_no_digits(kernel, stretch):
    rows = ((X + 1e4) * stretch).astype(np.float32)
    fitted = Nystroem(kernel(0.1) if kernel is not Matern else Matern(gamma=0.1), budget=15)
    exact = copy.deepcopy(fitted).fit(rows.astype(float)).landmarks_
    layer = KernelFeatures(Landmarks(exact.kernel, exact.points.astype(np.float32)))
    for form in (layer, KernelFeatures(exact).float()):
        given = torch.from_numpy(rows).requires_grad_()
        found = form(given)
        expected = exact.block(rows.astype(float))
        np.testing.assert_allclose(found.detach().numpy(), expected, atol=2e-4)
        found.sum().backward()
        assert given.grad.isfinite().all()


def test_shapes_and_dtypes():
    layer = KernelFeatures(drawn(FOURIER[0], np.float32))
    rows = torch.from_numpy(X[:12].astype(np.float32))
    Z = layer(rows)
    assert torch.equal(layer(rows.reshape(2, 3, 2, 4)), Z.reshape(2, 3, 2, 20))
    assert torch.equal(layer(rows[0]), Z[0])
    assert layer(rows[:0]).shape == (0, 20)
    low = rows.bfloat16()
    assert torch.equal(layer(low), layer(low.float()))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(layer(low), layer(low.float()))
    assert layer.double()(rows).dtype == torch.float64
    assert layer.bfloat16()(low).dtype == torch.bfloat16


@pytest.mark.parametrize("part", [FOURIER[1], LANDMARKS[0]], ids=repr)
def test_state_goes_to_another_layer(part):
    rows = torch.from_numpy(X)
    layer = KernelFeatures(drawn(part), trainable=True)
    other = KernelFeatures(copy.deepcopy(part).set_params(random_state=1).fit(-X))
    assert not torch.allclose(other(rows), layer(rows))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(rows), layer(rows))
    assert torch.equal(copy.deepcopy(layer)(rows), layer(rows))


@pytest.mark.filterwarnings("ignore:::torch", "ignore:::onnxscript", "ignore:::copyreg")
@pytest.mark.parametrize("part", [FOURIER[1], *LANDMARKS], ids=repr)
def test_programs_and_onnx(part, tmp_path):
    import onnxruntime

    layer = KernelFeatures(drawn(part, np.float32)).eval()
    rows = torch.from_numpy(X.astype(np.float32))
    expected, scale = layer(rows), layer(rows).abs().max()
    compiled = torch.compile(layer, backend="aot_eager")
    assert torch.allclose(compiled(rows), expected, rtol=0, atol=1e-4 * scale)
    batch, file = torch.export.Dim("batch"), tmp_path / "features.onnx"
    program = torch.export.export(layer, (rows[:5],), dynamic_shapes=({0: batch},)).module()
    assert torch.allclose(program(rows), expected, rtol=0, atol=1e-4 * scale)
    shapes = {"X": {0: batch}}
    torch.onnx.export(
        layer, (rows[:5],), file, input_names=["X"], dynamic_shapes=shapes, verbose=False
    )
    (found,) = onnxruntime.InferenceSession(file).run(None, {"X": rows.numpy()})
    np.testing.assert_allclose(found, expected, atol=1e-4 * scale.item())


def best_weights(scores, radius):
    """Return the best weights by brute force over thresholds."""
    scores, found = np.asarray(scores, float), []
    for c in np.linspace(scores.min() - 30 * np.ptp(scores), scores.max(), 200_001)[:-1]:
        kept = np.maximum(scores - c, 0)
        q = kept / kept.mean()
        if (q**2).mean() <= 1 + radius:
            found.append(q)
    return max(found, key=lambda q: q @ scores)


@pytest.mark.parametrize("radius", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("part", FOURIER[:4], ids=repr)
def test_aligned_weights_are_the_best_ones(part, radius):
    fitted = drawn(part)
    layer = KernelFeatures(fitted, weighted=True)
    y = np.sign(X[:, 0] * X[:, 1])
    layer.align(torch.from_numpy(X), torch.from_numpy(y), radius=radius)
    q = layer.gains.detach().numpy() ** 2
    assert (q >= 0).all()
    assert q.mean() == pytest.approx(1)
    assert (q**2).mean() <= 1 + radius + 1e-9
    plain, centred = fitted.transform(X), y - y.mean()
    of_features = (centred @ plain) ** 2
    scores, n = of_features[: len(q)].copy(), plain.shape[1] - len(q)
    scores[:n] += of_features[len(q) :]
    best = best_weights(scores, radius)
    assert q @ scores == pytest.approx(best @ scores, rel=1e-3)
    assert q @ scores >= best @ scores * (1 - 1e-9)
    # alignment of the kernel of the weighted features, by its definition
    Z = layer(torch.from_numpy(X)).detach().numpy()
    assert centred @ Z @ Z.T @ centred == pytest.approx(q @ scores)


def test_weights_of_no_radius_are_equal_and_of_a_large_one_single():
    layer = KernelFeatures(drawn(FOURIER[0]), weighted=True)
    rows, y = torch.from_numpy(X), torch.from_numpy(X[:, 0])
    equal = layer.align(rows, y, radius=0.0).gains.detach().clone()
    assert torch.allclose(equal, torch.ones_like(equal), atol=1e-5)
    single = layer.align(rows, y, radius=1e6).gains
    assert (single > 0).sum() == 1


def test_labels_are_aligned_as_indicators():
    labels = torch.from_numpy(np.digitize(X[:, 0], [-0.5, 0.5]))
    layers = [KernelFeatures(drawn(FOURIER[0]), weighted=True) for _ in range(2)]
    rows = torch.from_numpy(X)
    layers[0].align(rows, 7 - 3 * labels)
    layers[1].align(rows, torch.eye(3, dtype=torch.float64)[labels])
    assert torch.allclose(layers[0].gains, layers[1].gains)


def test_alignment_finds_the_columns_that_matter():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 8))
    y = (np.sin(2 * rows[:, 0]) + 0.3 * rng.normal(size=3000) > 0).astype(int)
    part = RandomFourier(Gaussian(0.3), n_components=2000, random_state=0)
    layer = KernelFeatures(part.fit_width(8), weighted=True)
    rows, y = torch.from_numpy(rows), torch.from_numpy(y)
    q = layer.align(rows, y, radius=5.0).gains.detach().square()
    squares = layer.form.frequencies.detach().square()
    weighted = (squares * q).mean(1) / squares.mean(1)
    assert weighted[0] > 2 * weighted[1:].max()


def test_training_moves_what_is_trainable():
    rows = torch.from_numpy(X)
    for part in (FOURIER[0], LANDMARKS[0]):
        for trainable in (False, True):
            layer = KernelFeatures(drawn(part), trainable=trainable)
            before = copy.deepcopy(layer.state_dict())
            head = torch.nn.Linear(layer.out_features, 1).double()
            adam = torch.optim.Adam([*layer.parameters(), *head.parameters()], 0.01)
            head(layer(rows)).square().sum().backward()
            adam.step()
            moved = [
                name for name, old in before.items() if (layer.state_dict()[name] != old).any()
            ]
            assert bool(moved) == trainable


@pytest.mark.parametrize("y", [X[:, 0] > 0, X[:, 0], X[:, :2]], ids=["two", "numbers", "outputs"])
@pytest.mark.parametrize("approximation", [20, None, RandomFourier(n_components=21), "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fitted_model_becomes_a_network(y, approximation, dtype):
    make = KernelClassifier if y.dtype == bool else KernelRegressor
    rows = X.astype(dtype)
    model = make("rbf", approximation=approximation, loss="squared", random_state=0).fit(rows, y)
    expected = (model.decision_function if y.dtype == bool else model.predict)(rows)
    network = kernel_machine(model)
    found = network(torch.from_numpy(rows)).detach().numpy()
    exact = approximation is None
    assert found.dtype == network[1].weight.numpy(force=True).dtype == (float if exact else dtype)
    scale = np.abs(expected).max()
    atol = (1e-3 if dtype == np.float32 else 1e-9) * scale
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=atol)


@pytest.mark.parametrize("approximation", [Nystroem(budget=60, rank=8), None], ids=repr)
@pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-3), (np.float64, 1e-6)])
def test_a_network_of_landmarks_that_depend_on_others(approximation, dtype, tol):
    rows = np.repeat(X[:20], 3, axis=0).astype(dtype) + dtype(1e-9)
    model = KernelClassifier("rbf", approximation=approximation, random_state=0)
    model.fit(rows, rows[:, 0] > 0)
    found = kernel_machine(model)(torch.from_numpy(X.astype(dtype))).detach().numpy()[:, 0]
    expected = model.decision_function(X.astype(dtype))
    assert found.dtype == expected.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=tol, atol=tol)


def test_models_without_a_layer_are_refused():
    grids = KernelRegressor("laplacian", approximation=RandomBinning(n_grids=8)).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="found RandomBinning"):
        kernel_machine(grids)
    with pytest.raises(ValueError, match="not fitted"):
        kernel_machine(KernelRegressor())
    with pytest.raises(TypeError, match="found SVC"):
        kernel_machine(SVC().fit(X, X[:, 0] > 0))


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e25])
def test_alignment_does_not_depend_on_units_of_targets(shift, scale):
    layers = [KernelFeatures(drawn(FOURIER[0], np.float32), weighted=True) for _ in range(2)]
    rows, y = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(X[:, 0])
    layers[0].align(rows, y)
    layers[1].align(rows, (y + shift) * scale)
    assert torch.allclose(layers[0].gains, layers[1].gains, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X, np.full(60, 0.1), "not all equal"),
        (X, np.zeros(60, int), "not all equal"),
        (X, np.where(np.arange(60) == 3, np.nan, X[:, 0]), "finite targets"),
        (np.where(X > 2, np.inf, X), X[:, 0], "NaN or infinity in X"),
        (X, X[:9, 0], r"found \(60, 4\) and \(9,\)"),
        (X[None], X[:1, 0], r"found \(1, 60, 4\)"),
        (X[:0], X[:0, 0], r"found \(0, 4\)"),
    ],
)
def test_bad_data_for_alignment_are_refused(rows, y, message):
    layer = KernelFeatures(drawn(FOURIER[0]), weighted=True)
    with pytest.raises(ValueError, match=message):
        layer.align(torch.from_numpy(rows), torch.from_numpy(y))
    assert (layer.gains == 1).all()


@pytest.mark.parametrize(
    ("part", "options", "error", "message"),
    [
        (TensorSketch().fit(X), {}, TypeError, "found TensorSketch"),
        (Nystroem(Chi2()).fit(np.abs(X)), {}, ValueError, "kernel must be one of"),
        (Nystroem(Matern(1.7)).fit(X), {}, ValueError, r"nu = 0\.5, 1\.5 or 2\.5"),
        (Nystroem().fit(X), {"weighted": True}, ValueError, "weighted requires RandomFourier"),
        (Nystroem(), {}, ValueError, "not fitted"),
        (Nystroem().fit(X), {"trainable": 2}, ValueError, "trainable must be"),
    ],
)
def test_bad_maps_are_refused(part, options, error, message):
    with pytest.raises(error, match=message):
        KernelFeatures(part, **options)


def test_bad_inputs_are_refused():
    layer = KernelFeatures(drawn(FOURIER[0]), weighted=True)
    with pytest.raises(ValueError, match="4 columns"):
        layer(torch.ones(2, 3))
    with pytest.raises(ValueError, match="4 columns"):
        layer(torch.tensor(1.0))
    with pytest.raises(TypeError, match="expected a tensor, found ndarray"):
        layer(X)
    with pytest.raises(ValueError, match="radius must be"):
        layer.align(torch.ones(2, 4), torch.ones(2), radius=-1.0)
    with pytest.raises(ValueError, match="requires weighted=True"):
        KernelFeatures(drawn(FOURIER[0])).align(torch.ones(2, 4), torch.ones(2))
