"""What the stage stores and reports of a corpus, and which settings it refuses."""

import json
import random
import shutil
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from pipeline.data.prepared import Meta
from pipeline.data.tokenizing import load_tokenizer, tokenise
from pipeline.data.tokens import TokenArrays
from pipeline.machine.errors import InputError
from tests.prepare.lab import BERT, LENGTH, contents, expected, run, stored


def test_stored_tokens_are_those_of_the_tokenizer_with_truncation(
    backbone: Path, corpus: Path, tmp_path: Path
) -> None:
    run(corpus, tmp_path / "out", backbone=str(backbone), held_out=0)
    assert stored(tmp_path / "out/train") == expected(corpus, backbone)


loaded = cache(AutoTokenizer.from_pretrained)
whole_tokenizer = cache(load_tokenizer)


@settings(deadline=None)
@given(
    sentences=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n")), min_size=1, max_size=20
    ),
    max_length=st.integers(3, 16),
    like=st.sampled_from(["bert", "roberta"]),
)
def test_any_sentence_is_cut_as_the_tokenizer_cuts_it(
    roberta: Path, sentences: list[str], max_length: int, like: str
) -> None:
    folder = BERT if like == "bert" else roberta
    tokenizer = loaded(folder)
    backend = whole_tokenizer(str(folder), 16)[0]
    arrays, lengths = tokenise(sentences, backend, max_length)
    cut = tokenizer(sentences, truncation=True, max_length=max_length)["input_ids"]
    whole = tokenizer(sentences, verbose=False)["input_ids"]
    assert [arrays[index].tolist() for index in range(len(arrays))] == cut
    assert lengths.tolist() == [len(row) for row in whole]


def test_a_tokenizer_saved_with_truncation_and_padding_still_gives_whole_sentences(
    corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "backbone"
    shutil.copytree(BERT, folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=5)
    tokenizer.save(str(folder / "tokenizer.json"))
    changed = run(corpus, tmp_path / "changed", backbone=str(folder))
    assert changed == run(corpus, tmp_path / "out")


def test_the_report_counts_rows_and_tokens(backbone: Path, corpus: Path, tmp_path: Path) -> None:
    report = run(corpus, tmp_path / "out", backbone=str(backbone))
    whole = [len(row) for row in expected(corpus, backbone, None)]
    assert (report.rows_in, report.rows_kept, report.empty, report.duplicates) == (63, 60, 1, 2)
    assert (report.train, report.held_out) == (54, 6)
    assert report.share_truncated == sum(length > LENGTH for length in whole) / 60
    assert 0 < report.share_truncated < 1
    assert report.tokens == sum(min(length, LENGTH) for length in whole)
    assert report.mean_length == pytest.approx(np.mean(whole))
    assert report.source == str(corpus)


def test_a_sentence_of_exactly_the_training_length_is_not_truncated(tmp_path: Path) -> None:
    """[CLS], ten times "the", [SEP] are twelve tokens; one more word is one too many."""
    source = tmp_path / "corpus.txt"
    source.write_text("\n".join("the " * count for count in (9, 10, 11)))
    assert run(source, tmp_path / "out", held_out=0).share_truncated == 1 / 3


def test_the_histogram_counts_whole_lengths_in_bins_that_sort(corpus: Path, tmp_path: Path) -> None:
    """Lengths with specials: 6 words are 8 tokens, 7 are 9, 126 are 128, 127 are 129."""
    source = tmp_path / "words.txt"
    source.write_text("\n".join("the " * count for count in (1, 6, 7, 126, 127, 500)))
    bins = run(source, tmp_path / "out", held_out=0).length_histogram
    counted = {row["length"]: row["count"] for row in bins if row["count"]}
    assert counted == {"001-008": 2, "009-016": 1, "121-128": 1, "129+": 2}
    names = [str(row["length"]) for row in bins]
    assert names == sorted(names)
    assert len(names) == 17


def test_meta_says_what_batches_need(backbone: Path, corpus: Path, tmp_path: Path) -> None:
    report = run(corpus, tmp_path / "out", backbone=str(backbone))
    meta = Meta.load(tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    assert (meta.pad_id, meta.vocabulary) == (tokenizer.pad_token_id, len(tokenizer))
    assert (meta.backbone, meta.max_length) == (str(backbone), LENGTH)
    assert (meta.train, meta.held_out) == (54, 6)
    assert (meta.data_hash, meta.source) == (report.data_hash, str(corpus))


def test_meta_that_is_missing_or_strange_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"meta\.json is missing .*; run"):
        Meta.load(tmp_path)
    (tmp_path / "meta.json").write_text('{"backbone": "b"}')
    with pytest.raises(InputError, match=r"not of this version .*; run"):
        Meta.load(tmp_path)


def test_held_out_and_training_sentences_are_disjoint_exhaustive_and_in_order(
    corpus: Path, tmp_path: Path
) -> None:
    run(corpus, tmp_path / "out", held_out=0.3)
    every = expected(corpus, BERT)
    train, held = stored(tmp_path / "out/train"), stored(tmp_path / "out/held_out")
    assert (len(train), len(held)) == (42, 18)
    assert sorted(train + held) == sorted(every)
    for part in (train, held):
        places = [every.index(row) for row in part]
        assert all(before < after for before, after in pairwise(places))


def test_nothing_held_out_is_a_valid_folder(corpus: Path, tmp_path: Path) -> None:
    report = run(corpus, tmp_path / "out", held_out=0)
    assert report.held_out == 0
    assert len(TokenArrays.load(tmp_path / "out/held_out")) == 0
    assert len(TokenArrays.load(tmp_path / "out/train")) == 60


def test_equal_arguments_give_equal_bytes(corpus: Path, tmp_path: Path) -> None:
    first = run(corpus, tmp_path / "first")
    assert run(corpus, tmp_path / "second") == first
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_another_seed_holds_out_other_sentences(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "first")
    run(corpus, tmp_path / "second", seed=4)
    assert stored(tmp_path / "first/held_out") != stored(tmp_path / "second/held_out")


def test_the_data_hash_follows_sentences_and_settings_but_not_the_file(
    roberta: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    reference = run(corpus, out).data_hash
    same = tmp_path / "same.jsonl"
    rows = corpus.read_text(encoding="utf-8").split("\n")
    same.write_text("\n".join(json.dumps({"s": row}) for row in rows), encoding="utf-8")
    assert run(same, out, column="s").data_hash == reference
    changes: list[dict[str, Any]] = [
        {"seed": 4},
        {"held_out": 0.2},
        {"max_length": 13},
        {"backbone": str(roberta)},
    ]
    hashes = {run(corpus, out, **change).data_hash for change in changes}
    random.Random(1).shuffle(rows)
    corpus.write_text("\n".join(rows), encoding="utf-8")
    hashes.add(run(corpus, out).data_hash)
    assert len(hashes | {reference}) == 6


def test_chunks_do_not_show_in_the_result(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(corpus, tmp_path / "one")
    monkeypatch.setattr("pipeline.data.tokenizing._CHUNK", 7)
    run(corpus, tmp_path / "many")
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


def test_fewer_sentences_than_a_batch_are_refused(corpus: Path, tmp_path: Path) -> None:
    assert run(corpus, tmp_path / "enough", minimum=54).train == 54
    with pytest.raises(InputError, match="60 distinct sentences, 6 of them held out, are fewer"):
        run(corpus, tmp_path / "out", minimum=55)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, float("nan")])
def test_a_held_out_share_outside_its_range_is_refused(
    share: float, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"corpus\.held_out: .* is no share; give one in"):
        run(corpus, tmp_path / "out", held_out=share)


@pytest.mark.parametrize("length", [2, 129])
def test_a_training_length_that_does_not_suit_the_backbone_is_refused(
    length: int, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=rf"train\.max_length: {length} .* give 3 to 128\."):
        run(corpus, tmp_path / "out", max_length=length)


def test_a_backbone_without_a_usable_tokenizer_is_refused(
    roberta: Path, corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "backbone"
    with pytest.raises(InputError, match=r"backbone\.source: .* is no folder here, and as a hub"):
        run(corpus, tmp_path / "out", backbone=str(folder))
    folder.mkdir()
    shutil.copy(BERT / "config.json", folder)
    with pytest.raises(InputError, match=r"has no vocabulary; add its tokenizer\.json"):
        run(corpus, tmp_path / "out", backbone=str(folder))
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match=r"backbone\.source: .* gives no tokenizer"):
        run(corpus, tmp_path / "out", backbone=str(folder))
    tokenizer = AutoTokenizer.from_pretrained(roberta)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(InputError, match="has no padding token"):
        run(corpus, tmp_path / "out", backbone=str(folder))
