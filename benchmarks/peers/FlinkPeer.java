import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cdc.connectors.base.options.StartupOptions;
import org.apache.flink.cdc.connectors.postgres.source.PostgresSourceBuilder;
import org.apache.flink.cdc.connectors.shaded.org.apache.kafka.connect.source.SourceRecord;
import org.apache.flink.cdc.debezium.DebeziumDeserializationSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** Flink CDC in a cluster of this process: its incremental snapshot, or the changes of a slot. */
final class FlinkPeer {
    private static final LongAdder RECORDS = new LongAdder();

    public static void main(String[] arguments) {
        Peer.serve(FlinkPeer::run);
    }

    private static Peer.Counted run(long wanted, Properties properties) throws Exception {
        RECORDS.reset();
        long began = System.nanoTime();
        boolean snapshot = properties.getProperty("startup").equals("snapshot");
        var source =
                PostgresSourceBuilder.PostgresIncrementalSource.<Integer>builder()
                        .hostname(properties.getProperty("hostname"))
                        .port(Integer.parseInt(properties.getProperty("port")))
                        .database(properties.getProperty("database"))
                        .username(properties.getProperty("username"))
                        .password(properties.getProperty("password"))
                        .schemaList("public")
                        .tableList(properties.getProperty("table"))
                        .slotName(properties.getProperty("slot"))
                        .decodingPluginName("pgoutput")
                        .splitSize(Integer.parseInt(properties.getProperty("splitSize")))
                        .fetchSize(Integer.parseInt(properties.getProperty("fetchSize")))
                        .startupOptions(snapshot ? StartupOptions.snapshot() : StartupOptions.committed())
                        .debeziumProperties(debezium(properties))
                        .deserializer(new Count())
                        .build();
        Configuration once = new Configuration();
        once.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        var environment = StreamExecutionEnvironment.createLocalEnvironment(2, once);
        environment.enableCheckpointing(1_000);
        environment
                .fromSource(source, WatermarkStrategy.noWatermarks(), "changes")
                .sinkTo(new DiscardingSink<>());
        var job = environment.executeAsync();
        var ended = job.getJobExecutionResult();
        while (RECORDS.sum() < wanted && !ended.isDone()) {
            Thread.sleep(2);
        }
        long took = System.nanoTime() - began;
        if (snapshot || ended.isDone()) {
            ended.get();
        } else {
            job.cancel().get();
            ended.handle((result, cancelled) -> result).get();
        }
        return new Peer.Counted(RECORDS.sum(), took);
    }

    private static Properties debezium(Properties properties) {
        Properties found = new Properties();
        for (String name : properties.stringPropertyNames()) {
            if (name.startsWith("debezium.")) {
                found.setProperty(name.substring("debezium.".length()), properties.getProperty(name));
            }
        }
        return found;
    }

    /** Counts a record, and hands on a number instead of it. */
    private static final class Count implements DebeziumDeserializationSchema<Integer> {
        @Override
        public void deserialize(SourceRecord record, Collector<Integer> out) {
            RECORDS.increment();
            out.collect(1);
        }

        @Override
        public TypeInformation<Integer> getProducedType() {
            return Types.INT;
        }
    }
}
