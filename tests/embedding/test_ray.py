"""A cluster gives what one process gives; it is left alone by others, and nothing of it is left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet

from pipeline.embedding.plan import parts_folder
from pipeline.encoder.encoder import SentenceEncoder
from tests.embedding.lab import (
    CHUNK,
    embed,
    embeddings,
    reference,
    table,
    write_parquet,
    write_text,
)
from tests.tiny import ROOT

pytest.importorskip("ray", reason="needs the extra `ray`")

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        options = ["--encoder", str(encoder), "--chunk", str(CHUNK), "--batch-size", "4"]
        paths = [str(source), str(output)]
        command = [sys.executable, "-c", self.code, *paths, *options, "--ray", "local", *more]
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


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.verify)])
def test_a_local_cluster_goes_on_with_a_run_and_gives_the_same_embeddings_in_order(
    tiny_bert: Path, tmp_path: Path, cluster: Cluster, workers: str
) -> None:
    source, output = write_text(tmp_path / "in.txt.xz"), tmp_path / "out.npy"
    stopped_after_one_chunk(source, output, tiny_bert)
    assert cluster.embed(source, output, tiny_bert, "--workers", workers) == 0, cluster.err
    found = np.load(output)
    assert np.abs(found - reference(tiny_bert)).max() < CLOSE
    assert not parts_folder(output).exists()
    assert cluster.heard
    assert cluster.heard <= LOOPBACK
    assert cluster.is_gone()


def stopped_after_one_chunk(source: Path, output: Path, encoder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seen: list[int] = []

        def stop(*_: object) -> np.ndarray:
            seen.append(1)
            if len(seen) == 2:
                raise KeyboardInterrupt
            return np.asarray(real(*_))  # type: ignore[arg-type]

        real = SentenceEncoder.encode_ids
        patch.setattr(SentenceEncoder, "encode_ids", stop)
        assert embed(source, output, encoder) == 130
    assert (parts_folder(output) / "finished").read_text(encoding="ascii") == "0\n"


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
    more = ["--dtype", "float16", "--normalise"]
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

embed.folder_version = lambda folder: "of another"
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


@pytest.mark.verify
def test_an_interrupted_cluster_ends_and_keeps_the_finished_chunks(
    tiny_bert: Path, tmp_path: Path, cluster: Cluster
) -> None:
    """Interrupted as the second chunk comes back."""
    sentences = [f"sentence {row}" for row in range(5 * CHUNK)]
    source, output = write_text(tmp_path / "in.txt", sentences), tmp_path / "out.npy"
    cluster.code = (
        "import sys\n"
        "from pipeline.embed import main\n"
        "from pipeline.embedding.parts import Parts\n"
        "write, seen = Parts.write, []\n"
        "def interrupted(*chunk):\n"
        "    seen.append(chunk)\n"
        "    if len(seen) == 2: raise KeyboardInterrupt\n"
        "    write(*chunk)\n"
        "Parts.write = interrupted\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    assert cluster.embed(source, output, tiny_bert, "--workers", "1") == 130, cluster.err
    last = cluster.err.splitlines()[-1]
    assert last == "embed: interrupted; the same command goes on after the last finished chunk."
    assert (parts_folder(output) / "finished").read_bytes().count(b"\n") == 1
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
