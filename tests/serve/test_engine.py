"""The engine: encoders come in the background, and until then it says so."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING

import pytest

from pipeline.encoder.version import folder_version
from serve import installed
from serve.encoders.exporting import export_missing
from serve.engine import Engine
from tests.serve.fakes import PATIENCE
from tests.serve.served import PARAMS, on_loop, until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.serve.conftest import Tiny


@on_loop
async def test_encoders_are_loaded_in_the_background_and_looked_at_again(
    bert: Tiny, exports: Path
) -> None:
    """The folder of models comes after the service has begun."""
    params = PARAMS.model_copy(
        update={"exported": str(exports), "backend": "onnxruntime-f32", "reload_seconds": 0.001}
    )
    engine = Engine(params)
    engine.start()
    await until(lambda: engine.registry.loaded)
    assert not engine.registry.encoders
    engine.registry._params = params.model_copy(update={"encoders": {"bert": str(bert.folder)}})
    await until(lambda: engine.ready)
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
    assert all(twice.acquire(timeout=PATIENCE) for _ in range(2))
    engine.stop()
    assert "the disk is gone" in caplog.text


def export_all(
    encoders: Mapping[str, Path], place: Path, *, stopping: bool = False
) -> list[tuple[str, str]]:
    """What `export_missing` says of each, in its order."""
    stop = threading.Event()
    if stopping:
        stop.set()
    return list(export_missing(encoders, place, stop))


class TestExportMissing:
    def test_what_is_exported_is_not_exported_again(
        self, bert: Tiny, exports: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr("serve.encoders.exporting.subprocess.Popen")
        assert export_all({"bert": bert.folder}, exports) == [("bert", "")]

    def test_without_torch_the_reason_says_where_to_export(
        self, bert: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(installed, "find_spec", lambda _: None)
        ((name, reason),) = export_all({"bert": bert.folder}, tmp_path)
        assert name == "bert"
        assert "torch is not installed" in reason
        assert "python -m serve.encoders.export" in reason

    def test_of_a_folder_that_is_gone_it_says_nothing(self, tmp_path: Path) -> None:
        assert export_all({"gone": tmp_path / "gone"}, tmp_path) == [("gone", "")]

    @pytest.mark.verify
    def test_a_process_of_its_own_exports_what_it_can_and_says_why_not(
        self, bert: Tiny, encoder: Path, tmp_path: Path
    ) -> None:
        """What is exported already comes first, since it need not wait."""
        out, empty = tmp_path / "out", tmp_path / "empty"
        empty.mkdir()
        shutil.copytree(bert.exported.folder, out / bert.exported.folder.name)
        (encoder / "README.md").write_text("another version", encoding="utf-8")
        found = export_all({"empty": empty, "new": encoder, "bert": bert.folder}, out)
        assert [name for name, _ in found] == ["bert", "empty", "new"]
        reasons = dict(found)
        assert "no config.json there" in reasons.pop("empty")
        assert set(reasons.values()) == {""}
        assert (out / folder_version(encoder) / "graph.onnx").is_file()

    @pytest.mark.verify
    def test_each_is_given_as_soon_as_it_is_exported(
        self, bert: Tiny, encoder: Path, tmp_path: Path
    ) -> None:
        """And who does not wait for the others ends their exports."""
        (encoder / "README.md").write_text("another version", encoding="utf-8")
        both = {"bert": bert.folder, "new": encoder}
        first = next(iter(export_missing(both, tmp_path, threading.Event())))
        assert first == ("bert", "")
        assert (tmp_path / bert.served.version / "graph.onnx").is_file()

    @pytest.mark.verify
    def test_a_stopping_service_does_not_wait_for_an_export(
        self, bert: Tiny, tmp_path: Path
    ) -> None:
        ((_, reason),) = export_all({"bert": bert.folder}, tmp_path, stopping=True)
        assert reason.startswith("its export failed: status -")
        assert not list(tmp_path.glob("*/graph.onnx"))
