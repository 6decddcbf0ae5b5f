//! Whether prompts fit into what the targets serve.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::domain::{Identity, Kind, Room, Target};
use crate::probe::{self, Transport, Trust};

/// So long at most the targets are waited for.
const WITHIN: Duration = Duration::from_secs(3);

/// What the targets say of themselves, all asked at the same time.
pub(super) async fn ask(targets: &[Arc<Target>]) -> Vec<(Arc<Target>, Identity)> {
    let trust = Trust::default();
    let asking: Vec<_> = targets
        .iter()
        .map(|target| {
            let (target, transport) = (Arc::clone(target), Transport::new(target, &trust));
            tokio::spawn(async move {
                let Ok(transport) = transport else { return Identity::of(target.engine) };
                // What was found until then stays.
                let _ = timeout(WITHIN, probe::identify(&transport)).await;
                transport.knowledge().identity()
            })
        })
        .collect();
    let mut identities = Vec::new();
    for (target, asked) in targets.iter().zip(asking) {
        let identity = asked.await.unwrap_or_else(|_| Identity::of(target.engine));
        identities.push((Arc::clone(target), identity));
    }
    identities
}

/// Every workload whose prompt and answer are longer than its target's context, with what will be sent instead.
pub(super) fn misfits(identities: &[(Arc<Target>, Identity)]) -> Vec<String> {
    let mut misfits = Vec::new();
    for (target, identity) in identities {
        let Some(context) = identity.context_tokens else { continue };
        let room = Room { context: Some(context), input: None };
        for share in &target.mix {
            let workload = &share.workload;
            let (input, output) = (workload.input_tokens.longest(), workload.output_tokens.longest());
            let (fits, least) = room.fit(input, output);
            if (fits, least) == (input, output) {
                continue;
            }
            let instead = match workload.kind {
                Kind::File => {
                    "questions of a file are not shortened: the server will refuse the longest".to_owned()
                }
                _ if least < output => format!("at most {fits} and {least} will be asked for"),
                _ => format!("prompts of at most {fits} will be sent"),
            };
            misfits.push(format!(
                "target {}, workload {}: {input} tokens of prompt and {output} of answer do not fit into the context of {context}: {instead}. Lower input_tokens or output_tokens, or leave the workload out of this target's mix.",
                target.name, workload.name
            ));
        }
    }
    misfits
}

/// One line for each target that was asked.
pub(super) fn remarks(identities: &[(Arc<Target>, Identity)]) -> String {
    let remark = |(target, identity): &(Arc<Target>, Identity)| {
        let name = &target.name;
        match identity.context_tokens {
            Some(context) => format!("{name} runs {identity}, with a context of {context} tokens.\n"),
            None if identity.is_known() => format!("{name} runs {identity}.\n"),
            None => {
                format!("{name} does not say what it runs: whether prompts fit its context is not known.\n")
            }
        }
    };
    let remarks: String = identities.iter().map(remark).collect();
    if remarks.is_empty() { remarks } else { format!("\n{remarks}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Engine, fixture};

    fn serving(context_tokens: Option<u32>) -> Vec<(Arc<Target>, Identity)> {
        vec![(fixture::target("t", &["w"]), Identity { context_tokens, ..Identity::of(Engine::Vllm) })]
    }

    #[test]
    fn what_does_not_fit_is_named_and_what_is_not_known_is_no_problem() {
        assert_eq!(misfits(&serving(Some(200))), Vec::<String>::new());
        let told = misfits(&serving(Some(99)));
        assert!(
            told[0].starts_with("target t, workload w: 50 tokens of prompt and 50 of answer do not fit into"),
            "{told:?}"
        );
        assert_eq!(misfits(&serving(None)), Vec::<String>::new());
        assert_eq!(remarks(&serving(Some(4096))), "\nt runs vllm, with a context of 4096 tokens.\n");
        assert_eq!(remarks(&[]), "");
    }
}
