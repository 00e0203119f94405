"""The steps of ``spark-pipelines run`` in one session, which a catalogue in memory needs; answers as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.pipelines import cli
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, handle_pipeline_events, start_run
from pyspark.sql import SparkSession


def main(job: dict[str, Any]) -> None:
    """Make the schema, run the pipeline, and show tables, for each line of standard input."""
    spark = SparkSession.builder.remote(job["remote"]).config(map=job["conf"]).getOrCreate()
    spec_path = Path(job["spec"])
    spec = cli.load_pipeline_spec(spec_path)
    for name, value in spec.configuration.items():
        spark.conf.set(name, value)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {spec.catalog}.{spec.database}")
    for _ in sys.stdin:
        graph = create_dataflow_graph(
            spark,
            default_catalog=spec.catalog,
            default_database=spec.database,
            sql_conf=spec.configuration,
        )
        registry = SparkConnectGraphElementRegistry(spark, graph)
        cli.register_definitions(spec_path, registry, spec, spark, graph)
        events = start_run(
            spark,
            graph,
            full_refresh=[],
            full_refresh_all=False,
            refresh=[],
            dry=False,
            storage=spec.storage,
        )
        handle_pipeline_events(events)
        rows = [[list(row) for row in spark.sql(query).collect()] for query in job["queries"]]
        print(f"answer {json.dumps(rows)}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
