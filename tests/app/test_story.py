"""The story: what it shows is what was recorded, and its chapters are short."""

import csv
import json
import re

from app import story
from pipeline.results.bootstrap import SEEDS
from tests.tiny import ROOT

DATA = json.loads(story.FILE.read_text(encoding="utf-8"))


def test_what_is_drawn_is_derived_from_the_committed_results() -> None:
    assert story.record(ROOT / "results" / "wiki") == DATA


def test_each_chapter_has_at_most_eighty_words() -> None:
    chapters = re.findall(r'<section role="tabpanel".*?<p>(.*?)</p>', story.render(), re.DOTALL)
    assert len(chapters) == 3
    assert all(len(re.sub(r"<[^>]+>", "", text).split()) <= 80 for text in chapters)


def test_the_scores_that_are_told_are_those_of_the_reproduction() -> None:
    told = re.sub(r"<[^>]+>", "", story.render())
    scores = DATA["scores"]
    for score in (*scores["last"].values(), scores["best"]["vicreg"], *scores["difference"]):
        assert f"{score}" in told


def test_the_steps_are_told_and_the_last_one_changes_little_as_the_story_says() -> None:
    told, scores = story.render(), DATA["steps"]["dev_spearman"]
    assert all(f" {score}" in told for score in scores.values())
    assert abs(scores["vicreg_modified"] - scores["vicreg_dissipation_weight"]) < 2


def test_the_interval_covers_seeds_as_the_story_says() -> None:
    assert len(DATA["scores"]["seeds"]) >= SEEDS
    assert "over sentences and seeds" in story.render()


def test_only_the_original_is_always_pushed() -> None:
    dynamics = ROOT / "results/wiki/runs/3.0e-4/dynamics"
    original, modified = (
        [
            float(row["dissipation"])
            for row in csv.DictReader((dynamics / name).read_text(encoding="utf-8").splitlines())
        ]
        for name in ("vicreg/42.csv", "vicreg_modified/42.csv")
    )
    assert set(original) == {1.0}
    assert max(modified) < 0.5
