//! Measures kube-rs' reflector: the cold sync of all widgets, what they take, then the ingest of updates.
//!
//! ```text
//! informer KUBECONFIG OBJECTS UPDATES [list|stream]
//! ```

use bench::{Usage, Widget, client, run, trimmed_mib};
use futures::{StreamExt, pin_mut};
use kube::Api;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, reflector, watcher};

fn main() {
    run(async {
        let arguments: Vec<String> = std::env::args().collect();
        let (objects, updates): (usize, usize) = (arguments[2].parse().unwrap(), arguments[3].parse().unwrap());
        let config = match arguments.get(4).map(String::as_str) {
            Some("stream") => watcher::Config::default().streaming_lists(),
            _ => watcher::Config::default(),
        };
        let client = client(&arguments[1]).await;
        let before = trimmed_mib();
        let usage = Usage::start();
        let (store, writer) = reflector::store();
        let stream = watcher(Api::<Widget>::all(client), config).default_backoff().reflect(writer);
        pin_mut!(stream);
        while let Some(event) = stream.next().await {
            if matches!(event.expect("a watch"), Event::InitDone) {
                break;
            }
        }
        assert_eq!(store.len(), objects, "objects in the store");
        usage.report(objects);
        if updates == 0 {
            return;
        }
        println!("{{\"cached_mib\": {:.2}}}", trimmed_mib() - before);
        let usage = Usage::start();
        let mut seen = 0;
        while seen < updates {
            if let Some(Ok(Event::Apply(_))) = stream.next().await {
                seen += 1;
            }
        }
        usage.report(updates);
    });
}
