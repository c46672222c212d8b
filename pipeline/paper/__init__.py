"""The paper's argument, made again: simulation, study of encoders, ablation, tables, report."""
