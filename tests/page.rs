//! The page of a comparison: what it is made of, and what a real browser makes of it.
//!
//! `SLOPROBE_PAGE_OUT=folder cargo test --test page` keeps the page, its pictures and its print there.

#[path = "page/browser.rs"]
mod browser;
#[path = "page/data.rs"]
mod data;

use std::fs;
use std::path::PathBuf;

use browser::{Browser, Scheme};
use data::{Data, WORKLOADS, made_up};
use sloprobe::page::{Compared, compare, sentence};
use tempfile::TempDir;

const NAMES: [&str; 2] = ["vllm 0.32.0", "vllm 0.33.0 (driver 580)"];
/// Durations of which there are pictures.
const METRICS: usize = 5;

fn page(data: &Data) -> String {
    compare(&Compared {
        comparison: &data.comparison,
        before: &data.before,
        after: &data.after,
        releases: &data.releases,
        produced_at: data.comparison.after.to,
    })
}

/// Where the page is written: a folder of the test's own, or the one that was asked for.
fn folder() -> (Option<TempDir>, PathBuf) {
    if let Some(asked) = std::env::var_os("SLOPROBE_PAGE_OUT") {
        fs::create_dir_all(&asked).expect("the folder can be made");
        return (None, fs::canonicalize(asked).expect("the folder is there"));
    }
    let own = TempDir::new().expect("a folder for a test");
    let path = own.path().to_owned();
    (Some(own), path)
}

#[test]
fn it_has_every_picture_and_needs_nobody() {
    let page = page(&made_up(6000, NAMES));
    // Per duration: distribution, quantiles, time line; per workload: failures by reason, failures over time.
    assert_eq!(page.matches("<svg ").count(), WORKLOADS.len() * (METRICS * 3 + 2));
    assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), page.matches("<svg ").count());
    let without = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for forbidden in ["http://", "https://", "<script", "<link", "<img", "url(", "@import", "NaN", "inf "] {
        assert!(!without.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
    assert_eq!(
        page.matches("<th").count(),
        page.matches("<th scope=").count() + page.matches("<thead").count()
    );
}

#[test]
fn names_from_outside_stay_text() {
    let mut data = made_up(300, ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>"]);
    data.comparison.target = "</title><script>".into();
    data.comparison.places[0].workload = "<b>chat</b>".into();
    let page = page(&data);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for forbidden in ["<script", "<img", "<b>chat"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn it_stays_small_however_many_probes_there_are() {
    for probes in [1900, 60_000] {
        let page = page(&made_up(probes, NAMES));
        assert!(page.len() < 1_500_000, "{probes} probes: {} bytes", page.len());
    }
}

#[test]
fn nothing_to_show_is_a_page_as_well() {
    let mut data = made_up(30, NAMES);
    (data.before, data.after, data.releases) = (Vec::new(), Vec::new(), Vec::new());
    let empty = page(&data);
    assert!(empty.contains("No probe failed on either side.") && !empty.contains("<svg "));
    data.comparison.places.clear();
    assert!(page(&data).contains("UNDECIDED: there is nothing to compare"));
}

#[test]
fn odd_data_can_be_drawn() {
    let mut lone = made_up(30, NAMES);
    lone.after.clear();
    lone.before.truncate(4);
    let mut backward = made_up(300, NAMES);
    std::mem::swap(&mut backward.comparison.before, &mut backward.comparison.after);
    std::mem::swap(&mut backward.before, &mut backward.after);
    let mut at_once = made_up(300, NAMES);
    for kept in at_once.before.iter_mut().chain(&mut at_once.after) {
        (kept.at, kept.stall) = (1_794_700_800.0, Some(0.0));
    }
    at_once.comparison.after.from = at_once.comparison.before.from;
    let mut unbounded = made_up(300, NAMES);
    for shift in unbounded.comparison.places.iter_mut().flat_map(|place| &mut place.changes[0].shifts) {
        (shift.lower, shift.upper) = (0.0, f64::INFINITY);
        shift.estimate = if shift.estimate > 1.0 { f64::NAN } else { shift.estimate };
    }
    for data in [lone, backward, at_once, unbounded] {
        let page = page(&data);
        assert!(page.contains("<svg ") && !page.contains("NaN") && !page.contains("inf "));
    }
}

#[test]
fn a_browser_shows_it_in_light_in_dark_and_on_paper() {
    let data = made_up(18_000, NAMES);
    let (_keep, folder) = folder();
    let file = folder.join("compare.html");
    fs::write(&file, page(&data)).expect("the page can be written");
    let browser = Browser::of(&file);

    let told = sentence::overall(&data.comparison);
    assert!(told.starts_with("REGRESSED: rag ttft p99"), "{told}");
    let dom = browser.dump();
    assert!(dom.contains(&told), "the page lacks: {told}");
    assert_eq!(dom.matches("<svg ").count(), WORKLOADS.len() * (METRICS * 3 + 2));

    let [light, dark] = [Scheme::Light, Scheme::Dark].map(|scheme| {
        let picture = folder.join(format!("{}.png", scheme.name()));
        browser.picture(&picture, scheme);
        fs::read(picture).expect("the picture was written")
    });
    assert!(light.len() > 20_000 && dark.len() > 20_000, "{} and {} bytes", light.len(), dark.len());
    assert!(light != dark, "the dark page looks like the light one");

    let print = folder.join("compare.pdf");
    browser.print(&print);
    let pdf = fs::read(print).expect("the print was written");
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
}
