"""Names of files on the hub; what happens to them is tested with those who fetch them."""

from __future__ import annotations

import pytest

from pipeline.data.hub import fetch, is_file
from pipeline.machine.errors import InputError


@pytest.mark.parametrize("name", ["owner/name/file.txt", "owner/name/a/b/file.tar"])
def test_a_file_of_a_data_set_is_one(name: str) -> None:
    assert is_file(f"hf://datasets/{name}")


@pytest.mark.parametrize(
    "name",
    ["file.txt", "hf://owner/name/file", "hf://datasets/owner/name", "hf://datasets/o/n@v/f"],
)
def test_anything_else_is_none(name: str) -> None:
    assert not is_file(name)
    with pytest.raises(
        InputError, match="is no file on the hub; name one as hf://datasets/<owner>"
    ):
        fetch(name, None)
