"""Charts for pages and notebooks: plain dictionaries that plotly.js and ``plotly.graph_objects.Figure`` both take."""
