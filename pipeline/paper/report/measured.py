"""Measurements of several encoders side by side: are they comparable, what were they made with.

Their form is that of `pipeline.measure`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.machine.errors import InputError

Measurement = Mapping[str, Any]
Group = Mapping[str, Sequence[Measurement]]  # label -> one measurement a seed


def settings_of(groups: Mapping[str, Group]) -> dict[str, Any]:
    """What all measurements share, and which encoders and machines there were.

    Raises:
        InputError: they were made on other data or with other settings, or there
            are none.
    """
    found = [one for group in groups.values() for label in group.values() for one in label]
    if not found:
        raise InputError("measurements: there are none; measure an encoder first.")
    for part in ("data", "settings"):
        _check_equal(part, found)
    encoders = {
        name: {label: [one["encoder"] for one in seeds] for label, seeds in group.items()}
        for name, group in groups.items()
    }
    return {
        "data": found[0]["data"],
        "settings": found[0]["settings"],
        "encoders": encoders,
        "hardware": sorted({one["hardware"] for one in found}),
    }


def _check_equal(part: str, found: Sequence[Measurement]) -> None:
    first = found[0]
    for other in found[1:]:
        keys = (key for key in first[part] if first[part][key] != other[part].get(key))
        if (key := next(keys, None)) is not None:
            raise InputError(
                f"measurements: {first['encoder']['name']} and {other['encoder']['name']} differ "
                f"in {part}.{key} ({first[part][key]} and {other[part].get(key)}); measure both "
                "in one way."
            )


def conditions(settings: Mapping[str, Any]) -> str:
    """What `settings_of` found, as a caption ends."""
    data, encoders = settings["data"], settings["encoders"].values()
    names = sorted({one["name"] for group in encoders for label in group.values() for one in label})
    return (
        f"{data['batches']} batches of {data['batch_size']} held-out sentences of "
        f"{data['source']}, each under two dropout masks; cross-view margin gate with m = "
        f"{settings['settings']['margin']:g}; seed {settings['settings']['seed']}. Encoders: "
        f"{', '.join(names)}; several seeds of one are drawn as their mean with a band of one "
        f"standard deviation. Hardware: {'; '.join(settings['hardware'])}."
    )
