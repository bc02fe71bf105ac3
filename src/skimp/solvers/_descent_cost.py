"""What a descent costs: its steps, the products of each, and the preconditioner."""

from skimp._core._work import MapCost, Size, Stage, Work, factor, gemm, stream
from skimp.losses import Loss, Squared, SquaredHinge
from skimp.solvers._costs import count_iterations, outline_of, pass_work, row_bytes
from skimp.solvers._descent import SMALL, SUMMED, least_bytes
from skimp.solvers._preconditioner import CHUNK


def descent_cost(
    mapped: MapCost, size: Size, loss: Loss, *, tol: float, usual_tol: float, max_iter: int
) -> Stage:
    """Return the stage of a descent; see `Solver.cost`."""
    outline = outline_of(mapped, size)
    n, k, D = size.n_rows, size.n_outputs, mapped.width
    itemsize, summed = mapped.dtype.itemsize, 8 if mapped.landmarks else mapped.dtype.itemsize
    sampled = min(n, outline.sample_size)
    # targets, predictions, curvature, those of another point, and losses
    held: float = (3 * itemsize + 6 * summed) * n * k + 8 * n
    steps, inner, curved = _newton_steps(loss, k, mapped.landmarks)
    steps = count_iterations(steps, tol, usual_tol, max_iter)
    products = steps * inner
    matrix = Work()
    if outline.wide:
        held += (64 * k + 16) * D
    else:
        matrix, more = _preconditioned(mapped, size, loss, sampled, steps, curved)
        held += more + sampled * D * itemsize
    keeping = n * row_bytes(mapped)
    kept = keeping + least_bytes(outline, k) <= size.memory
    blocks = size.threads * (outline.block_rows * row_bytes(mapped) + mapped.scratch)
    held += keeping if kept else blocks
    passes = steps + 1
    if n > max(SMALL, 2 * sampled):
        # the same steps on the sample first, which is in memory, and rougher
        passes += sampled / n * steps
        products *= 1 + 0.5 * sampled / n
        matrix *= 1.5
    work = passes * pass_work(mapped, size, exact=True) + products * pass_work(mapped, size, curved)
    if not outline.wide:
        # triangular solves with one column after the other
        work += products * factor(8 * D**2 * k)
    mappings = 1.0 if kept else 1 + passes + products
    work += mappings * mapped.mapping + stream(2 * keeping) + matrix
    return Stage("solve", work, mapped.held + held)


def _newton_steps(loss: Loss, k: int, landmarks: bool) -> tuple[float, float, float]:
    """Return steps of a descent, products of each, and the share of predictions that are curved.

    Seen: 3 steps and 4 to 17 products for the squared loss in random features; for others in
    landmarks 4 to 11 steps with 7 to 13 products each, 4 to 7 with 2 to 6 in features. Of the
    squared hinge loss 6 % of ten outputs and 11 to 63 % of one were curved.
    """
    if isinstance(loss, Squared):
        return 3, (7 if landmarks else 2), 1.0
    steps = 5 if k == 1 else 8
    curved = 0.4 / k if isinstance(loss, SquaredHinge) else 1.0
    many = 9 if k == 1 else 12
    return steps, many if landmarks else 3, curved


def _preconditioned(
    mapped: MapCost, size: Size, loss: Loss, sampled: int, steps: float, curved: float
) -> tuple[Work, float]:
    """Return the work and the bytes of the preconditioner."""
    n, k, t, D, dtype = size.n_rows, size.n_outputs, size.threads, mapped.width, mapped.dtype
    itemsize = dtype.itemsize
    # rows that are chosen, and times roots of their weights; a sum and the one before
    chunk = 2 * CHUNK * D * itemsize + 2 * itemsize * D**2
    if not mapped.landmarks:
        work = steps * (gemm(sampled * curved * D**2, dtype) + factor(D**3 / 3, dtype))
        return work, t * chunk + (8 + itemsize) * D**2
    work = factor(D**3 * 2 / 3) + 2 * factor(D**3 / 3, dtype)
    held = (16 + 2 * itemsize) * D**2
    if isinstance(loss, Squared) or k == 1:
        return work, held
    # some sums over rows, in other coordinates, for all outputs; and once in a fit, each of several
    # gets a factor of its own
    work += 3 * (gemm(3 * min(n, SUMMED * D) * D**2, dtype) + factor(D**3 / 3, dtype))
    work += k / min(k, t) * gemm(t * n * curved * D**2, dtype) + k * factor(2 * D**3)
    return work, held + k * itemsize * D**2 + min(k, t) * (chunk + 8 * D**2)
