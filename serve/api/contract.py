"""What requests may contain and what answers look like; the OpenAPI document is made from both.

A request is JSON -> one of the models here, or an ApiError that names the field or item. Answers
are only described: no model checks 100,000 floats on their way out. Not here: what depends on an
encoder (its vocabulary, length and dimensions), limits of the whole service.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    PlainValidator,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, from_json

from serve.errors import ApiError, invalid

Input = str | list[int]

# Anchors of one look at a gradient, whose answer grows with their square.
MOST_ANCHORS = 64
# Of a hyperparameter that is a word; of one that is a whole number, which float64 has exactly.
_LONGEST_WORD, _GREATEST_WHOLE = 40, 1 << 53


def _wrong(sentence: str) -> PydanticCustomError:
    """A problem in our words, which follow the name of the field or item."""
    return PydanticCustomError("wrong", "{sentence}", {"sentence": sentence})


def _expected(what: str) -> PydanticCustomError:
    """The same where the value is of another kind, which is said too."""
    return PydanticCustomError("expected", "expected {what}", {"what": what})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _expected("a text")
    if not value or value.isspace():
        what = "blank" if value else "empty"
        raise _wrong(f"the text is {what}; give one that says something.")
    return value


def _token_id(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _expected("a token id")
    if value < 0:
        raise _wrong("expected a token id, got a negative number.")
    return value


def _list_of(items: str, item: str) -> BeforeValidator:
    """A list that is not empty; its items are checked afterwards."""

    def check(value: object) -> object:
        if not isinstance(value, list):
            raise _expected(f"a list of {items}")
        if not value:
            raise _wrong(f"the list is empty; give at least one {item}.")
        return value

    return BeforeValidator(check)


def _pairs(value: object) -> object:
    if value == []:
        raise _wrong("expected a list of pairs of texts, got an empty one.")
    if not isinstance(value, list):
        raise _expected("a list of pairs of texts")
    return value


def _pair(value: object) -> object:
    if not isinstance(value, list):
        raise _expected("two texts")
    if len(value) != 2:
        raise _wrong(f"expected two texts, got a list of {len(value)}.")
    return tuple(value)


def _hyperparameters(value: object) -> dict[str, int | float | str]:
    if not isinstance(value, dict):
        raise _expected("an object")
    for name, setting in value.items():
        short = repr(name[:40])
        if isinstance(setting, bool) or not isinstance(setting, int | float | str):
            raise _wrong(f"expected a number or a word for {short}, got {_kind(setting)}.")
        if isinstance(setting, str) and len(setting) > _LONGEST_WORD:
            raise _wrong(f"the word for {short} is too long; give a shorter one.")
        if isinstance(setting, int) and abs(setting) > _GREATEST_WHOLE:
            # torch takes whole numbers of 64 bits only; these are not exact in its arithmetic.
            raise _wrong(f"the whole number for {short} is too large; write it as 1e30.")
    return value


def _shape(value: object) -> str | None:
    """Which of OpenAI's four forms an input has."""
    if isinstance(value, str):
        return "text"
    if not isinstance(value, list):
        return None
    first = value[0] if value else None
    if isinstance(first, list):
        return "lists of ids"
    return "ids" if isinstance(first, int) and not isinstance(first, bool) else "texts"


Text = Annotated[
    str,
    PlainValidator(_text),
    WithJsonSchema({"type": "string", "minLength": 1, "pattern": r"\S"}),
]
Texts = Annotated[list[Text], Field(min_length=1, fail_fast=True), _list_of("texts", "text")]
TokenId = Annotated[
    int, PlainValidator(_token_id), WithJsonSchema({"type": "integer", "minimum": 0})
]
TokenIds = Annotated[
    list[TokenId], Field(min_length=1, fail_fast=True), _list_of("token ids", "token id")
]
Pair = Annotated[tuple[Text, Text], BeforeValidator(_pair)]


class Request(BaseModel):
    """What all requests share.

    Unknown fields are refused, values are not converted, and null is as good as absent where a
    field may be absent.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, content: dict[str, Any]) -> dict[str, Any]:
        if None not in content.values():
            return content
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {
            name: value
            for name, value in content.items()
            if value is not None or name not in optional
        }

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        for name, field in schema["properties"].items():
            if name not in schema.get("required", ()) and field.get("default") is not None:
                outside = {key: field.pop(key) for key in ("default", "title")}
                schema["properties"][name] = outside | {"anyOf": [field, {"type": "null"}]}
        return schema


class TruncatingRequest(Request):
    """A request whose texts are encoded."""

    truncate: bool = Field(
        default=True, description="cut texts that are too long (and say so); false refuses them"
    )


class EmbeddingsRequest(TruncatingRequest):
    """OpenAI's request for embeddings, with `truncate`, `normalize` and `prompt_name`."""

    model: str
    input: Annotated[
        Annotated[Text, Tag("text")]
        | Annotated[Texts, Tag("texts")]
        | Annotated[TokenIds, Tag("ids")]
        | Annotated[list[TokenIds], Field(min_length=1, fail_fast=True), Tag("lists of ids")],
        Discriminator(
            _shape,
            custom_error_type="expected",
            custom_error_message="expected a text, a list of texts, a list of token ids or a list "
            "of such lists",
        ),
    ]
    encoding_format: Literal["float", "base64"] = Field(
        "float", description="base64: float32, little-endian"
    )
    dimensions: int | None = Field(
        None, ge=1, description="one of the encoder's dimensions: cut, then of length one"
    )
    normalize: bool = Field(
        default=True, description="scale to length one; false: as the encoder's pooling gives it"
    )
    prompt_name: str | None = Field(
        None, description="one of the encoder's prompts, put before each text; null: its default"
    )
    user: str | None = Field(None, description="accepted and not used")

    @property
    def inputs(self) -> list[Input]:
        """The texts, or each text's token ids."""
        single = isinstance(self.input, str) or isinstance(self.input[0], int)
        return cast("list[Input]", [self.input] if single else self.input)


class _Compared(TruncatingRequest):
    """Texts to compare: pairs, or all sources with all targets."""

    pairs: (
        Annotated[list[Pair], Field(min_length=1, fail_fast=True), BeforeValidator(_pairs)] | None
    ) = None
    sources: Texts | None = None
    targets: Texts | None = None

    @model_validator(mode="after")
    def _pairs_or_matrix(self) -> Self:
        matrix = self.sources is not None and self.targets is not None
        if (self.sources is None) != (self.targets is None) or matrix == (self.pairs is not None):
            raise _wrong("pairs: give either pairs, or both sources and targets.")
        return self

    @property
    def texts(self) -> list[str]:
        """All texts in the order of `name`."""
        if self.pairs is not None:
            return [text for pair in self.pairs for text in pair]
        return [*(self.sources or ()), *(self.targets or ())]

    def name(self, index: int) -> str:
        """How the text of that index is named in messages."""
        if self.pairs is not None:
            return f"pairs[{index // 2}][{index % 2}]"
        sources = len(self.sources or ())
        return f"sources[{index}]" if index < sources else f"targets[{index - sources}]"


class SimilarityRequest(_Compared):
    """Cosines of pairs, or of all sources with all targets, by one encoder or several."""

    model: str | None = None
    models: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if (self.model is None) == (self.models is None):
            raise _wrong("model: give either model or models.")
        if self.models is not None and len(set(self.models)) < len(self.models):
            raise _wrong("models: an encoder stands there more than once.")
        return self

    @property
    def wanted(self) -> Sequence[str]:
        """The encoders asked for."""
        return self.models or [self.model or ""]


class SearchRequest(TruncatingRequest):
    """The documents that are nearest to a query by cosine."""

    model: str
    query: Text
    documents: Texts
    top_k: int = Field(10, ge=1, description="how many documents to give; fewer if there are fewer")


class ComponentsRequest(TruncatingRequest):
    """A batch of sentences whose gradient, by some objective, is to be taken apart."""

    model: str
    anchors: Annotated[Texts, Field(json_schema_extra={"minItems": 2, "maxItems": MOST_ANCHORS})]
    positives: Texts | None = Field(
        None, description="one for each anchor; null: two dropout views of the anchors"
    )
    seed: int = Field(0, ge=0, lt=1 << 63, description="of the dropout")
    objective: str | None = Field(
        None, description="one of /v1/objectives; null: the one that the encoder was trained by"
    )
    hyperparameters: (
        Annotated[
            dict[str, int | float | str],
            PlainValidator(_hyperparameters),
            WithJsonSchema(
                {"type": "object", "additionalProperties": {"type": ["number", "string"]}}
            ),
        ]
        | None
    ) = Field(None, description="others than those in the encoder's record, or than the usual ones")
    step: float = Field(
        0.1, gt=0, le=10, description="mean length of the steps of the anchors that move at all"
    )
    embeddings: bool = Field(default=False, description="give the embeddings of both views too")

    @model_validator(mode="after")
    def _batch(self) -> Self:
        count = len(self.anchors)
        if not 2 <= count <= MOST_ANCHORS:
            raise _wrong(f"anchors: give 2 to {MOST_ANCHORS} texts, got {count}.")
        if self.positives is not None and len(self.positives) != count:
            raise _wrong(
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


class TokenizeRequest(Request):
    """Texts to divide into an encoder's tokens; nothing is cut."""

    model: str
    input: Annotated[
        Annotated[Text, Tag("text")] | Annotated[Texts, Tag("texts")],
        Discriminator(lambda value: "text" if isinstance(value, str) else "texts"),
    ]

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class EncodeRequest(TruncatingRequest):
    """The arguments of the service's BentoML method `encode`."""

    texts: Texts
    model: str | None = None
    normalize: bool = True


class CompareRequest(_Compared):
    """The arguments of the service's BentoML method `similarity`."""

    model: str | None = None


Model = TypeVar("Model", bound=Request)


def parse(request: type[Model], body: bytes | bytearray) -> Model:
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
        raise ApiError(
            400, "invalid_json", f"the body must be a JSON object, got {_kind(content)}."
        )
    return check(request, content)


def check(request: type[Model], content: Mapping[str, Any]) -> Model:
    """The request of that kind with these fields.

    Raises:
        ApiError: 400, with the first thing that is wrong.
    """
    try:
        return request.model_validate(content)
    except ValidationError as error:
        raise _refusal(request, error) from error


def _refusal(request: type[Request], error: ValidationError) -> ApiError:
    """The first of pydantic's errors, as one sentence."""
    problem = error.errors(include_url=False)[0]
    kind, message, place = problem["type"], problem["msg"], problem["loc"]
    if not place:  # of the request as a whole; the sentence begins with the field
        return invalid(message.partition(":")[0], message)
    param = str(place[0])[:100]
    name = param + "".join(f"[{part}]" for part in place[1:] if isinstance(part, int))
    if kind == "extra_forbidden":
        fields = ", ".join(request.model_fields)
        return ApiError(
            400, "unknown_field", f"{name}: unknown field; the fields are {fields}.", param
        )
    if kind == "missing":
        message = "missing; add it."
    elif kind == "expected":
        message = f"{message}, got {_kind(problem['input'])}."
    elif kind != "wrong":
        message = f"{message[0].lower()}{message[1:]}, got {_quoted(problem['input'])}."
    return invalid(param, f"{name}: {message}")


def _kind(value: object) -> str:
    """What a JSON value is, in words."""
    kinds = {str: "a text", bool: "true or false", int: "a number", float: "a number"}
    more = {list: "a list", dict: "an object", type(None): "null"}
    return (kinds | more).get(type(value), type(value).__name__)


def _quoted(value: object) -> str:
    """A short value itself, otherwise its kind."""
    short = isinstance(value, str | int | float) and len(f"{value}") <= 40
    return repr(value) if short and not isinstance(value, bool) else _kind(value)


class Usage(BaseModel):
    """Tokens that were encoded."""

    prompt_tokens: int
    total_tokens: int


class Embedding(BaseModel):
    """One input's embedding, as numbers or as base64."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str
    truncated: bool


class Embeddings(BaseModel):
    """The answer of /v1/embeddings, in the order of the inputs."""

    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: Usage


class Cosines(BaseModel):
    """One encoder's cosines, and the names of the texts that it cut."""

    model: str
    version: str
    similarities: list[float] | list[list[float]]
    truncated: list[str]


class Similarities(BaseModel):
    """The answer of /v1/similarity, in the order of the encoders."""

    object: Literal["list"]
    data: list[Cosines]
    usage: Usage


class SearchResult(BaseModel):
    """A document, its place in the request and its cosine to the query."""

    object: Literal["search_result"]
    index: int
    score: float
    document: str
    truncated: bool


class SearchResults(BaseModel):
    """The answer of /v1/search, the nearest first."""

    object: Literal["list"]
    model: str
    version: str
    data: list[SearchResult]
    usage: Usage


class TokenizedText(BaseModel):
    """A text's tokens, and whether it would be cut for an embedding."""

    index: int
    ids: list[int]
    tokens: list[str]
    count: int
    truncated: bool


class Tokens(BaseModel):
    """The answer of /v1/tokenize."""

    object: Literal["list"]
    model: str
    version: str
    max_length: int
    data: list[TokenizedText]


# Null where a number would not be finite.
Finite = float | None


class PositiveStep(BaseModel):
    """Cosines with the positives."""

    before: list[float]
    after: list[Finite]


class NegativeStep(PositiveStep):
    """Cosines with each anchor's nearest negative, and which that is."""

    index: list[int]


class Step(BaseModel):
    """What a step against the gradient changes."""

    size: float
    positive: PositiveStep
    hardest_negative: NegativeStep


class BothViews(BaseModel):
    """The embeddings of a batch, not normalized; row i belongs to anchor i."""

    anchor: list[list[float]]
    positive: list[list[float]]


class Components(BaseModel):
    """The answer of /v1/components; row i belongs to anchor i."""

    object: Literal["components"]
    model: str
    version: str
    objective: str
    hyperparameters: dict[str, Any]
    views: Literal["given", "dropout"]
    cosines: list[list[float]]
    own_cosines: list[list[float]]
    dissipation: list[Finite]
    weight: list[list[Finite]]
    pull: list[Finite]
    ratio: list[Finite]
    step: Step
    embeddings: BothViews | None = None
    truncated: list[str]
    usage: Usage


class ObjectiveCard(BaseModel):
    """What may be asked of /v1/components; `loss` is null for Triad's own objectives."""

    id: str
    object: Literal["objective"]
    loss: str | None
    hyperparameters: dict[str, float | str | None]


class Objectives(BaseModel):
    """The answer of /v1/objectives."""

    object: Literal["list"]
    data: list[ObjectiveCard]


class ModelCard(BaseModel):
    """An encoder that is served; null is what is not known of it."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    version: str
    dimension: int
    dimensions: list[int]
    max_length: int
    pooling: str
    normalized: bool
    prompts: dict[str, str]
    default_prompt: str | None
    backend: str
    agreement: float
    objective: str | None = None
    hyperparameters: dict[str, Any] | None = None
    seed: int | None = None
    backbone: dict[str, Any] | None = None
    training_data: dict[str, Any] | None = None
    sts: dict[str, Any] | None = None
    sts_average: float | None = None
    sts_average_label: str | None = None
    sts_data: str | None = None
    cosine_quantiles: list[float] | None = None


class ModelCards(BaseModel):
    """The answer of /v1/models."""

    object: Literal["list"]
    data: list[ModelCard]


class Training(BaseModel):
    """An encoder's training record and curve."""

    object: Literal["training"]
    model: str
    version: str
    curve: list[dict[str, Any]]


class Results(BaseModel):
    """The comparison of objectives."""

    object: Literal["results"]


class Problem(BaseModel):
    """What is wrong, in one sentence, for programs in one word, and which field is to blame."""

    message: str
    type: str
    param: str | None
    code: str


class Error(BaseModel):
    """Every answer that is none, in OpenAI's shape."""

    error: Problem
