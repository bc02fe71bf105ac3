"""
Effects of each column, with standard errors
============================================

How does the body mass index affect the progression of diabetes? In a linear model the answer is
one number. Kernel regularized least squares (`KRLS`) estimates an effect for each person, and the
average with a standard error. The data are 442 patients, with a measure of progression one year
later.
"""

# %%
# A linear model first
# --------------------
# There are ten columns: age, sex, body mass index, blood pressure and six blood tests. In a linear
# model, each has one slope.

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
tests = {"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "tc/hdl", "s5": "log tg"}
X = X.rename(columns=tests | {"s6": "glucose"})
linear = LinearRegression().fit(X, y)
print(dict(zip(X.columns, linear.coef_.round(2).tolist(), strict=True)))

# %%
# Average effects
# ---------------
# `KRLS` standardizes the columns and chooses the penalty by leave-one-out. Its table is read like
# a regression table: ``effect`` is the average change of progression for one unit more of a
# column. ``sex`` has two values, and its effect is the difference between them.

from skimp import KRLS

model = KRLS().fit(X, y)
summary = model.summary(errors="robust")
print(summary)

# %%
# The penalty shrinks averages. ``effect`` is corrected for this, and its standard error, t, p and
# interval refer to the corrected average; ``mean`` is the plain average. To compare columns with
# different units, the plot shows effects of one standard deviation. The grey bars show the middle
# half of the patients.

import matplotlib.pyplot as plt

from skimp.report import EffectsDisplay

display = EffectsDisplay(model, summary)
display.plot(standardized=True)
plt.show()

# %%
# Effects vary between patients
# -----------------------------
# Nearly all effects of the body mass index are positive. For some patients they are twice as large
# as for others.

display.plot_distributions()
plt.show()

# %%
# The effect of the body mass index increases with blood pressure.

_, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
display.plot_heterogeneity("bmi", "bp", axes[0])
display.plot_heterogeneity("bmi", "log tg", axes[1])
plt.show()

# %%
# The interaction of two columns is the average change of one effect with the other column, with a
# standard error. If you test twenty pairs without an interaction, one has p < 0.05 on average.

pairs = [("bmi", "bp"), ("bmi", "log tg"), ("bmi", "age"), ("bmi", "sex"), ("age", "sex")]
for first, second in pairs:
    found = model.interaction(first, second, errors="robust")
    print(f"{found.names[0]:14} {found.effect[0]:9.4f}  t {found.t[0]:5.2f}  p {found.p[0]:.3f}")

# %%
# Expected outcomes
# -----------------
# The expected progression along one column, for a patient with typical values in the other
# columns. The bands are wide in regions with few patients.

_, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for ax, name in zip(axes, ("bmi", "bp", "sex"), strict=True):
    display.plot_expectation(name, ax)
    ax.set_ylabel("expected progression")
plt.show()

# %%
# Averages can be computed for any group, here for patients up to 50 years and above.

for label, part in {"up to 50": X[X.age <= 50], "above 50": X[X.age > 50]}.items():
    row = model.summary(part, errors="robust").to_frame().loc["bmi"]
    print(f"{label}: {row.effect:.2f}, 95 % interval {row.ci_low:.2f} to {row.ci_high:.2f}")

# %%
# Many rows
# ---------
# The exact model needs the memory of an n x n matrix. With landmarks, all rows are fitted with
# fewer basis functions, and the effects differ by a fraction of a standard error. A million rows
# take about a minute.

from skimp.features import Nystroem

fewer = Nystroem(budget=88, selector="kmeans")
reduced = KRLS(approximation=fewer, random_state=0).fit(X, y).summary(errors="robust")
difference = abs(reduced.effect - summary.effect) / summary.std_error
print(f"88 landmarks: effects differ by at most {difference.max():.2f} standard errors")
