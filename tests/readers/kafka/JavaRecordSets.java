// Wrote java_record_sets.txt: java -cp '<Kafka 4.1 jars>/*' JavaRecordSets.java > java_record_sets.txt
// Per line: magic, codec, timestamp type, base64 of one record set of five records; or "abort"/"commit" and a transaction's end marker.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.TimestampType;

public class JavaRecordSets {
    public static void main(String[] args) {
        for (byte magic = 0; magic <= 2; magic++) {
            for (CompressionType codec : CompressionType.values()) {
                for (TimestampType type : new TimestampType[] {TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME}) {
                    boolean exists = (codec != CompressionType.ZSTD || magic == 2) && (type == TimestampType.CREATE_TIME || magic > 0);
                    if (exists) {
                        System.out.println(magic + " " + codec.name + " " + type.id + " " + base64(recordSet(magic, codec, type)));
                    }
                }
            }
        }
        for (ControlRecordType type : new ControlRecordType[] {ControlRecordType.ABORT, ControlRecordType.COMMIT}) {
            EndTransactionMarker marker = new EndTransactionMarker(type, 5);
            MemoryRecords records = MemoryRecords.withEndTransactionMarker(7L, 1700000000000L, 3, 77L, (short) 2, marker);
            System.out.println(type.name().toLowerCase() + " " + base64(records));
        }
    }

    private static MemoryRecords recordSet(byte magic, CompressionType codec, TimestampType type) {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(ByteBuffer.allocate(4096), magic, Compression.of(codec).build(), type,
            100L, 1700000000999L, -1L, (short) -1, -1, false, false, 3, 4096);
        for (int i = 0; i < 5; i++) {
            Header[] headers = {new RecordHeader("trace", bytes("t" + i)), new RecordHeader("nil", (byte[]) null)};
            builder.appendWithOffset(100L + i + (i > 2 ? 7 : 0), magic == 0 ? -1L : 1700000000000L + i, i == 1 ? null : bytes("key" + i),
                i == 2 ? null : bytes("value value value value value value " + i), magic == 2 && i % 2 == 1 ? headers : new Header[0]);
        }
        return builder.build();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String base64(MemoryRecords records) {
        byte[] bytes = new byte[records.sizeInBytes()];
        records.buffer().get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }
}
