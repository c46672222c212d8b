"""Stands in for `OBJECTIVES[kind].hyperparameters` while objectives are plain dataclasses."""

import dataclasses
import typing
from typing import Any

from pydantic import BaseModel, Field, create_model

from pipeline.machine.settings import Settings

_OPERATORS = {"above": "gt", "at least": "ge", "at most": "le"}


def hyperparameters(kind: type[Any]) -> type[BaseModel]:
    """The fields of an objective's class as a model, with their ranges and without defaults."""
    hints = typing.get_type_hints(kind)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        bounds = {_OPERATORS[words]: bound for words, bound in field.metadata.get("bounds", ())}
        declared = Field(description=field.metadata.get("unit"), **bounds)
        fields[field.name] = (hints[field.name], declared)
    return create_model(kind.__name__, __base__=Settings, **fields)
