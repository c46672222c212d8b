"""The engine: encoders come in the background, and until then it says so."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from serve import installed
from serve.encoders.exporting import export_missing
from serve.engine import Engine
from serve.errors import ApiError
from tests.serve.fakes import PATIENCE, Fake, served
from tests.serve.served import PARAMS, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serve.conftest import Tiny


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine(PARAMS)
    yield made
    made.batcher.stop()


def refusal(engine: Engine) -> ApiError:
    with pytest.raises(ApiError) as caught:
        engine.check_loaded()
    assert caught.value.status == 503
    return caught.value


def test_it_is_not_ready_before_the_encoders_are_loaded(engine: Engine) -> None:
    assert not engine.ready
    assert refusal(engine).message == "the encoders are being loaded; try again soon."
    assert refusal(engine).code == "loading"


def test_it_is_not_ready_without_any_encoder_and_says_why(engine: Engine) -> None:
    engine.registry.loaded = True
    assert not engine.ready
    assert refusal(engine).message == "no encoder is served (none was found); see the log."
    engine.registry.refused = {"a-1": "no graph", "b-1": "no tokenizer"}
    assert "(a-1: no graph; b-1: no tokenizer)" in refusal(engine).message
    assert refusal(engine).code == "no_encoder"


def test_it_answers_with_the_first_encoder_and_is_ready_with_the_last(engine: Engine) -> None:
    engine.registry.encoders = {"fake": served(Fake())}
    engine.check_loaded()
    assert not engine.ready
    engine.registry.loaded = True
    assert engine.ready


def test_encoders_are_loaded_in_the_background_and_looked_at_again(
    bert: Tiny, exports: Path
) -> None:
    """The folder of models comes after the service has begun."""
    params = PARAMS.model_copy(
        update={"exported": str(exports), "backend": "onnxruntime-f32", "reload_seconds": 0.001}
    )
    engine = Engine(params)

    async def wait() -> None:
        await until(lambda: engine.registry.loaded)
        assert not engine.registry.encoders
        engine.registry._params = params.model_copy(update={"encoders": {"bert": str(bert.folder)}})
        await until(lambda: engine.ready)

    engine.start()
    asyncio.run(wait())
    engine.stop()
    assert list(engine.registry.encoders) == ["bert"]
    assert not engine.batcher.alive
    assert not engine.registry._thread.is_alive()


def test_a_fault_while_looking_for_encoders_does_not_end_the_looking(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(PARAMS.model_copy(update={"reload_seconds": 0.001}))
    twice = threading.Semaphore(0)

    def fails() -> None:
        twice.release()
        raise OSError("the disk is gone")

    monkeypatch.setattr(engine.registry, "refresh", fails)
    engine.start()
    assert twice.acquire(timeout=PATIENCE)
    assert twice.acquire(timeout=PATIENCE)
    engine.stop()
    assert "the disk is gone" in caplog.text


class TestExportMissing:
    def test_what_is_exported_is_not_exported_again(
        self, bert: Tiny, exports: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr("serve.encoders.exporting.subprocess.Popen")
        assert export_missing([bert.folder], exports, None, threading.Event()) == {}

    def test_without_torch_the_reason_says_where_to_export(
        self, bert: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(installed, "find_spec", lambda _: None)
        reasons = export_missing([bert.folder], tmp_path, None, threading.Event())
        assert "torch is not installed" in reasons[bert.folder]
        assert "python -m serve.encoders.export" in reasons[bert.folder]

    @pytest.mark.verify
    def test_a_process_of_its_own_exports_what_it_can_and_says_why_not(
        self, bert: Tiny, tmp_path: Path
    ) -> None:
        empty = tmp_path / "empty"
        empty.mkdir()
        some = [empty, bert.folder]
        reasons = export_missing(some, tmp_path / "out", None, threading.Event())
        assert list(reasons) == [empty]
        assert "no config.json there" in reasons[empty]
        assert (tmp_path / "out" / bert.exported.folder.name / "graph.onnx").is_file()

    @pytest.mark.verify
    def test_a_stopping_service_does_not_wait_for_an_export(
        self, bert: Tiny, tmp_path: Path
    ) -> None:
        stop = threading.Event()
        stop.set()
        reasons = export_missing([bert.folder], tmp_path, None, stop)
        assert list(reasons) == [bert.folder]
        assert not list(tmp_path.glob("*/graph.onnx"))
