"""The answers of a session: the list, one answer in detail, and the model behind them."""
