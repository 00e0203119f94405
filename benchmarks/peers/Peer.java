import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.util.Properties;

/** A program that reads a table, or the changes of one, and does nothing with a record but count it. */
interface Peer {
    /**
     * Reads until so many records have come, and stops. Returns how many came until then, and after how many
     * nanoseconds the last one that was wanted had come.
     */
    Counted run(long wanted, Properties properties) throws Exception;

    record Counted(long records, long nanoseconds) {}

    /** Runs what each line of stdin asks for, a number and a file of properties; answers on stdout. */
    static void serve(Peer peer) {
        try (var commands = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                String[] parts = line.split(" ", 2);
                Properties properties = new Properties();
                try (FileReader file = new FileReader(parts[1])) {
                    properties.load(file);
                }
                Counted counted = peer.run(Long.parseLong(parts[0]), properties);
                System.out.println(counted.records() + " " + counted.nanoseconds());
            }
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1); // threads of the peer would go on
        }
        System.exit(0);
    }
}
