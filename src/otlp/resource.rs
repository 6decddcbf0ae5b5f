//! Who says all this: the resource and the scope of everything that is pushed.

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;

use super::conventions::text;
use crate::domain::Collector;

const NAME: &str = "sloprobe";

/// What the configuration names wins over what is known by itself.
pub(super) fn resource(collector: &Collector) -> Resource {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    let own = [
        ("service.name", NAME),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", &*host),
        ("host.name", &*host),
    ];
    let own = own.into_iter().filter(|(key, _)| !collector.resource.contains_key(*key));
    let own = own.map(|(key, value)| text(key, value));
    let named = collector.resource.iter().map(|(key, value)| text(key, value));
    Resource { attributes: own.chain(named).collect(), ..Resource::default() }
}

pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: NAME.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}
