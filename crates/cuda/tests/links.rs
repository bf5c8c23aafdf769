//! Linking at run time.

use crate::fake::Program;
use cuda::Error;
use cuda::module::{IMAGE_MAGIC, Log, Logs};

const HEADER: &str = ".version 7.5\n.target sm_75\n.address_size 64\n";
/// A kernel that calls a function and reads a variable of another module.
const USER: &str = "
.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .u32 offset;
.global .u32 seed = 5;
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    .param .b32 x;
    .param .b32 result;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [seed];
    st.param.b32 [x], %r1;
    call.uni (result), twice, (x);
    ld.param.b32 %r2, [result];
    ld.global.u32 %r3, [offset];
    add.u32 %r4, %r2, %r3;
    st.global.u32 [%rd1], %r4;
    ret;
}";
/// Has a private variable of the same name.
const PROVIDER: &str = "
.visible .global .u32 offset = 1000;
.global .u32 seed = 7;
.visible .func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<5>;
    ld.param.b32 %r1, [x];
    ld.global.u32 %r2, [seed];
    mad.lo.u32 %r3, %r1, 2, %r2;
    st.param.b32 [r], %r3;
    ret;
}";

fn text(body: &str) -> Vec<u8> {
    format!("{HEADER}{body}\0").into_bytes()
}

#[test]
fn texts_that_need_each_other_become_a_module() {
    for order in [[USER, PROVIDER], [PROVIDER, USER]] {
        let mut program = Program::new();
        let link = program.driver.modules.link_create(&program.driver.platform, Logs::default()).unwrap();
        for (i, body) in order.into_iter().enumerate() {
            program
                .driver
                .modules
                .link_add(&program.driver.platform, link, 1, &format!("{i}.ptx"), text(body))
                .unwrap();
        }
        let (address, bytes) = program.driver.modules.link_complete(&program.driver.platform, link).unwrap();
        assert_eq!(program.driver.modules.link_complete(&program.driver.platform, link), Ok((address, bytes)));
        // A program reads the image at that address; its memory is a fake here.
        let image = program.driver.modules.link_image(link).unwrap().to_vec();
        assert_eq!((image.len() as u64, &image[..8]), (bytes, &IMAGE_MAGIC[..]));
        let place = program.fake.put(&image);
        let read = cuda::module::read_image(program.driver.platform.host(), place).unwrap();
        let module = program.driver.modules.load(&mut program.driver.platform, &read).unwrap();
        program.driver.modules.link_destroy(link).unwrap();
        let out = program.alloc(128);
        let k = program.driver.modules.function(&mut program.driver.platform, module, "k").unwrap();
        let request = program.request(k, &[out], 0);
        program.driver.launch(&request).unwrap();
        assert_eq!(program.numbers(out, 1), [1017]);
    }
}

#[test]
fn problems_are_written_to_the_logs_of_the_program() {
    let mut program = Program::new();
    let buffer = program.fake.put(&[b'x'; 200]);
    let slots = program.fake.put(&[0xff; 16]);
    let error = Log { address: buffer, room: 160, written: slots };
    let logs = Logs { error, ..Logs::default() };
    let said = |program: &Program| {
        let count = program.fake.bytes(slots, 8)[0] as usize;
        assert!(count < 160);
        assert_eq!(program.fake.bytes(buffer, 200)[count], 0);
        String::from_utf8(program.fake.bytes(buffer, count)).unwrap()
    };
    let link = program.driver.modules.link_create(&program.driver.platform, logs).unwrap();
    assert_eq!(said(&program), "");
    let broken = text(".visible .entry k() { add.u32 %r1 }");
    assert_eq!(
        program.driver.modules.link_add(&program.driver.platform, link, 1, "broken.ptx", broken.clone()),
        Err(Error::INVALID_PTX)
    );
    assert!(said(&program).contains("broken.ptx"), "{}", said(&program));
    program.driver.modules.link_add(&program.driver.platform, link, 1, "user.ptx", text(USER)).unwrap();
    let fresh = program.driver.modules.link_create(&program.driver.platform, logs).unwrap();
    program.driver.modules.link_add(&program.driver.platform, fresh, 1, "user.ptx", text(USER)).unwrap();
    assert_eq!(program.driver.modules.link_complete(&program.driver.platform, fresh), Err(Error::INVALID_IMAGE));
    assert_eq!(said(&program), "`offset` is used in `user.ptx` and defined in no module\n");
    assert_eq!(
        program.driver.modules.link_add(&program.driver.platform, fresh, 4, "a.a", vec![1]),
        Err(Error::NOT_SUPPORTED)
    );
    assert!(said(&program).contains("`a.a`"));
    assert_eq!(
        program.driver.modules.load_with_logs(&mut program.driver.platform, &broken, &logs),
        Err(Error::INVALID_PTX)
    );
    assert!(said(&program).contains("add.u32 %r1"), "{}", said(&program));
    assert_eq!(program.fake.bytes(buffer + 160, 40), [b'x'; 40], "no byte beyond the buffer");
    assert!(!program.fake.messages().is_empty());
}
