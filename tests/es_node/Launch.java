import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * One real Elasticsearch 8 or 9 node. The jar of the server on Maven Central has no network layer,
 * so {@code Network} provides one.
 *
 * <p>Some modules are not published, so the node lacks them: Painless scripts, reindex (also
 * delete_by_query and update_by_query), security, ILM.
 *
 * <p>Arguments: MODULES FOLDER KEY=VALUE… These are the settings of the node. Data and logs are in
 * FOLDER. The node ends when its standard input closes.
 */
public class Launch {
    public static void main(String[] args) throws Exception {
        Owner.outlivesTheNode();
        Path modulesFolder = Path.of(args[0]), folder = Path.of(args[1]);
        LogConfigurator.configureESLogging();
        Settings.Builder settings = Settings.builder().put("path.home", folder);
        for (int i = 2; i < args.length; i++) settings.put(args[i].split("=", 2)[0], args[i].split("=", 2)[1]);
        String name = settings.get("node.name");
        var environment = InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), folder.resolve("config"), () -> name);
        var modules = PluginsLoader.loadModulesBundles(modulesFolder);  // only in 8
        var modules = PluginsLoader.loadModulesBundles(modulesFolder, true);  // only in 9
        try {
            new Node(environment, PluginsLoader.createPluginsLoader(modules, Set.of(), Map.of(), false)).start();
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
        Thread.currentThread().join();
    }
}
