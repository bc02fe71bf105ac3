"""The certificate of a fitted model."""

from typing import Any

from skimp.choice._cost import Phase
from skimp.estimators._certificate import Certificate, sampled_quality
from skimp.features import Landmarks


def certified(model: Any) -> Certificate:
    """Put together what a fit kept, and what a sample of its rows tells about the basis."""
    X, weight = model._sampled
    quality = sampled_quality(
        model.approximation_, X, weight, model.alpha_, centred=model.fit_intercept
    )
    choice, solution = model._choice, model.solution_
    exact = isinstance(model.approximation_, Landmarks)
    kernel = getattr(model, "kernel_", None)
    return Certificate(
        approximation="exact" if exact else repr(choice.approximation),
        kernel=None if kernel is None else repr(kernel),
        columns=model._columns,
        size=model._basis.width,
        alpha=model.alpha_,
        residual_trace=quality.residual_trace,
        kernel_error=quality.kernel_error,
        effective_dimension=quality.dimension if solution.dimension is None else solution.dimension,
        condition_number=quality.condition_number,
        kernel_evaluations=model._evaluations,
        phases=tuple(
            Phase(name, seconds, model._bytes[name])
            for name, seconds in model._clock.seconds.items()
        ),
        trials=tuple(trial.to_dict() for trial in choice.trials),
        reason=choice.reason,
        solver=solution.message,
    )
