"""The case: its file, its sections, its schedules, the scripts that it names."""
