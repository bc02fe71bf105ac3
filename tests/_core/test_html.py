from xml.etree import ElementTree

import pytest

from skimp._core._html import table

NASTY = ["<script>alert(1)</script>", "a & b", "a < b > c", "\"quoted\" 'text'", "&lt;", "</td>"]


def cells(html, tag):
    return [element.text or "" for element in ElementTree.fromstring(html).iter(tag)]


def test_a_table_of_its_rows():
    html = table(["size", "error"], [["ten", 0.5], ["twenty", 1]], "What was tried")
    root = ElementTree.fromstring(html)
    assert root.tag == "table"
    assert [part.tag for part in root] == ["caption", "thead", "tbody"]
    assert cells(html, "caption") == ["What was tried"]
    assert cells(html, "th") == ["size", "error"]
    assert [[cell.text for cell in row] for row in root.find("tbody")] == [
        ["ten", "0.5"],
        ["twenty", "1"],
    ]


def test_the_first_column_is_text_and_others_are_aligned_right():
    html = table(["a", "b", "c"], [[1, 2, 3], [4, 5, 6]])
    styles = [cell.get("style") for cell in ElementTree.fromstring(html).iter("td")]
    left, right = "text-align: left", "text-align: right"
    assert styles == [left, right, right] * 2


@pytest.mark.parametrize("text", NASTY)
def test_text_is_escaped_wherever_it_is(text):
    html = table([text, "b"], [[text, text]], text)
    assert cells(html, "caption") == [text]
    assert cells(html, "th") == [text, "b"]
    assert cells(html, "td") == [text, text]
    assert "<script" not in html


def test_any_object_is_written_as_its_text():
    class Tag:
        def __str__(self):
            return "<b>"

    assert cells(table(["a", "b"], [[Tag(), None]]), "td") == ["<b>", "None"]
    assert "&lt;b&gt;" in table(["a"], [[Tag()]])


def test_no_caption_and_no_rows():
    html = table(["a"], iter([]))
    assert "caption" not in html
    assert cells(html, "td") == []
    assert cells(html, "th") == ["a"]
