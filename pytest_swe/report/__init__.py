"""What is written about a run: instance logs, run reports, summaries. One file per format."""
