//! Links of documents lead somewhere: to a file of the repository and, if they have an anchor, to a heading there. The
//! book has every page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every document of the repository.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_ours = !name.starts_with('.') && !["target", "node_modules", "shared"].contains(&&*name);
        if entry.file_type().unwrap().is_dir() && is_ours {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The text outside code: blocks between fences, spans between backquotes.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(|line| line.split('`').step_by(2).collect::<String>() + "\n").collect()
}

/// The targets of links: `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim().to_owned()).filter(|target| !target.contains(' ')).collect()
}

/// The anchors of headings, as GitHub makes them: lower case, blanks as hyphens, no other punctuation; the second one of
/// a name has `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let (mut all, mut seen, mut is_code) = (BTreeSet::new(), BTreeMap::<String, u32>::new(), false);
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        // Of a link the text is left.
        let mut words = String::new();
        for (at, part) in heading.trim().split("](").enumerate() {
            words += if at == 0 { part } else { part.split_once(')').map_or(part, |(_, rest)| rest) };
        }
        let kept =
            words.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
        let anchor = kept.replace(' ', "-");
        let before = seen.entry(anchor.clone()).or_default();
        all.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    all
}

/// Broken links of `text`, which is in `folder`.
fn broken(text: &str, folder: &Path) -> Vec<String> {
    let is_broken = |link: &String| {
        if link.contains("://") || link.starts_with("mailto:") {
            return false;
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = folder.join(path);
        let named = if path.is_empty() { Ok(text.to_owned()) } else { fs::read_to_string(&target) };
        match named {
            Ok(_) if anchor.is_empty() => false,
            Ok(named) => (path.is_empty() || path.ends_with(".md")) && !anchors(&named).contains(anchor),
            // A folder, a picture.
            Err(_) => !target.exists(),
        }
    };
    links(text).into_iter().filter(is_broken).collect()
}

#[test]
fn links_of_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    documents(&root, &mut all);
    assert!(all.len() > 30, "{all:?}");
    let problems = all.iter().flat_map(|path| {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let broken = broken(&text, path.parent().unwrap());
        broken.into_iter().map(move |link| format!("{}: {link}", path.display()))
    });
    let problems: Vec<String> = problems.collect();
    assert!(problems.is_empty(), "links that lead nowhere:\n{}", problems.join("\n"));
}

#[test]
fn what_leads_nowhere_is_found() {
    let text = "# One `two`, [three](x.md)\n## One\n## One\n[a](#one) [b](#one-1) [c](#one-two-three) [d](Cargo.toml)\n\
                [e](#two) [f](nowhere.md) [g](https://a.b/c#d) `[h](#h)`\n```\n[i](#i)\n# j\n```\n[k](#j)";
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(broken(text, here), ["x.md", "#two", "nowhere.md", "#j"]);
}

/// `docs/SUMMARY.md`, from which the book and the command `docs` are made, lists each page of its folder and of the
/// root once.
#[test]
fn the_book_has_each_page_once() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut pages = Vec::new();
    documents(&docs, &mut pages);
    let mut expected: Vec<String> =
        pages.iter().map(|page| page.strip_prefix(&docs).unwrap().to_str().unwrap().to_owned()).collect();
    let root = fs::read_dir(docs.join("..")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    expected.extend(root.filter(|name| name.ends_with(".md")).map(|name| format!("../{name}")));
    // Notices of licences belong to the program, kernels to their sources.
    expected.retain(|name| !["SUMMARY.md", "../THIRD-PARTY.md"].contains(&&**name));
    expected.push("../crates/workloads/kernels/README.md".to_owned());
    let mut listed = links(&fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
}
