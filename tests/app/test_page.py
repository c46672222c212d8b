"""The page: which two encoders it opens with."""

import pytest

from app.page import default_pair

REFERENCE = ["vicreg-reference", "vicreg_modified-reference"]


def test_where_nothing_was_trained_it_opens_with_the_two_of_the_repository() -> None:
    assert default_pair(REFERENCE) == ("vicreg-reference", "vicreg_modified-reference")


@pytest.mark.parametrize(
    "ids",
    [
        ["info_nce-42", "vicreg-42", "vicreg_modified-42", *REFERENCE],
        [*REFERENCE, "info_nce-42", "vicreg_modified-42", "vicreg-42"],
    ],
)
def test_a_pair_that_the_visitor_trained_comes_first_wherever_it_is_listed(ids: list[str]) -> None:
    assert default_pair(ids) == ("vicreg-42", "vicreg_modified-42")


def test_a_pair_is_of_one_seed() -> None:
    trained = ["vicreg-42", "vicreg_modified-43"]
    assert default_pair([*trained, *REFERENCE]) == tuple(REFERENCE)
    assert default_pair([*trained, "vicreg-43"]) == ("vicreg-43", "vicreg_modified-43")


def test_one_half_of_a_pair_is_not_shown_with_the_half_of_the_repository() -> None:
    assert default_pair(["info_nce-42", "vicreg-42", *REFERENCE]) == tuple(REFERENCE)


def test_without_any_pair_it_opens_with_the_first_and_the_last() -> None:
    assert default_pair(["info_nce-42", "minilm", "vicreg-42"]) == ("info_nce-42", "vicreg-42")
    assert default_pair(["minilm"]) == ("minilm", "minilm")
