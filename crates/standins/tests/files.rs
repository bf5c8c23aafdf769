//! The compiled kernels belong to the sources.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn compiled_kernels_are_those_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let record: toml::Table = std::fs::read_to_string(folder.join("kernels.toml")).unwrap().parse().unwrap();
    let recorded: BTreeMap<String, String> =
        record["sha256"].as_table().unwrap().iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().into())).collect();
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name != "kernels.toml" {
            let hash = Sha256::digest(std::fs::read(&path).unwrap());
            found.insert(name, hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
    }
    assert_eq!(found, recorded, "run tools/rebuild-standins");
    for name in found.keys().filter_map(|name| name.strip_suffix(".cu")) {
        let image = standins::image(name).unwrap_or_else(|| panic!("`image` does not know {name}"));
        assert_eq!(image, std::fs::read(folder.join(format!("{name}.fatbin"))).unwrap());
        assert!(image.len() < 9 << 18, "{name}.fatbin has {} bytes", image.len());
    }
    assert!(standins::image("nothing").is_none());
}
