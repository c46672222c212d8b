"""A cluster gives what one process gives; it is left alone by others, and nothing of it is left."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet

from pipeline.embedding.encoding import Encoding
from pipeline.embedding.on_ray import workers_for
from tests.embedding.lab import (
    CHUNK,
    SENTENCES,
    embed,
    embeddings,
    options,
    reference,
    table,
    write_parquet,
    write_text,
)
from tests.tiny import ROOT, WIDTH

ray = pytest.importorskip("ray", reason="needs the extra `ray`")


CLOSE = 1e-5
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
PATIENCE = 300  # seconds; a busy machine takes a minute


@dataclass
class Cluster:
    """Runs the command in a process of its own, on a cluster that it starts.

    Attributes:
        folder: where Ray puts its sockets and logs; by it, its processes are known.
        code: for Python, to be run with the command's arguments.
        heard: addresses at which a process of the cluster listened.
        err: what the last run said on stderr.
    """

    folder: Path
    code: str = "import sys; from pipeline.embed import main; sys.exit(main(sys.argv[1:]))"
    heard: set[str] = field(default_factory=set)
    err: str = ""

    def embed(self, source: Path, output: Path, encoder: Path, *more: str) -> int:
        paths = [str(source), str(output)]
        command = [sys.executable, "-c", self.code, *paths, *options(encoder)]
        command += ["--ray", "local", *more]
        environment = os.environ | {"RAY_TMPDIR": str(self.folder)}
        log = self.folder / "stderr"
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stderr=stderr, start_new_session=True
            )
            end = time.monotonic() + PATIENCE
            while process.poll() is None:
                assert time.monotonic() < end, log.read_text(encoding="utf-8")
                self.heard |= self.listening()
                time.sleep(0.5)
        self.err = log.read_text(encoding="utf-8")
        return process.returncode

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("RAY_TMPDIR") == str(self.folder):
                    found.append(process)
            except psutil.Error:  # it has ended, or is another user's
                continue
        return found

    def listening(self) -> set[str]:
        addresses = set()
        for process in self.processes():
            try:
                connections = process.net_connections("tcp")
            except psutil.Error:
                continue
            addresses |= {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}
        return addresses

    def is_gone(self) -> bool:
        """Within a few seconds: what is told to end needs a moment."""
        for _ in range(40):
            if not self.processes():
                return True
            time.sleep(0.25)
        return False


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    # Names of sockets may have 107 characters, of which pytest's folders take too many.
    folder = Path(tempfile.mkdtemp(prefix="ray"))
    yield Cluster(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.verify
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_local_cluster_resumes_a_run_and_gives_the_same_embeddings_in_order(
    tiny_bert: Path, tmp_path: Path, cluster: Cluster, workers: str
) -> None:
    source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoding, "embed", Mock(side_effect=[ones(), KeyboardInterrupt]))
        assert embed(source, output, tiny_bert) == 130
    assert cluster.embed(source, output, tiny_bert, "--workers", workers) == 0, cluster.err
    found = np.load(output)
    assert np.array_equal(found[:CHUNK], ones())  # made before, and not again
    assert np.abs(found - reference(tiny_bert))[CHUNK:].max() < CLOSE
    assert [path.name for path in tmp_path.glob("out*")] == ["out.npy"]
    assert cluster.heard
    assert cluster.heard <= LOOPBACK
    assert cluster.is_gone()


def ones() -> np.ndarray:
    """A chunk that no encoder gives."""
    return np.ones((CHUNK, WIDTH), np.float32)


# Two machines, as far as Ray can tell; neither has a CPU to spare for reading.
TWO_MACHINES = """
import subprocess, sys

from ray.cluster_utils import Cluster

one = {"num_cpus": 1, "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.1"}
cluster = Cluster(initialize_head=True, head_node_args=one | {"include_dashboard": False})
cluster.add_node(**one)
command = [sys.executable, "-m", "pipeline.embed", *sys.argv[1:], "--ray", cluster.address]
code = subprocess.run(command, check=False).returncode
cluster.shutdown()
sys.exit(code)
"""


@pytest.mark.verify
def test_a_cluster_of_two_machines_reads_and_writes_parquet(
    tiny_bert: Path, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # to listen to itself alone
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    cluster.code = TWO_MACHINES
    source, output = write_parquet(tmp_path / "in.parquet"), tmp_path / "out.parquet"
    more = ["--dtype", "float16", "--normalize"]
    assert cluster.embed(source, output, tiny_bert, "--workers", "2", *more) == 0, cluster.err
    assert embed(source, tmp_path / "plain.parquet", tiny_bert, *more) == 0
    found, expected = embeddings(output), embeddings(tmp_path / "plain.parquet")
    assert found.dtype == np.float16
    assert np.abs(found.astype(np.float32) - expected).max() < 1e-3
    assert parquet.read_table(output).drop_columns("embedding").equals(table())
    assert cluster.heard <= LOOPBACK
    assert cluster.is_gone()


OTHER_ENCODER = """
import sys

from pipeline import embed
from pipeline.embedding import on_ray

on_ray.folder_version = lambda folder: "of another"
sys.exit(embed.main(sys.argv[1:]))
"""


@pytest.mark.verify
def test_a_worker_with_another_encoder_ends_the_run_with_one_sentence(
    tiny_bert: Path, tmp_path: Path, cluster: Cluster
) -> None:
    cluster.code = OTHER_ENCODER
    source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
    assert cluster.embed(source, output, tiny_bert, "--workers", "1") == 1
    assert "Traceback" not in cluster.err
    last = cluster.err.splitlines()[-1]
    assert last.startswith("embed: --encoder: on ")
    assert last.endswith("is not the encoder that it is here; put it on a shared disk, or copy it "
                         "there.")  # fmt: skip
    assert not output.exists()
    assert cluster.is_gone()


INTERRUPTED = """
import os, signal, sys

from pipeline import embed
from pipeline.embedding.unfinished import Unfinished

append, seen = Unfinished.append, []
# What a script starts in the background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupted(*chunk):
    if seen:
        os.killpg(0, signal.SIGINT)  # as a terminal does, workers included
    seen.append(chunk)
    append(*chunk)

Unfinished.append = interrupted
sys.exit(embed.main(sys.argv[1:]))
"""


@pytest.mark.verify
def test_ctrl_c_ends_a_cluster_with_one_sentence_and_keeps_the_finished_chunks(
    tiny_bert: Path, tmp_path: Path, cluster: Cluster
) -> None:
    source, output = write_text(tmp_path / "in.txt", SENTENCES * 5), tmp_path / "out.npy"
    cluster.code = INTERRUPTED
    assert cluster.embed(source, output, tiny_bert, "--workers", "1") == 130, cluster.err
    last = cluster.err.splitlines()[-1]
    assert last == "embed: interrupted; the same command resumes after the last finished chunk."
    assert "Traceback" not in cluster.err
    kept = (tmp_path / "out.npy.parts" / "embeddings").stat().st_size
    assert kept >= CHUNK * WIDTH * 4
    assert not output.exists()
    assert cluster.is_gone()


@pytest.mark.verify
def test_an_address_where_no_cluster_answers_is_one_sentence(
    tiny_bert: Path, tmp_path: Path, cluster: Cluster
) -> None:
    source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
    assert cluster.embed(source, output, tiny_bert, "--ray", "auto") == 1
    last = cluster.err.splitlines()[-1]
    assert last.startswith("embed: --ray: no cluster at 'auto' that can be used (")
    assert last.endswith("start one with `ray start --head`, or give local.")


@pytest.mark.parametrize(
    ("has", "asked", "expected"),
    [
        ({"CPU": 4.0}, None, (4, 0)),
        ({"CPU": 4.0}, 3, (3, 0)),
        ({"CPU": 16.0, "GPU": 2.0}, None, (2, 1)),
        ({"CPU": 1.0, "GPU": 2.0}, None, (1, 1)),
        ({"CPU": 2.0}, 3, None),
        ({"CPU": 16.0, "GPU": 2.0}, 3, None),
        ({}, None, None),
    ],
)
def test_workers_take_what_the_cluster_has_and_more_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    has: dict[str, float],
    asked: int | None,
    expected: tuple[int, int] | None,
) -> None:
    monkeypatch.setattr(ray, "cluster_resources", lambda: has)
    if expected is None:
        with pytest.raises(ValueError, match=r"^--workers: .* are more than the cluster's .* CPUs"):
            workers_for(asked)
    else:
        assert workers_for(asked) == expected
