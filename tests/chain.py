"""Sequences of labels: a joint map with the algorithms of Viterbi and of forward and backward."""

import numpy as np
from scipy.special import logsumexp

from skimp.estimators import JointMap


class Chain(JointMap):
    """Sums of rows for each label, and counts of pairs of neighbours; wrong labels cost 1 each."""

    def start(self, X, y):
        self.k_, self.d_ = 1 + max(map(max, y)), len(X[0][0])
        return self.k_ * (self.d_ + self.k_)

    def features(self, x, y):
        rows, pairs = np.zeros((self.k_, self.d_)), np.zeros((self.k_, self.k_))
        np.add.at(rows, y, x)
        np.add.at(pairs, (y[:-1], y[1:]), 1)
        return np.concatenate([rows.ravel(), pairs.ravel()])

    def cost(self, y, other):
        return float(np.sum(y != other))

    def tables(self, x, w):
        """Return the scores of labels at each place, and those of pairs."""
        rows, pairs = np.split(w, [self.k_ * self.d_])
        return x @ rows.reshape(self.k_, self.d_).T, pairs.reshape(self.k_, self.k_)

    def best(self, x, w, y=None):
        places, pairs = self.tables(x, w)
        if y is not None:
            places = places + (np.arange(self.k_) != y[:, None])
        total, back = places[0], []
        for scores in places[1:]:
            sums = total[:, None] + pairs
            back.append(sums.argmax(axis=0))
            total = sums.max(axis=0) + scores
        path = [int(total.argmax())]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        return np.array(path[::-1])

    def expected(self, x, w):
        places, pairs = self.tables(x, w)
        ahead, behind = places.copy(), np.zeros_like(places)
        for i in range(1, len(x)):
            ahead[i] += logsumexp(ahead[i - 1][:, None] + pairs, axis=0)
        for i in range(len(x) - 2, -1, -1):
            behind[i] = logsumexp(pairs + places[i + 1] + behind[i + 1], axis=1)
        whole = logsumexp(ahead[-1])
        single = np.exp(ahead + behind - whole)
        double = np.zeros_like(pairs)
        for i in range(len(x) - 1):
            after = places[i + 1] + behind[i + 1]
            double += np.exp(ahead[i][:, None] + pairs + after - whole)
        return float(whole), np.concatenate([(single.T @ x).ravel(), double.ravel()])


def sequences(n, *, k=3, d=4, seed=0):
    """Return sequences of rows of different lengths, and labels that depend on the neighbours."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = np.cumsum(rng.integers(0, 2, rng.integers(2, 5))) % k
        y.append(labels)
        X.append(np.eye(k, d)[labels] + rng.normal(size=(len(labels), d)))
    return X, y
