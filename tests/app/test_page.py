"""The page: which two encoders it opens with."""

import pytest

from app.page import default_pair

REFERENCE = ["vicreg-reference", "vicreg_modified-reference"]
TRAINED = ["vicreg-42", "vicreg_modified-42"]


@pytest.mark.parametrize(
    ("ids", "pair"),
    [
        pytest.param(REFERENCE, REFERENCE, id="the repository's where nothing was trained"),
        pytest.param(["info_nce-42", *TRAINED, *REFERENCE], TRAINED, id="the visitor's first"),
        pytest.param([*REFERENCE, "mpt-42", *TRAINED[::-1]], TRAINED, id="wherever it is listed"),
        pytest.param(
            ["vicreg-42", "vicreg_modified-43", *REFERENCE], REFERENCE, id="never of two seeds"
        ),
        pytest.param(["vicreg-41", *TRAINED, *REFERENCE], TRAINED, id="of the seed that both have"),
        pytest.param(["mpt-42", "vicreg-42", *REFERENCE], REFERENCE, id="never half of one"),
        pytest.param(
            ["mpt-42", "minilm", "vicreg-42"], ["mpt-42", "vicreg-42"], id="else the first and last"
        ),
        pytest.param(["minilm"], ["minilm", "minilm"], id="an only one twice"),
    ],
)
def test_it_opens_with_a_pair_of_one_seed(ids: list[str], pair: list[str]) -> None:
    assert default_pair(ids) == tuple(pair)
