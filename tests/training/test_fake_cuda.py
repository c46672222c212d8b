"""A step on a GPU mixes no devices and waits for nothing, as far as fake tensors can tell."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.tiny import ROOT

pytestmark = pytest.mark.verify
SOURCE = Path(__file__).with_name("fake_cuda.cpp")


@pytest.fixture(scope="module")
def raised(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each case raised; empty if nothing."""
    if torch.version.cuda is not None:
        pytest.skip("torch is built for CUDA, and brings what would be replaced")
    if shutil.which("g++") is None:
        pytest.skip("g++ is not on the PATH")
    library = tmp_path_factory.mktemp("library") / "fake_cuda.so"
    folder = Path(torch.__file__).parent
    made = ["g++", "-std=c++20", "-shared", "-fPIC", f"-I{folder / 'include'}", str(SOURCE)]
    linked = ["-o", str(library), f"-L{folder / 'lib'}", "-ltorch_cpu", "-lc10"]
    subprocess.run([*made, *linked], check=True)
    program = [sys.executable, "-m", "tests.training.fake_cuda", str(library), str(tiny_bert)]
    done = subprocess.run(program, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    outcomes: dict[str, str] = json.loads(done.stdout)
    return outcomes


def test_steps_of_all_objectives_and_poolings_run_on_the_gpu(raised: dict[str, str]) -> None:
    steps = {name: error for name, error in raised.items() if not name.startswith("mistake")}
    assert len(steps) > 30
    assert {name: error for name, error in steps.items() if error} == {}


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        ("mixes_devices", "at least two devices, cuda:0 and cpu"),
        ("reads", "DataDependentOutputException"),
        ("selects", "DynamicOutputShapeException"),
        ("copies", "WaitError: a copy from cuda:0 to cpu"),
    ],
)
def test_a_mistake_in_a_step_would_be_seen(
    raised: dict[str, str], mistake: str, error: str
) -> None:
    assert error in raised[f"mistake {mistake}"]
