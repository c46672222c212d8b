"""Where a run takes place: devices and cores, files, exit codes."""
