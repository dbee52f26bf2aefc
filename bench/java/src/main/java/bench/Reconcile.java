package bench;

import com.sun.management.OperatingSystemMXBean;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;
import io.javaoperatorsdk.operator.Operator;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.ControllerConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.Reconciler;
import io.javaoperatorsdk.operator.api.reconciler.UpdateControl;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Measures an operator of java-operator-sdk: one status patch an object. Arguments: KUBECONFIG OBJECTS WORKERS. */
public final class Reconcile {

  public static final class Port {
    public String name;
    public int port;
  }

  public static final class Spec {
    public String color;
    public int replicas;
    public Map<String, String> settings;
    public List<Port> ports;
    public List<String> notes;
  }

  public static final class Status {
    public Long observedGeneration;
    public int ready;
    public String phase;
  }

  @Group("bench.example.com")
  @Version("v1")
  public static final class Widget extends CustomResource<Spec, Status> implements Namespaced {}

  @ControllerConfiguration
  public static final class WidgetReconciler implements Reconciler<Widget> {
    private final int wanted;
    private final AtomicInteger count = new AtomicInteger();
    private final CountDownLatch done = new CountDownLatch(1);

    WidgetReconciler(int wanted) {
      this.wanted = wanted;
    }

    @Override
    public UpdateControl<Widget> reconcile(Widget widget, Context<Widget> context) {
      Long generation = widget.getMetadata().getGeneration();
      Status status = widget.getStatus();
      if (status != null && generation.equals(status.observedGeneration)) {
        // The status was patched after the run before: this is the event of that write.
        return UpdateControl.noUpdate();
      }
      Status wished = new Status();
      wished.observedGeneration = generation;
      wished.ready = widget.getSpec().replicas;
      wished.phase = "Ready";
      widget.setStatus(wished);
      if (count.incrementAndGet() == wanted) {
        done.countDown();
      }
      return UpdateControl.patchStatus(widget);
    }
  }

  private static double cpuSeconds() {
    var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return system.getProcessCpuTime() / 1e9;
  }

  private static double residentMib() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return Double.parseDouble(line.replaceAll("[^0-9]", "")) / 1024;
      }
    }
    return 0;
  }

  public static void main(String[] arguments) throws Exception {
    var config = Config.fromKubeconfig(Files.readString(Path.of(arguments[0])));
    var reconciler = new WidgetReconciler(Integer.parseInt(arguments[1]));
    long begun = System.nanoTime();
    double cpu = cpuSeconds();
    var client = new KubernetesClientBuilder().withConfig(config).build();
    var operator =
        new Operator(
            overrider ->
                overrider
                    .withKubernetesClient(client)
                    .withConcurrentReconciliationThreads(Integer.parseInt(arguments[2])));
    operator.register(reconciler);
    operator.start();
    reconciler.done.await();
    System.out.printf(
        "{\"wall_seconds\": %.3f, \"cpu_seconds\": %.3f, \"mib\": %.1f}%n",
        (System.nanoTime() - begun) / 1e9, cpuSeconds() - cpu, residentMib());
    Runtime.getRuntime().halt(0);
  }
}
