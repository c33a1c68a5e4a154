import java.io.IOException;
import java.io.OutputStream;

/** The process that started the node. */
class Owner {
    /** Ends the node when its standard input closes. That happens when the owner ends. */
    static void outlivesTheNode() {
        Thread watcher = new Thread(() -> {
            try {
                System.in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException e) {
                // a broken pipe means the same as a closed one
            }
            Runtime.getRuntime().halt(1);
        });
        watcher.setDaemon(true);
        watcher.start();
    }
}
