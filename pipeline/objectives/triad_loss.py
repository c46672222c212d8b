"""Any objective as a loss for sentence-transformers' own trainer."""

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from pipeline.objectives.objective import Objective


class TriadLoss(nn.Module):
    """An objective on the rows of a data set with two columns, anchor and positive.

    For unsupervised training give the same column twice, or two columns of equal sentences: each
    goes through the model by itself, so that dropout makes two views of it.

        from datasets import Dataset
        from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
        from pipeline.objectives import OBJECTIVES
        from pipeline.objectives.triad_loss import TriadLoss

        model = SentenceTransformer("models/vicreg_modified/42")
        data = Dataset.from_dict({"anchor": sentences, "positive": sentences})
        loss = TriadLoss(model, OBJECTIVES["vicreg_modified"]())
        SentenceTransformerTrainer(model=model, train_dataset=data, loss=loss).train()

    Attributes:
        model: gives `sentence_embedding` for a column's features.
        objective: one of ours, or `foreign.repaired(...)`.
    """

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self.objective = objective

    def forward(
        self,
        sentence_features: Iterable[dict[str, Tensor]],
        labels: Tensor | None = None,  # noqa: ARG002 - the trainer gives it, no objective needs it
    ) -> Tensor:
        """The objective's loss, a scalar.

        Raises:
            ValueError: the rows have not two columns, or the views are not what it takes.
        """
        columns = list(sentence_features)
        if len(columns) != 2:
            raise ValueError(
                f"TriadLoss: needs two columns, anchor and positive, got {len(columns)}; give one "
                "column twice for two views of each sentence."
            )
        anchor, positive = (self.model(column)["sentence_embedding"] for column in columns)
        return self.objective(anchor, positive)

    def get_config_dict(self) -> dict[str, Any]:
        """What the trainer writes into the model's card."""
        return {
            "objective": self.objective.name,
            **self.objective.hyperparameters.model_dump(),
        }
