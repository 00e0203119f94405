"""Queries seen from outside: the board, and metrics for Prometheus and OpenTelemetry.

* `batch_report`: one micro-batch, as a query's progress reports it;
* `board_server`: serves the board over HTTP, with waitress: the page, its files, and the view as JSON (WSGI);
* `board_view`: the content of the board's page, as JSON: all queries in short, and one of them in full;
* `metrics_export`: ``hw.export_metrics``: metrics of queries, for Prometheus and OpenTelemetry;
* `query_history`: the history of each query: its state, and its last batches;
* `query_watcher`: watches the queries of a session.
"""
