"""How a training is started: commands, scripts, notebooks that start them, and the variables and options they give."""
