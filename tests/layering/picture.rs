//! Which room may use which, and which library.

/// What each module may use; whoever needs another edge changes the picture in `src/lib.rs` first.
pub const MAY_USE: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("lib", &[]),
    (
        "cli",
        &[
            "catalogue",
            "compare",
            "config",
            "daemon",
            "dashboards",
            "domain",
            "expose",
            "forecast",
            "history",
            "page",
            "probe",
            "protocol",
            "record",
            "release",
            "rules",
            "schedule",
            "serve",
            "simulate",
            "workload",
        ],
    ),
    (
        "daemon",
        &[
            "compare", "config", "domain", "history", "otlp", "page", "probe", "record", "release",
            "schedule", "serve", "workload",
        ],
    ),
    ("serve", &["domain", "expose", "record", "release"]),
    ("otlp", &["domain", "probe", "record", "schedule", "series"]),
    ("schedule", &["domain", "history", "probe", "record", "release", "workload"]),
    ("release", &["domain", "history", "record"]),
    ("history", &["domain"]),
    ("page", &["compare", "domain"]),
    ("compare", &["domain"]),
    ("probe", &["domain", "protocol"]),
    ("protocol", &["domain"]),
    ("workload", &["domain"]),
    ("record", &["catalogue", "compare", "domain", "expose", "series"]),
    ("catalogue", &["compare", "domain"]),
    ("expose", &["catalogue", "domain", "series"]),
    ("series", &["catalogue", "domain"]),
    ("forecast", &["rules"]),
    ("dashboards", &["catalogue", "rules"]),
    ("rules", &["catalogue", "domain"]),
    ("config", &["domain"]),
    ("simulate", &["domain"]),
    ("domain", &[]),
];

/// Which modules or files may touch a library.
pub const LIBRARIES: &[Library] = &[
    Library {
        name: "reqwest",
        rooms: &[
            "src/otlp/send.rs",
            "src/probe/transport.rs",
            "src/probe/transport/broken.rs",
            "src/probe/transport/lane.rs",
            "src/probe/transport/stamps.rs",
        ],
    },
    Library { name: "prometheus", rooms: &["src/record/process.rs"] },
    Library { name: "opentelemetry_proto", rooms: &["otlp"] },
    Library { name: "prost", rooms: &["otlp"] },
    Library { name: "axum", rooms: &["serve", "simulate"] },
    Library { name: "toml", rooms: &["config"] },
    Library { name: "rusqlite", rooms: &["history"] },
];

pub struct Library {
    pub name: &'static str,
    pub rooms: &'static [&'static str],
}
