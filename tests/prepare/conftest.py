from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tests.prepare.lab import BERT, SAMPLE


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer like RoBERTa's: byte-level BPE, <s> ... </s>, its own pad id."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SAMPLE.read_text(encoding="utf-8").splitlines()[:200], trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    folder = tmp_path_factory.mktemp("roberta")
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=64,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
    ).save_pretrained(folder)
    return folder


@pytest.fixture(params=["bert", "roberta"])
def backbone(request: pytest.FixtureRequest, roberta: Path) -> Path:
    return BERT if request.param == "bert" else roberta


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Sixty sentences of one to sixty words, an empty row and two duplicates."""
    words = SAMPLE.read_text(encoding="utf-8").split()
    rows = [" ".join(words[count : 2 * count]) for count in range(1, 61)]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([*rows, "", rows[0], rows[5]]), encoding="utf-8")
    return path
