"""The report's text: from the question to each conjecture's evidence, all numbers from files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.paper.report import ablation, conjectures, conventions, paper_tables, sweeps
from pipeline.results.layout import SPREAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.paper.report.study import Study

TITLE = "Why the three components matter"


@dataclass(frozen=True)
class Figure:
    """A picture as the text shows it: its file below the report's folder, title and caption."""

    path: str
    title: str
    caption: str


@dataclass(frozen=True)
class Material:
    """All that the report tells of.

    Attributes:
        study: the runs of section 3.2.
        comparison: what `compare` wrote of the main runs, as numbers.
        comparison_text: and in Markdown.
        figures: by the name of their folder and their own, `simulation/dissipation`.
    """

    study: Study
    comparison: Mapping[str, Any]
    comparison_text: str
    figures: Mapping[str, Figure]


def as_markdown(material: Material) -> str:
    """The whole text."""
    blocks = [
        f"# {TITLE}",
        _QUESTION,
        *_conditions(material.study),
        *_simulation(material),
        *_conjectures(material),
        *_over_steps(material),
        *_sweeps(material),
        *_ablation(material),
        *_tables(material),
        *_conventions(material),
        _AGAIN,
    ]
    return "\n\n".join(blocks) + "\n"


_QUESTION = """\
Objectives with very different formulas train good sentence encoders, others of like spirit fail.
Li, Zhang & Nie (ACL 2024) hold that one thing decides: the gradient at an anchor,

    dissipation * sum over negatives of weight * (negative - ratio * positive),

and its three components. **Dissipation** says when a sentence is left alone, **weight** which
negatives push, **ratio** how strongly the positive pulls for each push. This report remakes the
argument with the numbers of this checkout: a simulation of angles, which needs no encoder, then
short training runs, measured on sentences that none of them has seen."""

_AGAIN = """\
## How to make it again

`make report` makes every file that is shown here, as far as something has changed since; the
settings are the section `analysis` of `params.yaml`. Beside each picture lies a JSON file with its
numbers and settings."""


def _conditions(study: Study) -> list[str]:
    params, settings, train = study.params, study.params.analysis, study.params.train
    data = next(iter(next(iter(study.held_out.values())).values()))["data"]
    lines = [
        "## What was run",
        (
            f"{sum(map(len, study.seeds.values()))} runs of {settings.steps} steps of "
            f"{train.batch_size} sentences (learning rate {train.learning_rate:g}, head "
            f"`{train.head}`) on `{params.corpus.source}` from `{params.backbone.source}`. "
            f"{settings.held_out:.0%} of the sentences were kept from training; each encoder was "
            f"measured on {data['batches']} batches of {data['batch_size']} of them, two dropout "
            f"views a sentence, without the training head. Hardware: {'; '.join(study.hardware)}."
        ),
        f"Seeds: {_seeds(study)}.",
        *study.warning,
    ]
    if study.missing:
        lines.append(
            f"**Not run ({len(study.missing)} of the cells that `params.yaml` asks for):** "
            f"{', '.join(study.missing)}."
        )
    return lines


def _seeds(study: Study) -> str:
    by_seeds: dict[tuple[int, ...], list[str]] = {}
    for name, seeds in study.seeds.items():
        by_seeds.setdefault(seeds, []).append(f"`{name}`")
    return "; ".join(
        f"{', '.join(map(str, seeds))} for {', '.join(names)}" for seeds, names in by_seeds.items()
    )


def _shown(material: Material, *names: str) -> list[str]:
    found = [material.figures[name] for name in names if name in material.figures]
    return [
        block
        for figure in found
        for block in (
            f"![{figure.title}]({figure.path})",
            f"> **{figure.title}.** {figure.caption}",
        )
    ]


def _simulation(material: Material) -> list[str]:
    return [
        "## What angles alone tell",
        (
            "Angles between an anchor and its positive and negatives are drawn from two normal "
            "distributions. No encoder is involved: this is what the formulas do."
        ),
        *_shown(
            material,
            "simulation/dissipation",
            "simulation/hardest_share",
            "simulation/ratio",
            "simulation/lemma",
        ),
    ]


def _conjectures(material: Material) -> list[str]:
    study = material.study
    blocks = ["## The three conjectures, on encoders"]
    told = (
        ("1", "dissipation", conjectures.dissipation(study), ("figures/cosine_density",)),
        ("2", "weight", conjectures.hardest_negative(study), ("figures/hardest_share",)),
        (
            "3",
            "ratio",
            conjectures.ratio(study),
            ("figures/positive_cosine", "figures/minimum_ratio"),
        ),
    )
    for number, name, evidence, figures in told:
        blocks += [
            f"### Conjecture {number}, {name}: {evidence.verdict}",
            f"*{evidence.claim}*",
            evidence.reading,
            *([evidence.table] if evidence.table else []),
            *_shown(material, *figures),
        ]
    return blocks


def _over_steps(material: Material) -> list[str]:
    figures = _shown(material, "figures/dynamic_ratios", "figures/angles")
    return ["## Over the training steps", *figures] if figures else []


def _sweeps(material: Material) -> list[str]:
    found = sweeps.sweeps(material.study, conjectures.BASELINE)
    if not found:
        return []
    told = f"The baseline `{conjectures.BASELINE}` with one hyperparameter changed; {SPREAD}."
    return ["## Sweeps", told, sweeps.table(found), *_shown(material, "figures/sweeps")]


def _ablation(material: Material) -> list[str]:
    if not ablation.families(material.study):
        return []
    told = f"Each column adds one change to the one before it; {SPREAD}."
    return [
        "## Ablation (Table 5)",
        told,
        ablation.table(material.study),
        *_shown(material, "figures/ablation"),
    ]


def _tables(material: Material) -> list[str]:
    params = material.study.params
    blocks = ["## The main runs (Tables 2 and 4, Figure 1)", material.comparison_text.strip()]
    for half, title in (("sts", "STS"), ("transfer", "transfer")):
        own = paper_tables.ours(material.comparison, half)
        published = paper_tables.published(params, material.comparison, half)
        if own and published:
            blocks += [
                f"Beside the published figures, {title}:",
                paper_tables.table(own, published),
            ]
    return [*blocks, *_shown(material, "figures/before_and_after")]


def _conventions(material: Material) -> list[str]:
    if not conventions.chosen(material.study):
        return []
    told = (
        "Where the paper and its authors' code differ, one difference at a time; in brackets the "
        f"difference from the same objective with the settings of all other runs; {SPREAD}."
    )
    return ["## What each convention changes", told, conventions.table(material.study)]
