"""Sphinx configuration; the site builds without network access."""

from importlib.metadata import version as installed_version

project = "skimp"
author = "skimp developers"
copyright = "2026, skimp developers"
release = version = installed_version("skimp")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
default_role = "py:obj"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/*.py", "gallery/*.ipynb"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "show_memory": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"skimp {release}"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {
    page: []
    for page in (
        "index",
        "install",
        "guide",
        "choosing",
        "kernels",
        "losses_and_solvers",
        "streams",
        "budgets",
        "features",
        "projections",
        "online",
        "labels",
        "effects",
        "networks",
        "methods",
        "add_a_kernel",
    )
}
