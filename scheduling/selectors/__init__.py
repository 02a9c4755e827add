"""What pages, the API and the live feed read. Nothing here writes."""
