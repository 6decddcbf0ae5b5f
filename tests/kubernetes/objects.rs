//! What must hold between rendered objects, beyond the schema of each.

use std::collections::BTreeSet;

use serde_json::Value;

/// `Kind name`, for messages.
pub fn name(object: &Value) -> String {
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn of_kind<'a>(objects: &'a Value, kind: &str) -> Vec<&'a Value> {
    list(objects).iter().filter(|object| object["kind"] == kind).collect()
}

/// The one object of a kind with this name.
pub fn one<'a>(objects: &'a Value, kind: &str, name: &str) -> &'a Value {
    let found: Vec<_> =
        of_kind(objects, kind).into_iter().filter(|object| object["metadata"]["name"] == name).collect();
    assert_eq!(found.len(), 1, "one {kind} {name} in {objects:#}");
    found[0]
}

/// A pod that will run: its labels and its spec.
#[derive(Debug, Clone, Copy)]
struct Pod<'a> {
    owner: &'a Value,
    labels: &'a Value,
    spec: &'a Value,
}

/// The pod that an object is or makes.
fn pod(owner: &Value) -> Option<Pod<'_>> {
    let pod = match text(&owner["kind"]) {
        "Pod" => owner,
        "Deployment" => &owner["spec"]["template"],
        _ => return None,
    };
    Some(Pod { owner, labels: &pod["metadata"]["labels"], spec: &pod["spec"] })
}

fn pods(objects: &Value) -> Vec<Pod<'_>> {
    list(objects).iter().filter_map(pod).collect()
}

/// Where the Restricted pod security standard does not hold, or what this project promises beyond it: a read-only root, no
/// token, a share of the node.
pub fn unsafe_pods(objects: &Value) -> Vec<String> {
    let complaints = |pod: Pod<'_>| {
        let containers =
            ["containers", "initContainers"].into_iter().flat_map(move |key| list(&pod.spec[key]));
        let wrong = wrong_with_pod(pod.spec).into_iter().chain(containers.flat_map(wrong_with_container));
        wrong.map(move |what| format!("{}: {what}", name(pod.owner))).collect::<Vec<_>>()
    };
    pods(objects).into_iter().flat_map(complaints).collect()
}

/// The sorts of volumes that the standard allows.
const VOLUMES: [&str; 8] = [
    "configMap",
    "secret",
    "emptyDir",
    "persistentVolumeClaim",
    "projected",
    "downwardAPI",
    "csi",
    "ephemeral",
];

fn is_off(switch: &Value) -> bool {
    switch.is_null() || *switch == false
}

fn wrong(checks: &[(bool, &'static str)]) -> Vec<&'static str> {
    checks.iter().filter(|(holds, _)| !holds).map(|(_, what)| *what).collect()
}

fn wrong_with_pod(spec: &Value) -> Vec<&'static str> {
    let context = &spec["securityContext"];
    let is_allowed = |volume: &Value| VOLUMES.iter().any(|sort| !volume[sort].is_null());
    wrong(&[
        (
            ["hostNetwork", "hostPID", "hostIPC"].iter().all(|key| is_off(&spec[key])),
            "shares the host's spaces",
        ),
        (context["runAsNonRoot"] == true, "may run as root"),
        (context["runAsUser"].as_u64().is_some_and(|user| user > 0), "has no user of its own"),
        (context["seccompProfile"]["type"] == "RuntimeDefault", "has no seccomp profile"),
        (context["sysctls"].is_null(), "sets sysctls"),
        (spec["automountServiceAccountToken"] == false, "mounts a token"),
        (list(&spec["volumes"]).iter().all(is_allowed), "mounts a volume that is not allowed"),
    ])
}

fn wrong_with_container(container: &Value) -> Vec<&'static str> {
    let context = &container["securityContext"];
    let resources = &container["resources"];
    wrong(&[
        (context["allowPrivilegeEscalation"] == false, "may gain privileges"),
        (is_off(&context["privileged"]), "is privileged"),
        (context["readOnlyRootFilesystem"] == true, "may write to its root"),
        (list(&context["capabilities"]["drop"]).contains(&"ALL".into()), "keeps capabilities"),
        (context["capabilities"]["add"].is_null(), "adds capabilities"),
        (context["runAsUser"] != 0, "runs as root"),
        (list(&container["ports"]).iter().all(|port| port["hostPort"].is_null()), "takes a port of the host"),
        (!resources["requests"].is_null(), "asks for no resources"),
        (!resources["limits"]["memory"].is_null(), "may take all memory"),
        (resources["limits"]["cpu"].is_null(), "is throttled, which would be measured"),
    ])
}

fn matches(selector: &Value, labels: &Value) -> bool {
    let wanted = selector.as_object().expect("a selector");
    assert!(!wanted.is_empty(), "a selector that takes every pod");
    wanted.iter().all(|(key, value)| labels[key] == *value)
}

/// Whether a port, by its name or number, is one that the pod opens.
fn opens(pod: Pod<'_>, port: &Value) -> bool {
    let ports = list(&pod.spec["containers"]).iter().flat_map(|container| list(&container["ports"]));
    ports.into_iter().any(|open| open["name"] == *port || open["containerPort"] == *port)
}

/// Which pods an object is about, and the ports of theirs that it names; nothing for objects that are about none.
fn about(object: &Value) -> Option<(&Value, Vec<&Value>)> {
    let spec = &object["spec"];
    let labels = &spec["selector"]["matchLabels"];
    Some(match text(&object["kind"]) {
        "Deployment" | "PodDisruptionBudget" => (labels, Vec::new()),
        "Service" => {
            (&spec["selector"], list(&spec["ports"]).iter().map(|port| &port["targetPort"]).collect())
        }
        "PodMonitor" => (labels, list(&spec["podMetricsEndpoints"]).iter().map(|end| &end["port"]).collect()),
        "NetworkPolicy" => {
            let ports = list(&spec["ingress"]).iter().flat_map(|rule| list(&rule["ports"]));
            (&spec["podSelector"]["matchLabels"], ports.map(|port| &port["port"]).collect())
        }
        _ => return None,
    })
}

/// Every reference between objects that leads nowhere, or to more than was meant.
pub fn loose_ends(objects: &Value) -> Vec<String> {
    let pods = pods(objects);
    let mut found: Vec<_> = pods.iter().flat_map(|pod| loose_ends_of(*pod)).collect();
    for object in list(objects) {
        let Some((selector, ports)) = about(object) else { continue };
        let chosen: Vec<_> = pods.iter().filter(|pod| matches(selector, pod.labels)).collect();
        if chosen.len() != 1 {
            found.push(format!("{} selects {} pods", name(object), chosen.len()));
        }
        let closed = ports.into_iter().filter(|port| !chosen.iter().all(|pod| opens(**pod, port)));
        found.extend(closed.map(|port| format!("{}: no pod opens {port}", name(object))));
    }
    found.extend(
        of_kind(objects, "ServiceMonitor").into_iter().filter_map(|monitor| unserved(monitor, objects)),
    );
    found
}

/// A ServiceMonitor is about a Service and names a port of that.
fn unserved(monitor: &Value, objects: &Value) -> Option<String> {
    let selector = &monitor["spec"]["selector"]["matchLabels"];
    let port = &monitor["spec"]["endpoints"][0]["port"];
    let mut chosen = of_kind(objects, "Service");
    chosen.retain(|service| matches(selector, &service["metadata"]["labels"]));
    let has_port = |service: &&Value| list(&service["spec"]["ports"]).iter().any(|one| one["name"] == *port);
    let is_good = chosen.len() == 1 && chosen.iter().all(has_port);
    (!is_good).then(|| format!("{} selects {} services with port {port}", name(monitor), chosen.len()))
}

/// Probes of ports that are closed, and mounts of volumes that are not there.
fn loose_ends_of(pod: Pod<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let volumes: BTreeSet<_> =
        list(&pod.spec["volumes"]).iter().map(|volume| text(&volume["name"])).collect();
    if volumes.len() != list(&pod.spec["volumes"]).len() {
        found.push(format!("{}: two volumes of one name", name(pod.owner)));
    }
    for container in list(&pod.spec["containers"]) {
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            for sort in ["httpGet", "tcpSocket"] {
                let port = &container[probe][sort]["port"];
                if !port.is_null() && !opens(pod, port) {
                    found.push(format!("{}: {probe} of {port}, which is closed", name(pod.owner)));
                }
            }
        }
        let mounts: Vec<_> =
            list(&container["volumeMounts"]).iter().map(|mount| text(&mount["name"])).collect();
        let lost = mounts.iter().filter(|mount| !volumes.contains(**mount));
        found.extend(lost.map(|mount| format!("{}: no volume {mount}", name(pod.owner))));
    }
    found
}
