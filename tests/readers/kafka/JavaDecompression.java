// Wrote java_decompression.txt: java -cp '<Kafka 4.1 jars>/*' JavaDecompression.java < java_decompression.txt > out
// Per line: codec, how many bytes the records have, the compressed bytes in hex; behind them what Kafka's consumer makes of that:
// "read", or "refused", as DefaultRecordBatch reads so many bytes and then makes sure that there are no more.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

public class JavaDecompression {
    public static void main(String[] args) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            byte[] body = HexFormat.of().parseHex(words[2]);
            System.out.println(words[0] + " " + words[1] + " " + words[2] + " " + outcome(words[0], Integer.parseInt(words[1]), body));
        }
    }

    private static String outcome(String codec, int size, byte[] body) {
        Compression compression = Compression.of(CompressionType.forName(codec)).build();
        try (InputStream records = compression.wrapForInput(ByteBuffer.wrap(body), RecordBatch.MAGIC_VALUE_V2, BufferSupplier.create())) {
            return records.readNBytes(size).length == size && records.read() == -1 ? "read" : "refused";
        } catch (IOException | RuntimeException | Error error) {
            return "refused";
        }
    }
}
