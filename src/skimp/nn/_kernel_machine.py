"""A fitted model as a network."""

import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from skimp.estimators import KernelClassifier, KernelRegressor
from skimp.nn._kernel_features import KernelFeatures


def kernel_machine(
    model: KernelClassifier | KernelRegressor, *, trainable: bool = False
) -> nn.Sequential:
    """Return a fitted model as kernel features and a linear layer.

    Its output is the model's ``decision_function``, or its predicted numbers, with a column for
    each column of ``coef_``. With the softmax loss and two classes these are the scores of both.

    Train the network further, or put other layers below it.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        Fitted model of landmarks or Fourier features, with a kernel of `KernelFeatures`.
    trainable : bool, default=False
        Whether landmarks or frequencies are trained, as in `KernelFeatures`. The linear layer
        always is.

    Returns
    -------
    network : torch.nn.Sequential
        `KernelFeatures` and ``torch.nn.Linear``, in the dtype of the training data; in float64 for
        exact models with the squared loss, which need it.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from skimp import KernelClassifier
    >>> from skimp.nn import kernel_machine
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = KernelClassifier("rbf", approximation=50, random_state=0).fit(X, X[:, 0] > X[:, 1])
    >>> network = kernel_machine(model)
    >>> scores = network(torch.from_numpy(X)).detach().numpy()[:, 0]
    >>> bool(np.allclose(scores, model.decision_function(X)))
    True
    """
    if type(model) not in (KernelClassifier, KernelRegressor):
        raise TypeError(
            "kernel_machine: model must be a fitted KernelClassifier or KernelRegressor, found "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    features = KernelFeatures(model.fitted_.basis, trainable=trainable)
    coef = torch.tensor(model.coef_.reshape(features.out_features, -1), dtype=features.form.dtype)
    last = nn.Linear(*coef.shape, dtype=coef.dtype)
    with torch.no_grad():
        last.weight.copy_(coef.mT)
        last.bias.copy_(torch.tensor(model.intercept_))
    return nn.Sequential(features, last)
