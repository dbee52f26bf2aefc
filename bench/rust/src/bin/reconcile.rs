//! Measures a controller of kube-rs: one status patch an object, with a limit of reconciles at the same time.
//!
//! ```text
//! reconcile KUBECONFIG OBJECTS WORKERS
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bench::{Usage, Widget, client, run};
use futures::StreamExt;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Config};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::Notify;

struct Context {
    client: Client,
    wanted: usize,
    count: AtomicUsize,
    done: Notify,
}

async fn reconcile(object: Arc<Widget>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let generation = object.metadata.generation.unwrap_or_default();
    if object.status.as_ref().is_some_and(|status| status.observed_generation == generation) {
        return Ok(Action::await_change());
    }
    let patch = serde_json::json!({"status": {
        "observedGeneration": generation, "ready": object.spec.replicas, "phase": "Ready"}});
    let namespace = object.namespace().unwrap_or_default();
    let widgets: Api<Widget> = Api::namespaced(context.client.clone(), &namespace);
    widgets.patch_status(&object.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await?;
    if context.count.fetch_add(1, Ordering::Relaxed) + 1 == context.wanted {
        context.done.notify_one();
    }
    Ok(Action::await_change())
}

fn on_error(_: Arc<Widget>, error: &kube::Error, _: Arc<Context>) -> Action {
    eprintln!("{error}");
    Action::requeue(Duration::from_secs(1))
}

fn main() {
    run(async {
        let arguments: Vec<String> = std::env::args().collect();
        let (wanted, workers): (usize, u16) = (arguments[2].parse().unwrap(), arguments[3].parse().unwrap());
        let client = client(&arguments[1]).await;
        let usage = Usage::start();
        let count = AtomicUsize::new(0);
        let context = Arc::new(Context { client: client.clone(), wanted, count, done: Notify::new() });
        let controller = Controller::new(Api::<Widget>::all(client), watcher::Config::default())
            .with_config(Config::default().concurrency(workers))
            .run(reconcile, on_error, context.clone())
            .for_each(|_| async {});
        tokio::select! {
            () = controller => panic!("the controller ended"),
            () = context.done.notified() => usage.report(wanted),
        }
    });
}
