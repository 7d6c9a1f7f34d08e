"""Name rules of StableToolBench: vectors read from its source and measured on its data."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench import naming


@pytest.mark.parametrize(
    ("expected", "raw"),
    [
        ("News_Media", "News, Media"),
        ("Artificial_Intelligence_Machine_Learning", "Artificial Intelligence/Machine Learning"),
        ("A__B", "A,,,B"),
        ("Data", "Data"),
        ("a_B", "a B"),
    ],
)
def test_standardize_category(expected: str, raw: str) -> None:
    """A category keeps its case and loses doubled underscores in one pass only."""
    assert expected == naming.standardize_category(raw)


@pytest.mark.parametrize(
    ("expected", "raw"),
    [
        ("properties_get_broadband", "/properties/get-broadband"),
        ("get_1inch", "1inch"),
        ("a^b", "A^B"),
        ("", "???"),
        ("", ""),
        ("barcode_monster", "barcode.monster"),
        ("天气_x", "天气 X"),
        ("x", "__X__"),
        ("a_b", "a _- b"),
        ("get_2_b", "²2 b"),
    ],
)
def test_standardize(expected: str, raw: str) -> None:
    """A raw name becomes a lower-case identifier; the caret and Chinese characters survive."""
    assert expected == naming.standardize(raw)


@pytest.mark.parametrize("word", ["from", "class", "return", "false", "true", "id", "and"])
def test_change_name_moves_reserved_words(word: str) -> None:
    """Each of the seven reserved words gets the prefix `is_`."""
    assert f"is_{word}" == naming.change_name(word)


@pytest.mark.parametrize("word", ["ids", "ID", "none", "import", ""])
def test_change_name_keeps_other_words(word: str) -> None:
    """Only exact matches are renamed."""
    assert word == naming.change_name(word)


def test_parameter_name_standardises_first() -> None:
    """`ID` is lower-cased before the reserved words are looked at."""
    assert naming.parameter_name("ID") == "is_id"


def test_api_file_name_is_cut_at_its_own_tool() -> None:
    """The current rule cuts a full function name at the tool it was asked for."""
    assert naming.api_file_name("search_for_ott_details", "ott_details") == "search"


def test_api_file_name_keeps_other_for() -> None:
    """The current rule leaves a `_for_` that belongs to the API's own name."""
    assert naming.api_file_name("Get role ids for template", "SignNow") == "get_role_ids_for_template"


def test_old_api_file_name_is_cut_at_any_for() -> None:
    """The rule before 2024-09-10 cuts at the first `_for_`, so two APIs of one tool fall together."""
    assert naming.old_api_file_name("Get role ids for template") == naming.old_api_file_name("Get role ids")


def test_tool_folder_appends_the_category() -> None:
    """A tool folder is the standardised tool name with its category."""
    assert naming.tool_folder("Keyword Analysis", "Data") == "keyword_analysis_for_Data"


def test_tool_folder_with_category_is_kept_as_it_is() -> None:
    """A name that already ends in its category is used unsanitised, as upstream does."""
    assert naming.tool_folder("ISS location_for_Data", "Data") == "ISS location_for_Data"


def test_cut_tool_name_loses_what_follows_for() -> None:
    """The name of the real call is cut at the first `_for_`, even inside the tool's own name."""
    assert naming.cut_tool_name("realtor_data_api_for_real_estate") == "realtor_data_api"


def test_tool_identity() -> None:
    """Category, tool folder and API file name make the identity."""
    expected = "Data/keyword_analysis_for_Data/querykeywords"
    assert expected == naming.tool_identity("Data", "Keyword Analysis", "QueryKeywords")


def test_tool_identity_is_equal_for_standardised_names() -> None:
    """Raw names and the names a client sends lead to one identity."""
    raw = naming.tool_identity("News, Media", "My Tool", "Get x for my tool")
    assert raw == naming.tool_identity("News_Media", "my_tool", "get_x_for_my_tool")


def test_old_tool_identity() -> None:
    """The old rule differs in the API part only."""
    expected = "Business/signnow_for_Business/get_role_ids"
    assert expected == naming.old_tool_identity("Business", "SignNow", "Get role ids for template")


def test_function_name_keeps_the_last_64_characters() -> None:
    """A long function name loses its beginning."""
    name = naming.function_name("a" * 60, "Tool")
    assert name == "a" * 55 + "_for_tool"


def test_function_name_of_short_names() -> None:
    """A short function name is the API name, `_for_` and the tool name."""
    assert naming.function_name("id", "barcode.monster") == "is_id_for_barcode_monster"
