"""Starting several processes as users do."""

import os
import subprocess
import sys

from tests.tiny import ROOT


def torchrun(*arguments: str, count: int = 2) -> subprocess.CompletedProcess[str]:
    """Start processes of one thread each that hear this machine only."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.run(
        [*command, f"--nproc-per-node={count}", *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
