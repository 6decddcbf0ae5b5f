//! The objects for kustomize come from the chart, so that there is one source of truth; kustomize then builds them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::common::root;
use super::objects::{list, loose_ends, of_kind, one, text, unsafe_pods};
use super::tools::{ask, chart, check_rules, plain, template, validated};
use super::{hold, read};

const FOLDER: &str = "deploy/kustomize";

const HEAD: &str = "# Written from the Helm chart by `UPDATE_GOLDEN=1 cargo test --test kubernetes`. Do not edit: use an overlay.\n";

/// Which templates of the chart are rendered with which values into which folder.
const MADE: [(&str, &[&str], &str); 3] = [
    ("base", &["serviceaccount.yaml", "deployment.yaml", "service.yaml", "engine.yaml"], "base.yaml"),
    ("overlays/operator", &["monitors.yaml", "prometheusrule.yaml"], "operator.yaml"),
    ("overlays/own", &["networkpolicy.yaml", "pvc.yaml"], "own.yaml"),
];

/// The text of each template, rendered.
fn rendered(values: &str) -> BTreeMap<String, String> {
    let values = root().join(FOLDER).join("values").join(values);
    let rules = format!("prometheusRule.rules={}", chart().join("rules.yaml").display());
    let yaml = template(&["--skip-tests", "-f", &values.to_string_lossy(), "--set-file", &rules]).good();
    let mut files = BTreeMap::<String, String>::new();
    for document in yaml.split("---\n# Source: sloprobe/templates/").skip(1) {
        let (name, text) = document.split_once('\n').expect("a line with the name");
        let file = files.entry(name.to_owned()).or_insert_with(|| HEAD.to_owned());
        if file.len() > HEAD.len() {
            file.push_str("---\n");
        }
        // What says that Helm manages it would not be true here.
        let of_helm = |line: &&str| !line.contains("helm.sh/") && !line.ends_with("managed-by: Helm");
        // Some versions of helm end a document with a blank line.
        text.trim_end().lines().filter(of_helm).for_each(|line| {
            file.push_str(line);
            file.push('\n');
        });
    }
    files
}

#[tokio::test]
async fn the_objects_are_those_of_the_chart() {
    // Rendered below: they must be new before.
    super::rules().await;
    hold(&root().join(FOLDER).join("base/sloprobe.toml"), &read("deploy/helm/sloprobe/sloprobe.toml"));
    for (folder, names, values) in MADE {
        let files = rendered(values);
        for name in names {
            let file = files.get(*name).unwrap_or_else(|| panic!("{values} renders no {name}"));
            // Where the only annotation was Helm's, none is left.
            hold(&root().join(FOLDER).join(folder).join(name), &file.replace("  annotations:\nspec", "spec"));
        }
    }
}

fn built(folder: &str) -> Value {
    let path = root().join(folder);
    validated(&ask("kustomize", [Path::new("build"), &path]).good())
}

#[test]
fn every_overlay_builds_what_is_sound() {
    for folder in ["base", "overlays/operator", "overlays/own"] {
        let objects = built(&format!("{FOLDER}/{folder}"));
        assert_eq!(unsafe_pods(&objects), Vec::<String>::new(), "{folder}");
        assert_eq!(loose_ends(&objects), Vec::<String>::new(), "{folder}");
        let everything = objects.to_string();
        assert!(!everything.contains("helm.sh"), "{folder} speaks of Helm");

        // The name stays when the content changes: the daemon reloads it in the pod that runs.
        let deployment = one(&objects, "Deployment", "sloprobe");
        let volumes = list(&deployment["spec"]["template"]["spec"]["volumes"]);
        let mounted =
            volumes.iter().map(|volume| text(&volume["configMap"]["name"])).find(|name| !name.is_empty());
        let map = one(&objects, "ConfigMap", mounted.expect("a mounted ConfigMap"));
        assert!(map["data"]["sloprobe.toml"].is_string() && map["metadata"]["name"] == "sloprobe", "{map}");
    }
}

#[test]
fn the_operator_gets_rules_and_dashboards() {
    let objects = built(&format!("{FOLDER}/overlays/operator"));
    let rule = one(&objects, "PrometheusRule", "sloprobe");
    check_rules(&rule["spec"]["groups"]);
    assert_eq!(rule["spec"], plain(&read("deploy/helm/sloprobe/rules.yaml"))[0]["spec"]);
    let dashboards: Vec<_> = of_kind(&objects, "ConfigMap")
        .into_iter()
        .filter(|map| map["metadata"]["labels"]["grafana_dashboard"] == "1")
        .collect();
    assert_eq!(dashboards.len(), 4);
    for map in dashboards {
        for (name, content) in map["data"].as_object().expect("it has data") {
            assert_eq!(text(content), read(Path::new("grafana").join(name)), "kustomize changed {name}");
        }
    }
}

#[tokio::test]
async fn the_overlay_of_ones_own_has_no_engine_and_a_sound_configuration() {
    let objects = built(&format!("{FOLDER}/overlays/own"));
    assert!(!objects.to_string().contains("engine:8200"), "the engine should be gone");
    super::check(&root().join(FOLDER).join("overlays/own/sloprobe.toml")).await;
}
