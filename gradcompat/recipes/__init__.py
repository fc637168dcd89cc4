"""What can be measured, and what measured numbers mean: the table of recipes, and the verdicts."""
