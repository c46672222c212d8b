"""Losses that people use, by a short name: what docs/anatomy.md takes apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from pipeline.machine.errors import InputError
from pipeline.machine.settings import unknown
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.adapters import named
from pipeline.objectives.anatomy import Loss

_METRIC = "pytorch_metric_learning.losses:"
_SENTENCE = "sentence_transformers.sentence_transformer.losses:"


@dataclass(frozen=True)
class Entry:
    """A loss with its values.

    Attributes:
        loss: an objective of ours, or module:Class.
        source: who proposed it.
        values: of its keywords; the library's defaults for all others.
    """

    loss: str
    source: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def made(self) -> Loss:
        """The loss.

        Raises:
            InputError: what it comes from is not installed, or does not take the values.
        """
        if self.loss in OBJECTIVES:
            return OBJECTIVES[self.loss](**self.values).loss
        return named(self.loss, self.values, "NAME")


_DIRECTIONS = ["query_to_doc", "query_to_query", "doc_to_query", "doc_to_doc"]
_SYMMETRIC = {"directions": ["query_to_doc", "doc_to_query"], "partition_mode": "per_direction"}
_SIGMOID = {"temperature": 0.1, "bias": -10.0}
CATALOGUE = {
    "info_nce": Entry("info_nce", "van den Oord et al. 2018"),
    "arccon": Entry("arccon", "Zhang et al. 2022"),
    "mpt": Entry("mpt", "hardest triplet on cosines"),
    "met": Entry("met", "hardest triplet on distances"),
    "ranking": Entry(f"{_SENTENCE}MultipleNegativesRankingLoss", "Henderson et al. 2017"),
    "ranking_cached": Entry(f"{_SENTENCE}CachedMultipleNegativesRankingLoss", "Gao et al. 2021"),
    "ranking_symmetric": Entry(
        f"{_SENTENCE}MultipleNegativesRankingLoss", "Radford et al. 2021", _SYMMETRIC
    ),
    "ranking_gte": Entry(
        f"{_SENTENCE}MultipleNegativesRankingLoss",
        "Li et al. 2023, all four directions",
        {"directions": _DIRECTIONS},
    ),
    "nt_xent": Entry(f"{_METRIC}NTXentLoss", "Chen et al. 2020", {"temperature": 0.07}),
    "supcon": Entry(f"{_METRIC}SupConLoss", "Khosla et al. 2020", {"temperature": 0.1}),
    "siglip": Entry("pipeline.objectives.sigmoid:sigmoid_loss", "Zhai et al. 2023", _SIGMOID),
    "n_pairs": Entry(f"{_METRIC}NPairsLoss", "Sohn 2016"),
    "circle": Entry(f"{_METRIC}CircleLoss", "Sun et al. 2020"),
    "multi_similarity": Entry(f"{_METRIC}MultiSimilarityLoss", "Wang et al. 2019"),
    "lifted": Entry(f"{_METRIC}LiftedStructureLoss", "Oh Song et al. 2016"),
    "lifted_generalized": Entry(f"{_METRIC}GeneralizedLiftedStructureLoss", "Hermans et al. 2017"),
    "triplet": Entry(f"{_METRIC}TripletMarginLoss", "Schroff et al. 2015"),
    "triplet_all": Entry(f"{_SENTENCE}BatchAllTripletLoss", "Hermans et al. 2017"),
    "triplet_hard": Entry(f"{_SENTENCE}BatchHardTripletLoss", "Hermans et al. 2017"),
    "triplet_hard_soft": Entry(f"{_SENTENCE}BatchHardSoftMarginTripletLoss", "Hermans et al. 2017"),
    "contrastive": Entry(f"{_SENTENCE}ContrastiveLoss", "Hadsell et al. 2006"),
    "cosine_similarity": Entry(f"{_SENTENCE}CosineSimilarityLoss", "Reimers & Gurevych 2019"),
    "cosent": Entry(f"{_SENTENCE}CoSENTLoss", "Su 2022"),
    "angle": Entry(f"{_SENTENCE}AnglELoss", "Li & Li 2023"),
    "nca": Entry(f"{_METRIC}NCALoss", "Goldberger et al. 2004"),
    "tuplet_margin": Entry(f"{_METRIC}TupletMarginLoss", "Yu & Tao 2019"),
    "angular": Entry(f"{_METRIC}AngularLoss", "Wang et al. 2017"),
    "mhe": Entry("mhe", "Wang & Isola 2020, alignment + uniformity"),
    "mhs": Entry("mhs", "Liu et al. 2021"),
    "barlow_twins": Entry("barlow_twins", "Zbontar et al. 2021, its gradient equivalent"),
    "barlow_twins_batch_norm": Entry("barlow_twins_batch_norm", "Zbontar et al. 2021"),
    "vicreg": Entry("vicreg", "Bardes et al. 2022, its gradient equivalent"),
    "vicreg_centred": Entry("vicreg_centred", "Bardes et al. 2022"),
    "mhe_modified": Entry("mhe_modified", "Li, Zhang & Nie 2024"),
    "vicreg_modified": Entry("vicreg_modified", "Li, Zhang & Nie 2024"),
}


def find(text: str) -> tuple[str, Entry]:
    """The short name and the entry for what a command line names.

    Args:
        text: a name of the catalogue, an objective of ours, or `module:Class,key=value,...`.

    Raises:
        InputError: nothing has that name.
    """
    loss, *pairs = text.split(",")
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"{pair!r} in {text!r} is no key=value.")
        try:
            values[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InputError(f"{pair!r} in {text!r}: {value!r} is no value of YAML.") from error
    short = loss.rpartition(":")[2].rpartition(".")[2]
    name = "-".join([short, *(f"{key}-{value}" for key, value in values.items())])
    if loss in CATALOGUE:
        entry = CATALOGUE[loss]
        return name, replace(entry, values={**entry.values, **values})
    if ":" in loss or loss in OBJECTIVES:
        return name, Entry(loss, "", values)
    raise InputError(f"{unknown('loss', loss, [*CATALOGUE, *OBJECTIVES])}")
