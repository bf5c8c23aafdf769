//! Linking at run time, and the options of loading modules.

use crate::api;
use crate::values::{get_bytes, get_text, get_u32, get_u64, put, put_if, put_new};
use cuda::module::{Log, Logs};
use cuda::{Driver, Error, Result};

/// Maximum number of options.
const MOST_OPTIONS: u32 = 256;
/// Maximum size of an input.
const MOST_INPUT_BYTES: u64 = 1 << 30;

/// The program's buffers for messages, by its options (`CU_JIT_*`); the others have no meaning here.
pub fn logs(driver: &Driver, count: u32, options: u64, values: u64) -> Result<Logs> {
    let mut logs = Logs::default();
    if count > MOST_OPTIONS || (count > 0 && (options == 0 || values == 0)) {
        return Err(Error::INVALID_VALUE);
    }
    for i in 0..u64::from(count) {
        let place = values + 8 * i;
        let value = get_u64(driver, place)?;
        // Sizes are numbers of 32 bits, which come back as what was written.
        let sized = |log: Log| Log { room: value & 0xffff_ffff, written: place, ..log };
        match get_u32(driver, options + 4 * i)? {
            2 => logs.time = place,
            3 => logs.info.address = value,
            4 => logs.info = sized(logs.info),
            5 => logs.error.address = value,
            6 => logs.error = sized(logs.error),
            _ => {}
        }
    }
    Ok(logs)
}

api! {
    fn cuLinkCreate_v2(count: u32, options: u64, values: u64, link: u64) = cuLinkCreate |driver| {
        let logs = logs(driver, count, options, values)?;
        put_new(driver, link, |driver| driver.modules.link_create(&driver.platform, logs))
    }

    fn cuLinkAddData_v2(
        link: u64, kind: u32, data: u64, bytes: u64, name: u64, _count: u32, _options: u64, _values: u64,
    ) = cuLinkAddData |driver| {
        if data == 0 || bytes > MOST_INPUT_BYTES {
            return Err(Error::INVALID_VALUE);
        }
        let input = get_bytes(driver, data, bytes as usize)?;
        let name = if name == 0 { "input".to_owned() } else { get_text(driver, name)? };
        driver.modules.link_add(&driver.platform, link, kind, &name, input)
    }

    fn cuLinkAddFile_v2(
        link: u64, kind: u32, path: u64, _count: u32, _options: u64, _values: u64,
    ) = cuLinkAddFile |driver| {
        let path = get_text(driver, path)?;
        let input = cuda::module::read_file(driver.platform.host(), &path)?;
        driver.modules.link_add(&driver.platform, link, kind, &path, input)
    }

    fn cuLinkComplete(link: u64, image: u64, bytes: u64) |driver| {
        let (address, size) = driver.modules.link_complete(&driver.platform, link)?;
        put(driver, image, address)?;
        put_if(driver, bytes, size)
    }

    fn cuLinkDestroy(link: u64) |driver| { driver.modules.link_destroy(link) }
}
