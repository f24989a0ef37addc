// TuningConfigRegistry, but no entry
