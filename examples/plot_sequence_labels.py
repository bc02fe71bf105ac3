"""
Labels of sequences
===================

A word is easier to read than its letters one by one, because some letters follow each other more
often than others. `~skimp.StructuredSVM` learns the images of letters and their order together. It
needs a joint feature map of a word and its labels, a cost of wrong labels, and a search for the
best labels, which is dynamic programming here.
"""

# %%
# The letters are scikit-learn's images of the ten digits, with noise. In a word, each digit is
# followed by one of three others, mostly by the first of them. Words have 4 to 8 digits. Training
# and test words use different images.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skimp import StructuredSVM
from skimp.estimators import JointMap
from skimp.features import RandomFourier
from skimp.kernels import Gaussian

INK, FAINT, RED = "#333333", "#9a9a9a", "#c8443c"
plt.rcParams.update(
    {
        "figure.dpi": 130,
        "font.size": 9.5,
        "axes.titlesize": 10.5,
        "axes.edgecolor": FAINT,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)
rng = np.random.default_rng(0)
followers = np.array([rng.permutation(10)[:3] for _ in range(10)])


def make_words(images, digits, n_words):
    """Return images and labels of words."""
    X, y = [], []
    for _ in range(n_words):
        labels = [rng.integers(10)]
        for _ in range(rng.integers(3, 8)):
            labels.append(rng.choice(followers[labels[-1]], p=[0.6, 0.25, 0.15]))
        chosen = [rng.choice(np.flatnonzero(digits == label)) for label in labels]
        X.append(images[chosen] + 0.3 * rng.normal(size=(len(labels), 64)))
        y.append(np.array(labels))
    return X, y


images, digits = load_digits(return_X_y=True)
parts = train_test_split(images / 16, digits, random_state=0, stratify=digits)
X, y = make_words(parts[0], parts[2], 300)
X_test, y_test = make_words(parts[1], parts[3], 300)

# %%
# The joint features of a word and its labels are, for each label, the sum of the images with this
# label, and for each pair of labels, the number of times that one follows the other. The score
# of a labelling is a sum over places and pairs of neighbours, so that Viterbi's algorithm finds the
# best one in time proportional to the length of the word. For training, each wrong label adds its
# cost of 1 to the score of its place.


class Chain(JointMap):
    """Sums of rows for each label, and counts of pairs of neighbours."""

    def start(self, X, y):
        self.n_labels_ = 1 + max(labels.max() for labels in y)
        self.n_columns_ = X[0].shape[1]
        return self.n_labels_ * (self.n_columns_ + self.n_labels_)

    def features(self, x, y):
        places = (y == np.arange(self.n_labels_)[:, None]).astype(float)
        return np.hstack([places @ x, places[:, :-1] @ places[:, 1:].T]).ravel()

    def cost(self, y, other):
        return np.sum(y != other)

    def best(self, x, w, y=None):
        W = w.reshape(self.n_labels_, -1)
        scores, pairs = x @ W[:, : self.n_columns_].T, W[:, self.n_columns_ :]
        if y is not None:
            scores += y[:, None] != np.arange(self.n_labels_)
        total, origins = scores[0], []
        for row in scores[1:]:
            reached = total[:, None] + pairs
            origins.append(reached.argmax(axis=0))
            total = reached.max(axis=0) + row
        labels = [total.argmax()]
        for origin in reversed(origins):
            labels.append(origin[labels[-1]])
        return np.array(labels[::-1])


# %%
# Four models are compared: with and without the order of the digits, on the pixels and on random
# features of a Gaussian kernel. The features do not depend on the labels, so they are computed once
# for all digits. Without the order, each digit is a separate item, with the default joint map of
# ordinary classes. The penalties are those with the lowest error on held-out training words.

fourier = RandomFourier(Gaussian("median"), n_components=500, random_state=0).fit(np.vstack(X))


def errors(prepare, *, order, alpha):
    """Fit a model to prepared words; return it, its labels of the test words, and its error."""
    words, test = [prepare(x) for x in X], [prepare(x) for x in X_test]
    if order:
        model = StructuredSVM(Chain(), alpha=alpha, tol=0.02).fit(words, y)
        found = model.predict(test)
    else:
        model = StructuredSVM(alpha=alpha, tol=0.02).fit(np.vstack(words), np.concatenate(y))
        found = [model.predict(x) for x in test]
    wrong = np.concatenate(found) != np.concatenate(y_test)
    return model, found, 100 * wrong.mean()


def pixels(x):
    return x


results = {
    "pixels, digit by digit": errors(pixels, order=False, alpha=1e-2),
    "kernel features, digit by digit": errors(fourier.transform, order=False, alpha=1e-3),
    "pixels, whole words": errors(pixels, order=True, alpha=3e-2),
    "kernel features, whole words": errors(fourier.transform, order=True, alpha=1e-3),
}
for name, (model, _, error) in results.items():
    print(f"{name}: {error:.1f} % of the digits are wrong ({model.solution_.message})")

# %%
# The order of the digits halves the error. The kernel lowers it further, if it is used together
# with the order. The plots show words in which the kernel model without the order goes wrong, with
# mistakes in red, and the coefficients of all pairs, which are large for pairs that occur.

found = {name: labels for name, (_, labels, _) in results.items()}
shown = [
    i
    for i, labels in enumerate(y_test)
    if len(labels) == 7 and np.sum(found["kernel features, digit by digit"][i] != labels) > 1
][:4]
fig = plt.figure(figsize=(10, 5))
left = fig.add_gridspec(len(shown), 7, left=0.1, right=0.5, top=0.88, bottom=0.1, hspace=0.75)
for row, i in enumerate(shown):
    for place in range(7):
        ax = fig.add_subplot(left[row, place])
        ax.imshow(X_test[i][place].reshape(8, 8), cmap="Greys", vmin=-0.5, vmax=1.5)
        ax.axis("off")
        for below, kind in ((-0.3, "digit by digit"), (-0.6, "whole words")):
            label = found[f"kernel features, {kind}"][i][place]
            color = INK if label == y_test[i][place] else RED
            ax.text(0.5, below, label, color=color, ha="center", transform=ax.transAxes)
            if place == 0:
                about = {"ha": "right", "color": FAINT, "fontsize": 8}
                ax.text(-0.15, below, kind, transform=ax.transAxes, **about)
fig.text(0.1, 0.93, "Test words, and labels of the models with kernel features", fontsize=10.5)

upper = fig.add_axes([0.74, 0.66, 0.2, 0.22])
names = list(results)[::-1]
bars = upper.barh(names, [results[name][2] for name in names], color=["#2166ac", "#9cc0de"] * 2)
upper.bar_label(bars, fmt="%.1f", padding=3)
upper.set_title("Wrong test digits in %", loc="left")
upper.xaxis.set_visible(False)
upper.spines["bottom"].set_visible(False)

lower = fig.add_axes([0.7, 0.1, 0.28, 0.42])
W = results["kernel features, whole words"][0].coef_.reshape(10, -1)[:, -10:]
lower.imshow(W, cmap="RdBu_r", vmin=-np.abs(W).max(), vmax=np.abs(W).max())
lower.scatter(followers.ravel(), np.repeat(np.arange(10), 3), s=9, c=INK)
lower.set(xticks=range(10), yticks=range(10), xlabel="next digit", ylabel="digit")
lower.set_title("Coefficients of pairs: red is positive,\ndots are pairs that occur", loc="left")
plt.show()

# %%
# The log loss gives probabilities of labels instead of margins, a conditional random field. It
# needs one more method of the map, ``expected``. See `~skimp.estimators.JointMap`.
