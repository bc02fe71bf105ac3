from dataclasses import dataclass

from skimp._core._lines import Lined, cut, span


@dataclass(frozen=True, repr=False)
class Record(Lined):
    size: int

    def _lines(self):
        return [("size", f"{self.size}"), ("a long name", "<text>")]


def test_texts_are_aligned():
    assert repr(Record(3)) == str(Record(3)) == "size         3\na long name  <text>"


def test_a_notebook_shows_a_table():
    html = Record(3)._repr_html_()
    assert html.startswith("<table>")
    assert "Record" in html
    assert "&lt;text&gt;" in html


def test_long_lists_are_cut():
    lines = [(f"{i}", "") for i in range(12)]
    assert cut(lines[:10], "to_frame()") == lines[:10]
    assert cut(lines, "to_frame()") == [*lines[:10], ("...", "2 more, see to_frame()")]


def test_spans():
    assert span([0.1234, 5, 3]) == "3, from 0.123 to 5"
    assert span([1200], ",") == "1,200"
