"""What the releases of packages export, need and accept, as their wheels say it."""
