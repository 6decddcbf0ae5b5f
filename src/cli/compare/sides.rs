//! Which probes stand on each side of a comparison.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Result, bail};

use crate::cli::moment;
use crate::cli::table::Table;
use crate::cli::which::Known;
use crate::compare;
use crate::domain::{Kept, Release, clock};
use crate::history::{Pick, Reader};
use crate::page::words;

#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) before: Side,
    pub(super) after: Side,
}

#[derive(Debug)]
pub(super) struct Side {
    pub(super) target: Arc<str>,
    name: String,
    from: SystemTime,
    to: SystemTime,
    /// In order of time.
    pub(super) probes: Vec<Kept>,
    /// All that the history knows of the target.
    releases: Vec<Release>,
}

/// The name that is given for one of the histories; one name is for both.
pub(super) fn own(targets: &[String], index: usize) -> Option<&str> {
    targets.get(index).or(targets.last()).map(String::as_str)
}

/// The releases of a target, or of all.
pub(super) fn list(file: &Path, target: Option<&str>) -> Result<String> {
    let reader = Reader::open(file)?;
    let targets = match target {
        Some(_) => vec![target_of(&reader, file, target)?],
        None => reader.targets()?,
    };
    let mut table = Table::new(5, ["TARGET", "NUMBER", "RELEASE", "BEGAN", "ALONE SINCE", "PROBES"]);
    for target in targets {
        let known = Known::read(&reader, &target)?;
        for (index, release) in known.releases.iter().enumerate() {
            let probes = reader.count(&known.pick(index))?;
            table.row(vec![
                target.clone(),
                format!("#{}", release.id.0),
                words::name(&release.to_string()),
                words::clock_time(release.began),
                release.settled.map_or_else(|| "never".to_owned(), words::clock_time),
                probes.to_string(),
            ]);
        }
    }
    Ok(table.lines().join("\n") + "\n")
}

/// The only target, or the one that is named.
fn target_of(reader: &Reader, file: &Path, named: Option<&str>) -> Result<String> {
    let targets = reader.targets()?;
    let known = targets.join(", ");
    match named {
        Some(name) if targets.iter().any(|target| target == name) => Ok(name.to_owned()),
        Some(name) => bail!("{} knows no target {name:?}; it knows {known}", file.display()),
        None => match targets.as_slice() {
            [] => bail!("{} is empty: no probe has been kept yet", file.display()),
            [only] => Ok(only.clone()),
            _ => bail!("{} has several targets: say which with --target: {known}", file.display()),
        },
    }
}

impl Side {
    pub(super) fn choose(
        file: &Path,
        target: Option<&str>,
        name: &str,
        workload: Option<&str>,
        now: SystemTime,
    ) -> Result<Self> {
        let reader = Reader::open(file)?;
        let target = target_of(&reader, file, target)?;
        let known = Known::read(&reader, &target)?;
        let (name, mut pick) = if let Some(ends) = moment::stretch(name, now) {
            let (from, to) = ends.map_err(anyhow::Error::msg)?;
            let target = Some(target.clone());
            let pick = Pick { target, from: Some(from), to: Some(to), with_mixed: true, ..Pick::default() };
            (name.to_owned(), pick)
        } else {
            let at = find(&known, name, &target)?;
            (known.releases[at].to_string(), known.pick(at))
        };
        pick.workload = workload.map(str::to_owned);
        let probes = reader.probes(&pick)?;
        let first = probes.first().map(|probe| clock::from_unix_seconds(probe.at));
        let last = probes.last().map(|probe| clock::from_unix_seconds(probe.at));
        let (Some(from), Some(to)) = (first, last) else {
            bail!("{} has no probes of {target} in {name:?}", file.display());
        };
        Ok(Self { target: target.into(), name, from, to, probes, releases: known.releases })
    }

    pub(super) fn side(&self) -> compare::Side {
        let Self { name, from, to, probes, .. } = self;
        compare::Side { name: name.clone(), from: *from, to: *to, probes: probes.len() }
    }

    /// What the comparison takes durations from, for the plots.
    pub(super) fn sound(&self) -> Vec<Kept> {
        self.probes.iter().filter(|probe| !probe.suspect).cloned().collect()
    }
}

/// Where the release of this name is: the newest that fits.
fn find(known: &Known, name: &str, target: &str) -> Result<usize> {
    if let Some(at) = known.find(name) {
        return Ok(at);
    }
    if name == "previous" {
        bail!(
            "{target} has had one release only, so there is nothing to compare it with; compare two stretches of time, \
             such as 48h..24h 24h.., or mark a change with `sloprobe mark`"
        );
    }
    let known: Vec<String> = known
        .releases
        .iter()
        .map(|release| format!("#{} {}", release.id.0, words::name(&release.to_string())))
        .collect();
    bail!("{target} has no release {name:?}; it has {}", known.join(", "))
}

impl Chosen {
    /// Of both histories, each once.
    pub(super) fn releases(&self) -> Vec<Release> {
        let mut all = self.before.releases.clone();
        for release in &self.after.releases {
            if !all.iter().any(|known| known.began == release.began && known.makeup == release.makeup) {
                all.push(release.clone());
            }
        }
        all.sort_by_key(|release| release.began);
        all
    }

    pub(super) fn nothing_in_common(&self) -> String {
        let workloads = |side: &Side| {
            let mut names: Vec<&str> = side.probes.iter().map(|probe| &*probe.workload).collect();
            names.sort_unstable();
            names.dedup();
            names.join(", ")
        };
        format!(
            "the two sides have no workload in common: {} has {}, {} has {}",
            self.before.name,
            workloads(&self.before),
            self.after.name,
            workloads(&self.after)
        )
    }
}
