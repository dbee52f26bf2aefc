//! The custom resource that all benchmarks use, what a benchmark reports, and the two runtimes that are compared.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Instant;

use kube::CustomResource;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Port {
    pub name: String,
    pub port: i32,
}

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "bench.example.com",
    version = "v1",
    kind = "Widget",
    plural = "widgets",
    namespaced,
    status = "WidgetStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpec {
    #[serde(default)]
    pub color: String,
    #[serde(default)]
    pub replicas: i32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    #[serde(default)]
    pub observed_generation: i64,
    #[serde(default)]
    pub ready: i32,
    #[serde(default)]
    pub phase: String,
}

/// Create a client for a kubeconfig file.
pub async fn client(kubeconfig: &str) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.expect("a cluster");
    Client::try_from(config).expect("a client")
}

/// Run a benchmark on tokio's default runtime, or on one thread if the variable ONE_THREAD is set.
pub fn run<F: Future<Output = ()>>(benchmark: F) {
    let runtime = if std::env::var_os("ONE_THREAD").is_some() {
        tokio::runtime::Builder::new_current_thread().enable_all().build()
    } else {
        tokio::runtime::Builder::new_multi_thread().enable_all().build()
    };
    runtime.expect("a runtime").block_on(benchmark);
}

/// Wall and CPU time since a moment.
pub struct Usage {
    begun: Instant,
    cpu: f64,
}

impl Usage {
    pub fn start() -> Self {
        Self { begun: Instant::now(), cpu: cpu_seconds() }
    }

    /// Print what was used since the start, as one line of JSON.
    pub fn report(&self, count: usize) {
        let line = serde_json::json!({
            "wall_seconds": self.begun.elapsed().as_secs_f64(),
            "cpu_seconds": cpu_seconds() - self.cpu,
            "mib": resident_mib(),
            "count": count,
        });
        println!("{line}");
    }
}

/// Return the processor time that this process has used so far.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the given struct only.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "no clock for processor time");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Return the memory of this process in MiB.
pub fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kib: f64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default();
    kib / 1024.0
}

/// Return the memory of this process after the allocator has returned what is free to the system.
pub fn trimmed_mib() -> f64 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::malloc_trim(0) };
    resident_mib()
}
