//! Nodes of graphs: the runtime's structures as the driver gets them, and back.

use cudart::versioned::{Out, instantiate_11, update_11};

use crate::calls::*;
use crate::serial;

/// `cudaKernelNodeParams` in words of 4 bytes: kernel, grid, block, shared bytes, arguments, extra.
fn kernel_node(kernel: usize) -> [u32; 14] {
    let mut words = [0; 14];
    words[..9].copy_from_slice(&[kernel as u32, (kernel >> 32) as u32, 2, 3, 4, 32, 1, 1, 64]);
    words[10] = 0x5000;
    words
}

#[test]
fn a_kernel_node_names_the_host_function() {
    let _serial = serial();
    let kernel = Binary::register().kernel("node");
    let mut parameters = kernel_node(kernel);
    let mut node = 0_usize;
    let log = logged(|| {
        assert_eq!(cudaGraphAddKernelNode(at(&mut node), 5, 0, 0, at(&mut parameters)), 0);
    });
    assert_eq!(log.last().map(String::as_str), Some("kernel node node after 0"));
    assert_eq!(node, 1);
    let mut back = [0_u32; 14];
    assert_eq!(cudaGraphKernelNodeGetParams(node, at(&mut back)), 0);
    assert_eq!(back, parameters);
    parameters[5] = 2000;
    assert_eq!(cudaGraphAddKernelNode(at(&mut node), 5, 0, 0, at(&mut parameters)), 9);
    let mut unknown = kernel_node(0x7777);
    assert_eq!(cudaGraphAddKernelNode(at(&mut node), 5, 0, 0, at(&mut unknown)), 98);
    let code = cudaGraphAddKernelNode(at(&mut node), 5, 0, 2, at(&mut parameters));
    assert_eq!(code, 1, "two dependencies at null");
    assert_eq!(cudaGetLastError(), 1);
}

#[test]
fn a_copy_node_comes_back_as_it_was() {
    let _serial = serial();
    let mut channel = [32, 0, 0, 0, 2];
    let (mut array, mut node) = (0_usize, 0_usize);
    assert_eq!(cudaMallocArray(at(&mut array), at(&mut channel), 16, 8, 0), 0);
    // `cudaMemcpy3DParms`: from memory with a pitch of 64 to elements 2 to 4 of an array's rows.
    let mut copy = [0_usize; 20];
    copy[4..8].copy_from_slice(&[1 << 20, 64, 64, 8]);
    copy[8..10].copy_from_slice(&[array, 2]);
    copy[16..20].copy_from_slice(&[3, 8, 1, 1]);
    assert_eq!(cudaGraphAddMemcpyNode(at(&mut node), 5, 0, 0, at(&mut copy)), 0);
    let mut back = [0_usize; 20];
    assert_eq!(cudaGraphMemcpyNodeGetParams(node, at(&mut back)), 0);
    // The kind is 32 bits.
    back[19] &= 0xffff_ffff;
    assert_eq!(back, copy);
}

#[test]
fn a_copy_to_a_symbol_stays_inside() {
    let _serial = serial();
    let symbol = Binary::register().variable("node_symbol", 64);
    let mut node = 0_usize;
    let mut add = |bytes, offset| {
        let from = at(&mut [0_u8; 64]);
        cudaGraphAddMemcpyNodeToSymbol(at(&mut node), 5, 0, 0, symbol, from, bytes, offset, 1)
    };
    assert_eq!(add(64, 0), 0);
    assert_eq!(add(64, 4), 1);
    assert_eq!(cudaGetLastError(), 1);
}

#[test]
fn a_node_of_any_kind_goes_to_its_own_call() {
    let _serial = serial();
    let kernel = Binary::register().kernel("any");
    let mut node = 0_usize;
    // `cudaGraphNodeParams`: kind, reserve, then the parameters.
    let mut words = [0_u32; 64];
    words[4..18].copy_from_slice(&kernel_node(kernel));
    let mut dependencies = [1_usize, 2];
    let mut add = |words: &mut [u32; 64], edges| {
        let after = at(&mut dependencies);
        cudaGraphAddNode_v2(at(&mut node), 5, after, edges, 2, at(words))
    };
    let log = logged(|| assert_eq!(add(&mut words, 0), 0));
    assert_eq!(log.last().map(String::as_str), Some("kernel node any after 2"));
    words[0] = 5;
    let mut edges = [0_u64; 2];
    let log = logged(|| assert_eq!(add(&mut words, at(&mut edges)), 0));
    assert_eq!(log, ["empty node after 2"]);
    edges[1] = 1;
    assert_eq!(add(&mut words, at(&mut edges)), 801, "an edge that is more than a dependency");
    words[0] = 13;
    assert_eq!(add(&mut words, 0), 801, "a conditional node");
    assert_eq!(cudaGetLastError(), 801);
}

#[test]
fn versions_instantiate_and_update_in_their_ways() {
    let _serial = serial();
    let (mut executable, mut failed) = (0_usize, 5_usize);
    let mut text = [1_u8; 4];
    let log = logged(|| {
        let place = at(&mut executable);
        let (node, text) = (Out::at(at(&mut failed)), Out::at(at(&mut text)));
        assert_eq!(instantiate_11(Out::at(place), 7, node, text, 4), Ok(()));
        assert_eq!(cudaGraphInstantiate(place, 7, 1), 0);
    });
    assert_eq!(log, ["instantiate 7 0", "instantiate 7 1"]);
    assert_eq!((executable, failed, text), (9, 0, [0, 1, 1, 1]));
    let mut result = -1;
    let updated = update_11(9, 7, Out::at(at(&mut failed)), Out::at(at(&mut result)));
    assert_eq!((updated.map_err(|error| error.0), failed, result), (Err(910), 77, 4));
    let mut info = [0_u64; 3];
    assert_eq!(cudaGraphExecUpdate(9, 7, at(&mut info)), 910);
    assert_eq!(info[1..], [77, 78]);
    cudaGetLastError();
}
