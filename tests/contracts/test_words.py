import re

import pytest

from tests.repository import PACKAGE, ROOT

TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "decisions").glob("*.md"),
    *(ROOT / "examples").glob("*.py"),
    *PACKAGE.rglob("*.py"),
    *PACKAGE.rglob("*.md"),
]
PATTERNS = {
    r"\b(tells?|told)\b": "say, show or distinguish",
    r"\bin the place of\b": "instead of",
    r"(?<!here )\b(is|are) no (?!(longer|more|less|\w+er)\b)": "is not a",
    r"(?<!thing )\belse[.;]": "otherwise",
    r"\bof (its|their|your) own\b": "its own, separate",
    r"\bas (it|they) comes?\b": "unchanged",
    r"(?<!, )\bso many\b": "this many",
    r"\bat that\b[.,;]": "delete",
    r"\bwhere (there (is|are)|not|possible|given)\b": "if",
    r"\bbut for\b": "except",
    r"\bby way of\b": "by",
    r"\bever more\b": "increasingly",
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_plain_words(pattern):
    found = [
        f"{path.relative_to(ROOT)}: {match[0]!r}, write: {PATTERNS[pattern]}"
        for path in TEXTS
        for match in re.finditer(pattern, path.read_text(), re.I)
    ]
    assert not found, "\n".join(found)
