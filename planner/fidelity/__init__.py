"""How well the planner's physics predicts what was measured: rows, closed-loop predictions, backtest, corrections."""
