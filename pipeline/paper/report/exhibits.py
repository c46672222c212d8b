"""All figures of the study and of the main runs, as far as there are runs for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.paper.report import ablation, paper_tables, sweeps
from pipeline.paper.report.conjectures import BASELINE, WITHOUT
from pipeline.paper.report.dynamics_figures import angles, dynamic_ratios, positive_cosine
from pipeline.paper.report.held_out_figures import cosine_density, hardest_share, minimum_ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipeline.paper.figure import Exhibit
    from pipeline.paper.report.study import Dynamics, Study

# Their ratio changes during training.
DYNAMIC = ("arccon", "met")


def study_exhibits(study: Study, comparison: Mapping[str, Any]) -> Iterator[Exhibit]:
    """Figures in the order of the report."""
    untrained = {Path(study.params.backbone.source).name: [study.untrained]}
    if BASELINE in study.seeds:
        trained = _measures(study, BASELINE)
        yield hardest_share(untrained, trained)
        yield minimum_ratio(untrained, trained)
        if WITHOUT in study.seeds:
            yield cosine_density(trained, _measures(study, WITHOUT), untrained)
    settings = _settings(study)
    found = sweeps.sweeps(study, BASELINE)
    if ratios := found.get("ratio"):
        by_value = {f"r = {point.value:g}": point.name for point in ratios}
        yield positive_cosine(_dynamics(study, by_value), settings)
    moving = {name: name for name in DYNAMIC if name in study.seeds}
    if moving:
        yield dynamic_ratios(_dynamics(study, moving), settings)
    if BASELINE in study.seeds:
        yield angles(_dynamics(study, {BASELINE: BASELINE}), settings)
    if found:
        yield sweeps.exhibit(found, BASELINE, settings)
    if ablation.families(study):
        yield ablation.exhibit(study, settings)
    own = paper_tables.ours(comparison, "sts")
    if paper_tables.pairs(own):
        published = paper_tables.published(study.params, comparison, "sts")
        yield paper_tables.exhibit(own, published, {"seeds": _seeds(comparison)})


def _measures(study: Study, name: str) -> dict[str, list[dict[str, Any]]]:
    return {name: list(study.held_out[name].values())}


def _dynamics(study: Study, names: Mapping[str, str]) -> dict[str, list[Dynamics]]:
    """Runs by label, one a seed."""
    return {label: list(study.dynamics[name].values()) for label, name in names.items()}


def _settings(study: Study) -> dict[str, Any]:
    params = study.params
    return {
        "backbone": params.backbone.source,
        "sentences": params.corpus.source,
        "steps": params.analysis.steps,
        "batch_size": params.train.batch_size,
        "learning_rate": params.train.learning_rate,
        "head": params.train.head,
        "seeds": {name: list(seeds) for name, seeds in study.seeds.items()},
        "hardware": study.hardware,
    }


def _seeds(comparison: Mapping[str, Any]) -> dict[str, list[int]]:
    return {name: found["seeds"] for name, found in comparison["objectives"].items()}
