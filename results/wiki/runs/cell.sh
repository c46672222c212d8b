#!/bin/sh
# One cell of the reproduction, from the project's root:
#
#     results/wiki/runs/cell.sh RATE OBJECTIVE SEED [MODELS]
#
# MODELS is where encoders are kept (default: study). With TRANSFER=1 in the environment the cell is measured
# on the transfer tasks too. What a cell left is not made again, so a list of calls that was cut off can be
# started anew. README.md beside this file says what lies where.
set -eu
rate=$1 objective=$2 seed=$3 models=${4:-study}
cell=$objective/$seed
runs=results/wiki/runs
out=$runs/$rate
model=$models/$rate/$cell
export OMP_NUM_THREADS=1

params=$models/$rate/params.yaml
mkdir -p "$models/$rate"
[ -f "$params" ] || python - "$params" "$rate" <<'PYTHON'
import sys
from pathlib import Path

from dvc.utils.hydra import compose_and_dump

path, rate = sys.argv[1:]
conf = str(Path("conf").resolve())
overrides = ["profile=wiki", "train.precision=bf16", f"train.learning_rate={rate}"]
compose_and_dump(path, conf, None, "config", conf, overrides)
PYTHON

[ -d data/study ] || python -m pipeline.prepare --params "$params" --held-out 0.1 \
    --out data/study --report $runs/corpus.json

[ -f "$out/records/$cell.json" ] || {
    python -m pipeline.train --params "$params" --objective "$objective" --seed "$seed" \
        --prepared data/study --model "$model/last" --best "$model/best" \
        --curve "$out/curves/$cell.csv" --dynamics "$out/dynamics/$cell.csv" \
        --checkpoints "$model/checkpoints"
    [ -f $runs/cells.csv ] || echo rate,objective,seed,day,processor >$runs/cells.csv
    processor=$(python -c 'from pipeline.machine.device import processor; print(processor())')
    echo "$rate,$objective,$seed,$(date -u +%F),$processor" >>$runs/cells.csv
    mkdir -p "$out/records/$objective"
    cp "$model/last/triad.json" "$out/records/$cell.json"
}

measured() { # reading, step, tasks, more options
    file=$out/$1/$cell.json encoder=$model/$2 tasks=$3
    shift 3
    [ -f "$file" ] || python -m pipeline.evaluate --encoder "$encoder" --data data/external/senteval \
        --tasks "$tasks" --out "$file" "$@"
}
measured metrics last sts --scores "$out/scores/$cell.npz"
measured best best sts
[ -z "${TRANSFER:-}" ] || measured transfer last transfer

[ -f "$out/held_out/$cell.json" ] || python -m pipeline.measure --encoder "$model/last" \
    --prepared data/study --batch-size 128 --batches 40 --margin 0.3 --temperatures 0.01 0.03 0.05 0.1 0.3 1 3 \
    --steps 0.1 0.2 0.3 0.5 --seed 42 --out "$out/held_out/$cell.json"
