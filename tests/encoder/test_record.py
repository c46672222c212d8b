"""Who made an encoder."""

from pathlib import Path

import pytest

from pipeline.encoder.record import Origin, read_origin
from pipeline.machine.errors import InputError


@pytest.mark.parametrize(
    "kept",
    [
        '"kept": {"step": 4, "dev_spearman": 61.5}, "best": {"step": 3, "dev_spearman": 62.5}',
        '"best": {"step": 4, "dev_spearman": 61.5}',  # before one could choose
    ],
)
def test_a_record_names_objective_seed_and_the_step_that_was_kept(
    tmp_path: Path, kept: str
) -> None:
    record = f'{{"objective": "mhe", "seed": 0, "steps": 9, {kept}}}'
    (tmp_path / "triad.json").write_text(record)
    origin = read_origin(tmp_path)
    assert origin == Origin("mhe", 0, 9, 4, 61.5)
    assert origin.name("folder") == "mhe-0"


def test_without_a_record_others_made_it(tmp_path: Path) -> None:
    assert read_origin(tmp_path) == Origin(None, None, None, None, None)
    assert read_origin(tmp_path).name("folder") == "folder"


@pytest.mark.parametrize("content", ["{", "[]", '"text"', '{"best": 3}', '{"best": null}'])
def test_what_no_training_wrote_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "triad.json").write_text(content)
    with pytest.raises(InputError, match=r"triad\.json is no record of a training run"):
        read_origin(tmp_path)
