import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/** Debezium's embedded engine. Its records stay as Kafka Connect has them: nothing is converted. */
final class DebeziumPeer {
    public static void main(String[] arguments) {
        Peer.serve(DebeziumPeer::run);
    }

    private static Peer.Counted run(long wanted, Properties properties) throws Exception {
        long began = System.nanoTime();
        AtomicLong records = new AtomicLong();
        CompletableFuture<Long> arrived = new CompletableFuture<>();
        var engine =
                DebeziumEngine.create(Connect.class)
                        .using(properties)
                        .using((success, message, error) -> arrived.completeExceptionally(
                                new IllegalStateException("the engine ended: " + message, error)))
                        .notifying((batch, committer) -> {
                            committer.markProcessed(batch.get(batch.size() - 1));
                            committer.markBatchFinished();
                            if (records.addAndGet(batch.size()) >= wanted) {
                                arrived.complete(System.nanoTime() - began);
                            }
                        })
                        .build();
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try {
            thread.execute(engine);
            long took = arrived.get();
            engine.close();
            return new Peer.Counted(records.get(), took);
        } finally {
            thread.shutdown();
        }
    }
}
