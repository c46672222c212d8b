"""The prepare stage: what it stores and reports of a corpus, what it refuses, and that its
folder appears whole or not at all.
"""

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

from pipeline.config.schema import Params
from pipeline.data.prepared import Meta, Report
from pipeline.data.tokenizing import load_tokenizer, tokenize
from pipeline.data.tokens import TokenArrays
from pipeline.machine.errors import InputError
from pipeline.prepare import main, prepare
from tests.tiny import BERT_MINI, SAMPLE, Refused, contents, write_params
from tests.tiny import settings as sections

LENGTH = 12
SETTINGS: dict[str, Any] = {
    "corpus.held_out": 0.1,
    "corpus.seed": 3,
    "backbone.source": str(BERT_MINI),
    "backbone.watch": str(BERT_MINI),
    "train.max_length": LENGTH,
    "train.batch_size": 2,
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Sixty sentences of one to sixty words, an empty row and two duplicates."""
    words = (SAMPLE / "corpus.txt").read_text(encoding="utf-8").split()
    rows = [" ".join(words[count : 2 * count]) for count in range(1, 61)]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([*rows, "", rows[0], rows[5]]), encoding="utf-8")
    return path


def run(source: Path, out: Path, **changes: Any) -> Report:
    """The stage's work; `changes` are settings by their path."""
    params = Params(**sections(SETTINGS | {"corpus.source": str(source)} | changes))
    return prepare(params.corpus, params.backbone, params.train, out)


def stored(folder: Path) -> list[list[int]]:
    arrays = TokenArrays.load(folder)
    return [arrays[index].tolist() for index in range(len(arrays))]


def expected(source: Path, backbone: Path, max_length: int | None = LENGTH) -> list[list[int]]:
    rows = source.read_text(encoding="utf-8").split("\n")
    sentences = list(dict.fromkeys(row for row in rows if row))
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    cut = max_length is not None
    ids = tokenizer(sentences, truncation=cut, max_length=max_length, verbose=False)["input_ids"]
    return [list(row) for row in ids]


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
    tiny_roberta: Path, sentences: list[str], max_length: int, like: str
) -> None:
    folder = BERT_MINI if like == "bert" else tiny_roberta
    tokenizer = loaded(folder)
    backend = whole_tokenizer(str(folder), 16)[0]
    arrays, lengths = tokenize(sentences, backend, max_length)
    cut = tokenizer(sentences, truncation=True, max_length=max_length)["input_ids"]
    whole = tokenizer(sentences, verbose=False)["input_ids"]
    assert [arrays[index].tolist() for index in range(len(arrays))] == cut
    assert lengths.tolist() == [len(row) for row in whole]


def test_a_tokenizer_saved_with_truncation_and_padding_still_gives_whole_sentences(
    corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "backbone"
    shutil.copytree(BERT_MINI, folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=5)
    tokenizer.save(str(folder / "tokenizer.json"))
    changed = run(corpus, tmp_path / "changed", **{"backbone.source": str(folder)})
    assert changed == run(corpus, tmp_path / "out")


def test_the_report_counts_rows_and_tokens_and_meta_says_what_batches_need(
    tiny: Path, corpus: Path, tmp_path: Path
) -> None:
    report = run(corpus, tmp_path / "out", **{"backbone.source": str(tiny)})
    whole = [len(row) for row in expected(corpus, tiny, None)]
    assert (report.rows_in, report.rows_kept, report.empty, report.duplicates) == (63, 60, 1, 2)
    assert (report.train, report.held_out) == (54, 6)
    assert report.share_truncated == sum(length > LENGTH for length in whole) / 60
    assert 0 < report.share_truncated < 1
    assert report.tokens == sum(min(length, LENGTH) for length in whole)
    assert report.mean_length == pytest.approx(np.mean(whole))
    meta, tokenizer = Meta.load(tmp_path / "out"), loaded(tiny)
    assert (meta.pad_id, meta.vocabulary) == (tokenizer.pad_token_id, len(tokenizer))
    assert (meta.backbone, meta.max_length) == (str(tiny), LENGTH)
    assert (meta.train, meta.held_out, meta.data_hash) == (54, 6, report.data_hash)
    assert meta.source == report.source == str(corpus)


def test_the_histogram_counts_whole_lengths_in_bins_that_sort(corpus: Path, tmp_path: Path) -> None:
    """Lengths with specials: 6 words are 8 tokens, 7 are 9, 126 are 128, 127 are 129."""
    source = tmp_path / "words.txt"
    source.write_text("\n".join("the " * count for count in (1, 6, 7, 126, 127, 500)))
    bins = run(source, tmp_path / "out", **{"corpus.held_out": 0.0}).length_histogram
    counted = {row["length"]: row["count"] for row in bins if row["count"]}
    assert counted == {"001-008": 2, "009-016": 1, "121-128": 1, "129+": 2}
    names = [str(row["length"]) for row in bins]
    assert names == sorted(names)
    assert len(names) == 17


def test_meta_that_is_missing_or_strange_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"meta\.json is missing .*; run"):
        Meta.load(tmp_path)
    (tmp_path / "meta.json").write_text('{"backbone": "b"}')
    with pytest.raises(InputError, match=r"not of this version .*; run"):
        Meta.load(tmp_path)


def test_held_out_and_training_sentences_are_disjoint_exhaustive_and_in_order(
    corpus: Path, tmp_path: Path
) -> None:
    run(corpus, tmp_path / "out", **{"corpus.held_out": 0.3})
    every = expected(corpus, BERT_MINI)
    train, held = stored(tmp_path / "out/train"), stored(tmp_path / "out/held_out")
    assert (len(train), len(held)) == (42, 18)
    assert sorted(train + held) == sorted(every)
    for part in (train, held):
        places = [every.index(row) for row in part]
        assert all(before < after for before, after in pairwise(places))


def test_the_data_hash_follows_sentences_and_settings_but_not_the_file(
    tiny_roberta: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    reference = run(corpus, out).data_hash
    same = tmp_path / "same.jsonl"
    rows = corpus.read_text(encoding="utf-8").split("\n")
    same.write_text("\n".join(json.dumps({"s": row}) for row in rows), encoding="utf-8")
    assert run(same, out, **{"corpus.column": "s"}).data_hash == reference
    changes: dict[str, Any] = {
        "corpus.seed": 4,
        "corpus.held_out": 0.2,
        "train.max_length": 13,
        "backbone.source": str(tiny_roberta),
    }
    hashes = {run(corpus, out, **{key: value}).data_hash for key, value in changes.items()}
    random.Random(1).shuffle(rows)
    corpus.write_text("\n".join(rows), encoding="utf-8")
    hashes.add(run(corpus, out).data_hash)
    assert len(hashes | {reference}) == 6


def test_a_length_that_the_tokenizer_does_not_take_is_refused(corpus: Path, tmp_path: Path) -> None:
    expected = r"train\.max_length: 129 tokens do not suit .* give 3 to 128\."
    with pytest.raises(InputError, match=expected):
        run(corpus, tmp_path / "out", **{"train.max_length": 129})


def test_fewer_sentences_than_a_batch_are_refused(corpus: Path, tmp_path: Path) -> None:
    expected = "60 distinct sentences, 6 of them held out, are fewer than one batch"
    with pytest.raises(InputError, match=expected):
        run(corpus, tmp_path / "out", **{"train.batch_size": 55})
    assert not (tmp_path / "out").exists()


def test_a_backbone_on_the_hub_is_read_at_its_revision(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_pretrained(source: str, *, revision: str) -> Any:
        asked.append((source, revision))
        return loaded(BERT_MINI)

    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", from_pretrained)
    hub = {"backbone.source": "owner/name", "backbone.revision": "v1"}
    run(corpus, tmp_path / "out", **hub)
    assert asked == [("owner/name", "v1")]


def test_a_backbone_without_a_usable_tokenizer_is_refused(
    tiny_roberta: Path, corpus: Path, tmp_path: Path
) -> None:
    def refuses(message: str) -> None:
        with pytest.raises(InputError, match=rf"^backbone\.source: .* {message}"):
            run(corpus, tmp_path / "out", **{"backbone.source": str(folder)})

    folder = tmp_path / "backbone"
    refuses("is no folder here, and as a hub id gives no tokenizer")
    folder.mkdir()
    shutil.copy(BERT_MINI / "config.json", folder)
    refuses(r"has no vocabulary; add its tokenizer\.json")
    (folder / "tokenizer.json").write_text("{")
    refuses("gives no tokenizer")
    tokenizer = AutoTokenizer.from_pretrained(tiny_roberta)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    refuses("has no padding token")


# The folder appears whole or not at all.


def test_a_folder_that_holds_something_else_is_not_replaced(corpus: Path, tmp_path: Path) -> None:
    for out in (tmp_path, corpus):
        with pytest.raises(InputError, match="exists and is no prepared folder; name a new"):
            run(corpus, out)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


@pytest.fixture
def command(corpus: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A command line whose params.yaml names the corpus above, which makes one batch."""
    own = {"corpus.source": str(corpus), "corpus.watch": str(corpus), "train.batch_size": 54}
    params = write_params(tmp_path_factory.mktemp("params") / "params.yaml", SETTINGS | own)
    out, report = tmp_path / "data/prepared", tmp_path / "metrics/report.json"
    return ["--params", str(params), "--out", str(out), "--report", str(report)]


def test_equal_runs_of_the_stage_write_equal_folders_and_reports(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    written = contents(tmp_path)
    report = Report(**json.loads(written["metrics/report.json"]))
    assert report.held_out == Meta.load(tmp_path / "data/prepared").held_out == 6
    assert "54 sentences to train on, 6 held out; 1 empty and 2" in capsys.readouterr().out
    assert main(command) == 0
    assert contents(tmp_path) == written


def test_an_interrupted_stage_leaves_earlier_output(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(arrays: TokenArrays, folder: Path) -> None:
        save(arrays, folder)
        if folder.name == "held_out":
            raise KeyboardInterrupt

    assert main(command) == 0
    before, save = contents(tmp_path), TokenArrays.save
    monkeypatch.setattr(TokenArrays, "save", interrupted)
    assert main([*command, "--held-out=0"]) == 130
    said = "prepare: interrupted; what it had begun to write is removed.\n"
    assert capsys.readouterr().err == said
    assert contents(tmp_path) == before


@pytest.mark.parametrize("share", ["-0.1", "1", "nan"])
def test_a_share_to_hold_out_is_below_one(
    command: list[str], share: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, f"--held-out={share}"])
    assert f"--held-out: {share} is no share; give one in [0, 1)" in capsys.readouterr().err


def test_a_failing_stage_says_one_sentence_and_writes_nothing(
    command: list[str], corpus: Path, tmp_path: Path, refused: Refused
) -> None:
    corpus.write_bytes(b"a\nb\0\n")
    error = refused(main(command))
    assert error.startswith("prepare: corpus.source: ")
    assert "a NUL byte (line 2, byte 3)" in error
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_a_folder_that_cannot_be_written_is_one_sentence(
    command: list[str], tmp_path: Path, refused: Refused
) -> None:
    command[3] = str(tmp_path / "corpus.txt" / "below")
    assert refused(main(command)).startswith(f"prepare: {command[3]}: cannot be written (")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]
