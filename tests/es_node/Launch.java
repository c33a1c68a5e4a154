import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * One real Elasticsearch 9 node. The jar of the server on Maven Central has no network layer, so
 * {@code Network} provides one.
 *
 * <p>Some modules are not published, so the node lacks them: Painless scripts, reindex (also
 * delete_by_query and update_by_query), security, ILM.
 *
 * <p>Arguments: MODULES FOLDER HTTP_PORT. Data and logs are in FOLDER. Port 0 means any free port;
 * FOLDER/logs/http.ports names it. With {@code -Des-node.owned=true} the node ends when its
 * standard input closes. That happens when the process that started it ends.
 */
public class Launch {
    public static void main(String[] args) throws Exception {
        if (Boolean.getBoolean("es-node.owned")) Thread.ofPlatform().daemon().start(Launch::dieWithOwner);
        Path modulesFolder = Path.of(args[0]), folder = Path.of(args[1]);
        LogConfigurator.configureESLogging();
        Settings settings = Settings.builder()
            .put("path.home", folder)
            .put("cluster.name", "es-node")
            .put("node.name", "node-0")
            .put("node.portsfile", true)
            .put("network.host", "127.0.0.1")
            .put("http.port", args[2])
            .put("http.type", "jdk")
            .put("transport.type", "none")
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        var environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), folder.resolve("config"), () -> "node-0");
        var modules = PluginsLoader.loadModulesBundles(modulesFolder, true);
        try {
            new Node(environment, PluginsLoader.createPluginsLoader(modules, Set.of(), Map.of(), false)).start();
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
        Thread.currentThread().join();
    }

    private static void dieWithOwner() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            // a broken pipe means the same as a closed one
        }
        Runtime.getRuntime().halt(1);
    }
}
