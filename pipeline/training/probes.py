"""What training does to a few sentences: their embeddings, recorded at each evaluation."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.vectors import pad
from pipeline.machine.errors import InputError
from pipeline.machine.files import writing
from pipeline.training.network import TrainingNetwork

# Every evaluation draws the same dropout masks, so that only the weights differ between them.
_SEED = 0


def recorder(
    encoder: SentenceEncoder, network: TrainingNetwork, folder: Path | None, run: str
) -> Callable[[int], None]:
    """What writes the embeddings of `folder`/sentences.txt to `folder`/`run`/<step>.npy.

    They are float16 (3, sentences, D): the two views as the objective sees them, under dropout and
    through the head, and what the encoder gives its users. The run's random state does not move.
    Without a folder nothing is written.

    Raises:
        InputError: the sentences cannot be read, or a line is blank.
    """
    if folder is None:
        return lambda _: None
    path = folder / "sentences.txt"
    try:
        sentences = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--probes: {path} cannot be read ({error}).") from error
    if not sentences or not all(map(str.strip, sentences)):
        raise InputError(f"--probes: {path} must hold one sentence on every line.")
    tokens = encoder.tokenize(sentences)
    padded = pad(tokens, int(encoder.tokenizer.pad_token_id or 0))
    ids, mask = (torch.from_numpy(part).to(network.device) for part in padded)
    others = [network.device] if network.device.type == "cuda" else []

    def record(step: int) -> None:
        with torch.no_grad(), torch.random.fork_rng(others):
            torch.manual_seed(_SEED)
            views = [network(ids, mask).float().cpu().numpy() for _ in range(2)]
        encoder.model.train(mode=False)
        embeddings = encoder.encode(sentences)
        encoder.model.train()
        place = folder / run / f"{step}.npy"
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            np.save(place, np.stack([*views, embeddings]).astype(np.float16))

    return record
