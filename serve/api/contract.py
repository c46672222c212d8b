"""What requests may contain: OpenAI's fields and ours, nothing else.

A request is JSON -> one of the models here, or an ApiError that names the field or item. Not here:
what depends on an encoder (its vocabulary, length and dimensions), limits of the whole service.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import from_json

from serve.api.fields import (
    Input,
    Settings,
    kind,
    read_inputs,
    read_pairs,
    read_text,
    read_texts,
    wrong,
)
from serve.errors import ApiError, invalid

# Anchors of one look at a gradient, whose answer grows with their square.
MOST_ANCHORS = 64

_TEXT = {"type": "string", "minLength": 1, "pattern": r"\S"}
_TEXTS = {"type": "array", "items": _TEXT, "minItems": 1}
_IDS = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}


def _given(value: object) -> str:
    """A short value itself, otherwise its kind."""
    short = isinstance(value, str | int | float) and len(f"{value}") <= 40
    return repr(value) if short and not isinstance(value, bool) else kind(value)


def _reading(name: str) -> PlainValidator:
    return PlainValidator(lambda value: read_text(value, name))


def _reading_all(name: str) -> PlainValidator:
    return PlainValidator(lambda value: read_texts(value, name))


class Request(BaseModel):
    """What all requests share: unknown fields are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    truncate: bool = Field(
        default=True, description="cut texts that are too long (and say so); false refuses them"
    )


class EmbeddingsRequest(Request):
    """OpenAI's request for embeddings, with `truncate` and `normalize`."""

    model: str
    input: Annotated[
        list[Input],
        PlainValidator(read_inputs),
        WithJsonSchema(
            {"oneOf": [_TEXT, _TEXTS, _IDS, {"type": "array", "items": _IDS, "minItems": 1}]}
        ),
    ]
    encoding_format: Literal["float", "base64"] = Field(
        "float", description="base64: float32, little-endian"
    )
    dimensions: int | None = Field(
        None, ge=1, description="one of the encoder's dimensions: cut, then of length one"
    )
    normalize: bool | None = Field(
        None, description="scale to length one; null: as the encoder's modules do"
    )
    user: str | None = Field(None, description="accepted and not used")


class SimilarityRequest(Request):
    """Cosines of pairs, or of all sources with all targets, by one encoder or several."""

    model: str | None = None
    models: Annotated[list[str], Field(min_length=1)] | None = None
    pairs: (
        Annotated[
            list[tuple[str, str]],
            PlainValidator(read_pairs),
            WithJsonSchema(
                {"type": "array", "minItems": 1, "items": _TEXTS | {"minItems": 2, "maxItems": 2}}
            ),
        ]
        | None
    ) = None
    sources: Annotated[list[str], _reading_all("sources"), WithJsonSchema(_TEXTS)] | None = None
    targets: Annotated[list[str], _reading_all("targets"), WithJsonSchema(_TEXTS)] | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.model is None) == (self.models is None):
            raise wrong("model: give either model or models.")
        if self.models is not None and len(set(self.models)) < len(self.models):
            raise wrong("models: an encoder stands there more than once.")
        matrix = self.sources is not None and self.targets is not None
        if (self.sources is None) != (self.targets is None) or matrix == (self.pairs is not None):
            raise wrong("pairs: give either pairs, or both sources and targets.")
        return self

    @property
    def wanted(self) -> Sequence[str]:
        """The encoders asked for."""
        return self.models or [self.model or ""]

    @property
    def texts(self) -> list[str]:
        """All texts in the order of `names`."""
        if self.pairs is not None:
            return [text for pair in self.pairs for text in pair]
        return [*(self.sources or ()), *(self.targets or ())]

    def name(self, index: int) -> str:
        """How the text of that index is named in messages."""
        if self.pairs is not None:
            return f"pairs[{index // 2}][{index % 2}]"
        sources = len(self.sources or ())
        return f"sources[{index}]" if index < sources else f"targets[{index - sources}]"


class SearchRequest(Request):
    """The documents that are nearest to a query by cosine."""

    model: str
    query: Annotated[str, _reading("query"), WithJsonSchema(_TEXT)]
    documents: Annotated[list[str], _reading_all("documents"), WithJsonSchema(_TEXTS)]
    top_k: int = Field(10, ge=1, description="how many documents to give; fewer if there are fewer")


class ComponentsRequest(Request):
    """A batch of sentences whose gradient, by some objective, is to be taken apart."""

    model: str
    anchors: Annotated[
        list[str],
        _reading_all("anchors"),
        WithJsonSchema(_TEXTS | {"minItems": 2, "maxItems": MOST_ANCHORS}),
    ]
    positives: Annotated[list[str], _reading_all("positives"), WithJsonSchema(_TEXTS)] | None = (
        Field(None, description="one for each anchor; null: two dropout views of the anchors")
    )
    seed: int = Field(0, ge=0, lt=1 << 63, description="of the dropout")
    objective: str | None = Field(None, description="null: the one that the encoder was trained by")
    hyperparameters: Settings = Field(
        None, description="others than those in the encoder's record, or than the usual ones"
    )
    step: float = Field(
        0.1, gt=0, le=10, description="mean length of the steps of the anchors that move at all"
    )

    @model_validator(mode="after")
    def _batch(self) -> Self:
        count = len(self.anchors)
        if not 2 <= count <= MOST_ANCHORS:
            raise wrong(f"anchors: give 2 to {MOST_ANCHORS} texts, got {count}.")
        if self.positives is not None and len(self.positives) != count:
            raise wrong(
                f"positives: give one for each of the {count} anchors, got {len(self.positives)}."
            )
        return self

    @property
    def texts(self) -> list[str]:
        """All texts in the order of `name`."""
        return [*self.anchors, *(self.positives or ())]

    def name(self, index: int) -> str:
        """How the text of that index is named in messages."""
        count = len(self.anchors)
        return f"anchors[{index}]" if index < count else f"positives[{index - count}]"


class TokenizeRequest(BaseModel):
    """Texts to divide into an encoder's tokens; nothing is cut."""

    model_config = Request.model_config

    model: str
    input: Annotated[
        list[str],
        PlainValidator(
            lambda value: (
                [read_text(value, "input")]
                if isinstance(value, str)
                else read_texts(value, "input")
            )
        ),
        WithJsonSchema({"oneOf": [_TEXT, _TEXTS]}),
    ]


Model = TypeVar("Model", bound=BaseModel)


def parse(request: type[Model], body: bytes) -> Model:
    """Read a request's body.

    Raises:
        ApiError: 400, with the first thing that is wrong.
    """
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ApiError(
            400, "invalid_json", f"the body is no valid JSON in UTF-8: {error}."
        ) from error
    if not isinstance(content, dict):
        raise ApiError(400, "invalid_json", f"the body must be a JSON object, got {kind(content)}.")
    try:
        return request.model_validate(content)
    except ValidationError as error:
        raise _refusal(request, error) from error


def _refusal(request: type[BaseModel], error: ValidationError) -> ApiError:
    # A union reports each of its branches; the message of ours is the one that helps.
    problems = error.errors(include_url=False, include_context=True)
    problem = next((one for one in problems if one["type"] == "wrong"), problems[0])
    if problem["type"] == "wrong":
        message = problem["msg"]
        return invalid(message.partition(":")[0].partition("[")[0], message)
    param = str(problem["loc"][0])[:100] if problem["loc"] else "body"
    name = param + "".join(f"[{place}]" for place in problem["loc"][1:] if isinstance(place, int))
    if problem["type"] == "missing":
        return invalid(param, f"{name}: missing; add it.")
    if problem["type"] == "extra_forbidden":
        known = ", ".join(request.model_fields)
        return ApiError(
            400, "unknown_field", f"{name}: unknown field; the fields are {known}.", param
        )
    said = problem["msg"][0].lower() + problem["msg"][1:]
    return invalid(param, f"{name}: {said}, got {_given(problem['input'])}.")
