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
            List.of(org.elasticsearch.transport.Netty4Plugin.class), true);  // only in 2
            List.of(new org.elasticsearch.plugins.PluginInfo("netty4", "", "1",  // only in 3
                org.elasticsearch.Version.CURRENT, "21",  // only in 3
                org.elasticsearch.transport.Netty4ModulePlugin.class.getName(), List.of(), false)), true);  // only in 3
    }

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
