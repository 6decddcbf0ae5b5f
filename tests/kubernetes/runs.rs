//! The real daemon and the real engine, started with the very arguments and the configuration that the chart renders.

use serde_json::Value;

use super::common::{Daemon, PATIENCE, Process, config, eventually, get, run, sloprobe};
use super::objects::{list, one, text};
use super::tools::{plain, template};

fn container(objects: &Value, deployment: &str) -> Value {
    one(objects, "Deployment", deployment)["spec"]["template"]["spec"]["containers"][0].clone()
}

/// The arguments of a container, without those that name places inside of it.
fn args(container: &Value) -> Vec<&str> {
    let inside = |arg: &&str| !arg.starts_with("--listen=") && !arg.starts_with("--config=");
    list(&container["args"]).iter().map(text).filter(inside).collect()
}

#[tokio::test]
async fn what_is_installed_by_default_probes_its_engine() {
    let objects = plain(&template(&[]).good());
    let engine_container = container(&objects, "sloprobe-engine");
    let mut command = sloprobe(&args(&engine_container));
    let engine = Process::spawn(command.args(["--listen", "127.0.0.1:0"])).expect("it starts");
    let address = eventually("the engine's address", PATIENCE, async || {
        let said = engine.stdout();
        let rest = said.split_once("http://").map(|(_, rest)| rest.to_owned());
        rest.and_then(|rest| rest.split_once("/v1").map(|(address, _)| address.to_owned())).ok_or(said)
    })
    .await;

    // The Service's name and port, as the configuration writes them, lead to that engine.
    let service = one(&objects, "Service", "sloprobe-engine");
    let inside = format!("{}:{}", text(&service["metadata"]["name"]), service["spec"]["ports"][0]["port"]);
    let settings = text(&one(&objects, "ConfigMap", "sloprobe")["data"]["sloprobe.toml"]);
    assert!(settings.contains(&inside), "{inside} is not in {settings}");
    let folder = config("");
    let volume = folder.path().to_string_lossy().into_owned();
    let settings = settings.replace(&inside, &address).replace("/var/lib/sloprobe", &volume);
    let path = folder.path().join("sloprobe.toml");
    std::fs::write(&path, settings).expect("it can be written");

    let probe = container(&objects, "sloprobe");
    let mut command = sloprobe(&args(&probe));
    let daemon = Daemon::start(command.current_dir(folder.path()).arg("--config").arg(&path)).await;
    for check in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let page = text(&probe[check]["httpGet"]["path"]);
        eventually(check, PATIENCE, async || get(&daemon.address, page).await).await;
    }
    eventually("a successful probe", PATIENCE, async || {
        let metrics = daemon.metrics().await;
        if metrics.contains("sloprobe_up{target=\"simulated\"} 1\n") { Ok(()) } else { Err(metrics) }
    })
    .await;

    // `helm test` asks the same daemon through its Service.
    let test = &one(&objects, "Pod", "sloprobe-test")["spec"]["containers"][0];
    let service = one(&objects, "Service", "sloprobe");
    let inside = format!("{}:{}", text(&service["metadata"]["name"]), service["spec"]["ports"][0]["port"]);
    let asked: Vec<_> = args(test).iter().map(|arg| arg.replace(&inside, &daemon.address)).collect();
    assert!(asked.iter().any(|arg| arg.contains(&daemon.address)), "{asked:?} does not ask {inside}");
    let ended = run(sloprobe(&[]).args(asked)).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
