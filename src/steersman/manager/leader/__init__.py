"""Leader election: ``lease`` has the rules, ``election`` talks to the server, ``leadership`` fences writes."""
