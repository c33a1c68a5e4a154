import java.util.List;
import java.util.Map;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;

/**
 * One node of a real Elasticsearch 7.17 or OpenSearch, with the network layer of the distribution,
 * so several nodes form a cluster. It lacks the modules that {@code Launch} lacks.
 * For OpenSearch, {@code node.py} changes the names of the packages.
 *
 * <p>Arguments: as for {@code Launch}; MODULES is not used.
 */
public class LaunchNetty extends Node {
    private LaunchNetty(Settings settings) {
        super(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> settings.get("node.name")),
            List.of(org.elasticsearch.transport.Netty4Plugin.class), true);  // only in 7
            plugins(), true);  // only in 2
            List.of(new org.elasticsearch.plugins.PluginInfo("netty4", "", "1",  // only in 3
                org.elasticsearch.Version.CURRENT, "21",  // only in 3
                org.elasticsearch.transport.Netty4ModulePlugin.class.getName(), List.of(), false)), true);  // only in 3
    }

    private static List<Class<? extends org.elasticsearch.plugins.Plugin>> plugins() {  // only in 2
        var network = org.elasticsearch.transport.Netty4Plugin.class;  // only in 2
        try {  // only in 2
            Class<?> security = Class.forName("org.opensearch.security.OpenSearchSecurityPlugin");  // only in 2
            return List.of(network, security.asSubclass(org.elasticsearch.plugins.Plugin.class));  // only in 2
        } catch (ClassNotFoundException e) {  // only in 2
            return List.of(network);  // only in 2
        }  // only in 2
    }  // only in 2

    public static void main(String[] args) throws Exception {
        Owner.outlivesTheNode();
        Settings.Builder settings = Settings.builder().put("path.home", args[1]);
        for (int i = 2; i < args.length; i++) settings.put(args[i].split("=", 2)[0], args[i].split("=", 2)[1]);
        try {
            new LaunchNetty(settings.build()).start();
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
        Thread.currentThread().join();
    }
}
