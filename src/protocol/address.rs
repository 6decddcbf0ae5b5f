//! Addresses that are not the OpenAI kind: people write the server's root, a version behind it, or the whole
//! call as they copied it from somewhere.

use url::Url;

/// The path of a base without the slash at its end and without those of the `endings` that it has, which are
/// taken off in their order.
pub(super) fn stem<'a>(base: &'a Url, endings: &[&str]) -> &'a str {
    endings.iter().fold(base.path().trim_end_matches('/'), |path, ending| {
        path.strip_suffix(ending).unwrap_or(path).trim_end_matches('/')
    })
}

/// The same server and query with another path.
pub(super) fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::Target;
    use crate::domain::fixture::target;
    use crate::protocol::Dialect;

    fn called(dialect: Dialect, base: &str, stream: bool) -> String {
        let target = Target {
            url: Url::parse(&format!("http://h:1{base}")).unwrap(),
            stream,
            ..Arc::unwrap_or_clone(target("t", &[]))
        };
        dialect.url(&target).as_str().replace("http://h:1", "")
    }

    #[test]
    fn a_root_a_version_and_a_whole_call_lead_to_the_same_place() {
        let cases = [
            (Dialect::Tgi, "/generate_stream", ["", "/", "/v1", "/generate", "/generate_stream"]),
            (
                Dialect::Triton,
                "/v2/models/tiny/generate_stream",
                ["/", "/v1/", "/v2", "/v2/models/tiny", "/v2/models/tiny/generate"],
            ),
            (Dialect::Ollama, "/api/chat", ["/", "/v1", "/api", "/api/", "/api/chat"]),
            (
                Dialect::Gemini,
                "/v1beta/models/tiny:streamGenerateContent?alt=sse",
                [
                    "",
                    "/v1beta/",
                    "/v1beta/models/tiny",
                    "/v1beta/models/tiny:generateContent",
                    "/v1beta?alt=sse",
                ],
            ),
        ];
        for (dialect, expected, bases) in cases {
            for base in bases {
                assert_eq!(called(dialect, base, true), expected, "{base}");
            }
        }
    }

    #[test]
    fn what_else_is_in_an_address_is_kept() {
        let triton = "/gw/v2/models/m/versions/3";
        assert_eq!(called(Dialect::Triton, triton, false), format!("{triton}/generate"));
        assert_eq!(called(Dialect::Tgi, "/gw?a=b", false), "/gw/generate?a=b");
        assert_eq!(called(Dialect::Ollama, "/gw/v1?a=b", false), "/gw/api/chat?a=b");
        assert_eq!(called(Dialect::Gemini, "/v1?a=b", false), "/v1/models/tiny:generateContent?a=b");
        assert_eq!(
            called(Dialect::Gemini, "/gw?a=b", true),
            "/gw/v1beta/models/tiny:streamGenerateContent?a=b&alt=sse"
        );
    }
}
