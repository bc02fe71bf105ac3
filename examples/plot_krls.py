"""
What does it do, for whom, and how sure are we?
===============================================

442 people with diabetes were examined, and a year later the progression of their disease was
measured. What does the body mass index do to it? A linear model has one number to answer with.
Kernel regularized least squares has one for each person, and says how sure it is of their average.
"""

# %%
# The question, and a first answer
# --------------------------------
#
# Ten columns: age, sex, body mass index, blood pressure, and six blood tests. In a linear model,
# each has one slope.

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
tests = {"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "tc/hdl", "s5": "log tg"}
X = X.rename(columns=tests | {"s6": "glucose"})
linear = LinearRegression().fit(X, y)
print(dict(zip(X.columns, linear.coef_.round(2).tolist(), strict=True)))

# %%
# Average effects, with their uncertainty
# ---------------------------------------
#
# `KRLS` scales the columns and chooses its penalty by leaving out people one by one. Its table is
# read like that of any regression: one unit more of body mass index goes with so many units more of
# progression, on average over the people. ``sex`` has two values, and its effect is the difference
# between them.

from skimp import KRLS

model = KRLS().fit(X, y)
summary = model.summary(errors="robust")
print(summary)

# %%
# The penalty shrinks averages. ``effect`` is corrected for it, and its standard error, t, p and
# interval belong to it; ``mean`` is the plain average over the people. Columns have units of their
# own, so we draw effects of a standard deviation each. The grey bars show something else: the
# middle half of the people, who differ even if intervals are narrow.

import matplotlib.pyplot as plt

from skimp.report import EffectsDisplay

display = EffectsDisplay(model, summary)
display.plot(standardized=True)
plt.show()

# %%
# For whom?
# ---------
#
# Each person has effects of their own. Those of the body mass index are nearly all positive, and
# twice as large for some as for others.

display.plot_distributions()
plt.show()

# %%
# Who are those with a large effect? Against blood pressure, it rises: where one is high, the other
# does more harm.

_, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
display.plot_heterogeneity("bmi", "bp", axes[0])
display.plot_heterogeneity("bmi", "log tg", axes[1])
plt.show()

# %%
# Is that more than chance? The interaction of two columns is the change of one effect with the
# other column, and it has a standard error as well. We look at a few pairs, and keep in mind that
# one in twenty will seem to be there by chance.

pairs = [("bmi", "bp"), ("bmi", "log tg"), ("bmi", "age"), ("bmi", "sex"), ("age", "sex")]
for first, second in pairs:
    found = model.interaction(first, second, errors="robust")
    print(f"{found.names[0]:14} {found.effect[0]:9.4f}  t {found.t[0]:5.2f}  p {found.p[0]:.3f}")

# %%
# A picture for the paper
# -----------------------
#
# What is expected along one column, for a person who is typical otherwise. Bands are wide where
# there are few people.

_, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for ax, name in zip(axes, ("bmi", "bp", "sex"), strict=True):
    display.plot_expectation(name, ax)
    ax.set_ylabel("expected progression")
plt.show()

# %%
# Averages can be taken over any group: the effect of the body mass index below and above 50 years.

for label, part in {"up to 50": X[X.age <= 50], "above 50": X[X.age > 50]}.items():
    row = model.summary(part, errors="robust").to_frame().loc["bmi"]
    print(f"{label}: {row.effect:.2f}, interval {row.ci_low:.2f} to {row.ci_high:.2f}")

# %%
# When there are many rows
# ------------------------
#
# The exact model takes the memory of an n x n matrix. An approximation fits all rows with few
# points: the answer is the same to a fraction of a standard error. A million rows take a minute.

from skimp.features import Nystroem

fewer = Nystroem(budget=88, selector="kmeans")
reduced = KRLS(approximation=fewer, random_state=0).fit(X, y).summary(errors="robust")
difference = abs(reduced.effect - summary.effect) / summary.std_error
print(f"a fifth of the points: averages differ by {difference.max():.2f} standard errors at most")
