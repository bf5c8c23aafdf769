"""Files whose numbers are replaced one at a time, with checksums and lengths around them made right again.

`Places` of a file are its numbers: where they are, how they are encoded. `damaged` replaces one or two of them by
numbers that readers trip over: 0, 1, -1, ends of ranges, the old value and the file's sizes and offsets give or take
one.
"""

import binascii
import gzip
import io
import lzma
import re
import struct
import tarfile
import zlib

MOST = (1 << 64) - 1


def hostile(old, sizes, r):
    """A number for the place of `old` in a file in which `sizes` are lengths and offsets."""
    kind = r.randrange(4)
    if kind == 0:
        return r.choice([0, 1, MOST, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 1 << 16, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 40, 1 << 56,
                         (1 << 63) - 1, 1 << 63, MOST - 7])
    if kind == 1:
        return max(0, old + r.choice([-1, 1, -2, 2, 4, 8, 16, -8, 64]))
    if kind == 2:
        return r.choice([old * 2, old // 2, old << 8, old << 16, old << 32, old ^ MOST, old | 1 << 31, old ^ 1 << r.randrange(64)]) & MOST
    return max(0, r.choice(sizes) + r.choice([-1, 0, 0, 1]))


# ---------------------------------------------------------------- numbers at fixed places


def set_fixed(data, place, value):
    at, size = place
    data[at:at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def replaced(data, places, sizes, r):
    """`data` with one or two of its numbers of fixed size replaced."""
    data = bytearray(data)
    for place in r.sample(places, min(len(places), r.choice([1, 1, 1, 2]))):
        set_fixed(data, place, hostile(int.from_bytes(data[place[0]:sum(place)], "little"), sizes, r))
    return data


def layout(at, sizes):
    """Places of `sizes`, one after the other."""
    places = []
    for size in sizes:
        places.append((at, size))
        at += size
    return places


def table(start, bytes_, entry, sizes):
    """Places of the entries of a table."""
    return [place for at in range(start, start + bytes_ - entry + 1, entry) for place in layout(at, sizes)]


ELF_HEADER = [1] * 9 + [7] + [2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2]
SECTION = [4, 4, 8, 8, 8, 8, 4, 4, 8, 8]
SYMBOL = [4, 1, 1, 2, 8, 8]


def elf_groups(data):
    """Places of an ELF file by what they are in; lengths and offsets in it."""
    groups, sizes = {"header": layout(0, ELF_HEADER)}, [len(data)]
    (start,), (entry, count) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 58)
    groups["sections"] = table(start, entry * count, entry, SECTION)
    names = struct.unpack_from("<H", data, 62)[0]
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, start + entry * index) for index in range(count)]
    sizes += [number for head in heads for number in (head[4], head[5], head[4] + head[5], head[6], head[7])]
    for head in heads:
        at, length, entry_bytes = head[4], head[5], head[9]
        name = data[heads[names][4] + head[0]:].split(b"\0")[0].decode()
        if head[1] in (0, 8) or not length:
            continue
        if head[1] == 2:
            groups["symbols"] = table(at, length, 24, SYMBOL)
        elif head[1] in (4, 9):
            groups.setdefault("relocations", []).extend(table(at, length, entry_bytes, [8, 4, 4] + ([8] if head[1] == 4 else [])))
        elif name.startswith(".nv.info"):
            groups.setdefault("attributes", []).extend(attributes(data, at, at + length))
        elif "debug_line" in name:
            # The head of the line program, then its bytes.
            groups.setdefault("line tables", []).extend(layout(at, [4, 2, 4, 1, 1, 1, 1, 1]) + table(at, length, 1, [1]))
        elif name.startswith((".nv.", ".rel", ".debug")):
            groups.setdefault("tables", []).extend(table(at, length - length % 4, 4, [4]))
    return groups, sizes


def attributes(data, at, end):
    places = []
    while at + 4 <= end:
        form, _, number = struct.unpack_from("<BBH", data, at)
        places += layout(at, [1, 1, 2])
        size = number if form == 4 else 0
        for where in range(at + 4, at + 4 + size - 1, 2):
            places += [(where, 2)] + ([(where, 4)] if where % 4 == 0 else [])
        at += 4 + size
    return places


def elf(data, r):
    """An ELF file of which a number is another: each part of it as often as the others."""
    groups, sizes = elf_groups(data)
    return bytes(replaced(data, r.choice(list(groups.values())), sizes, r))


FATBIN, ENTRY = [4, 2, 2, 8], [2, 2, 4, 8, 4, 4, 4, 4, 4, 4, 8, 8, 8]


def fatbin_places(data):
    """Places of the heads of containers and entries, and where the entries' contents are."""
    places, contents, at = [], [], 0
    while at + 16 <= len(data):
        if struct.unpack_from("<I", data, at)[0] != 0xBA55ED50:
            at += 8
            continue
        places += layout(at, FATBIN)
        head, length = struct.unpack_from("<H", data, at + 6)[0], struct.unpack_from("<Q", data, at + 8)[0]
        at, end = at + head, at + head + length
        while at + 64 <= end:
            places += layout(at, ENTRY)
            head, length = struct.unpack_from("<IQ", data, at + 4)
            contents.append((at + head, length))
            at += head + length
        at = end
    return places, contents


def fatbin(data, r):
    places, contents = fatbin_places(data)
    if r.randrange(3):
        sizes = [len(data)] + [number for start, length in contents for number in (start, length, start + length)]
        return bytes(replaced(data, places, sizes, r))
    start, length = r.choice(contents)
    inner = data[start:start + length]
    if inner.startswith(b"\x7fELF"):
        return data[:start] + elf(inner, r) + data[start + length:]
    # Compressed: a byte of it.
    return bytes(replaced(data, [(start + r.randrange(length), 1)], [length], r))


# ---------------------------------------------------------------- numbers of seven bits to a byte


def number_at(data, at):
    """The number that begins at `at`, and where it ends."""
    value, shift = 0, 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            break
    return value, at


def numbered(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def renumbered(data, r, first=0):
    """`data` with one or two of its numbers replaced. Any byte after one below 0x80 may begin one; a reader that
    expects a byte there gets one all the same."""
    data = bytes(data)
    for _ in range(r.choice([1, 1, 1, 2])):
        if len(data) <= first:
            break
        at = r.randrange(first, len(data))
        while at > first and data[at - 1] >= 0x80:
            at -= 1
        old, end = number_at(data, at)
        data = data[:at] + numbered(hostile(old, [len(data), at, 32, 1024], r)) + data[end:]
    return data


class OwnTrace:
    """A file of our own trace format, taken apart: unpacked blocks, and the table of contents up to the blocks."""

    def __init__(self, data):
        self.head, tail = data[:16], data[-32:]
        self.tail = tail
        self.footer_at, stored, unpacked, _, _ = struct.unpack_from("<QIIII", tail)
        self.footer = self.unpack(data[self.footer_at:self.footer_at + stored], unpacked)
        self.data = data

    @staticmethod
    def unpack(stored, unpacked):
        return stored if len(stored) == unpacked else zlib.decompress(stored, -15)

    def with_footer(self, footer, r, tail=False, before=None):
        packed = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packed.compress(footer) + packed.flush()
        packed = packed if len(packed) < len(footer) else footer
        before = self.data[:self.footer_at] if before is None else before
        end = bytearray(struct.pack("<QIIII", len(before), len(packed), len(footer), binascii.crc32(packed), 0) + self.tail[24:])
        if tail:
            end = replaced(end, layout(0, [8, 4, 4, 4, 4, 8]), [len(self.data), len(footer), len(packed)], r)
        return before + packed + bytes(end)


def own_trace(data, r):
    trace = OwnTrace(data)
    kind = r.randrange(10)
    if kind == 0:
        return bytes(replaced(trace.data, layout(0, [8, 2, 6]), [len(data)], r))
    if kind == 1:
        return trace.with_footer(trace.footer, r, tail=True)
    if kind < 7:
        return trace.with_footer(renumbered(trace.footer, r), r)
    # A CTA's bytes: in the only block of a small file. Its row in the table is found by its checksum.
    block = trace.data[16:trace.footer_at]
    row = trace.footer.index(binascii.crc32(block).to_bytes(4, "little"))
    start = row
    numbers = []
    for _ in range(2):
        start -= 1
        while start > 0 and trace.footer[start - 1] >= 0x80:
            start -= 1
        numbers.insert(0, number_at(trace.footer, start)[0])
    stored, unpacked = numbers
    assert stored == len(block), "a seed of one block"
    contents = bytearray(trace.unpack(block, unpacked))
    # The number of bytes stays, so that the table of contents does.
    for _ in range(r.choice([1, 1, 2, 4])):
        at = r.randrange(len(contents))
        contents[at] = r.choice([0, 1, 0x7F, 0x80, 0xFF, contents[at] ^ 1 << r.randrange(8), r.randrange(256)])
    new = bytes(contents)
    footer = trace.footer[:start] + numbered(len(new)) + numbered(len(new)) + binascii.crc32(new).to_bytes(4, "little") + trace.footer[row + 4:]
    return trace.with_footer(footer, r, before=trace.data[:16] + new)


# ---------------------------------------------------------------- checkpoints

CHECKPOINT, CHECKPOINT_HEAD, CHECKPOINT_BLOCK = b"warpwright checkpoint\n", 34, 4 << 20


def lz4(data, size):
    """A block of LZ4, unpacked."""
    out, at = bytearray(), 0
    while at < len(data):
        token = data[at]
        at += 1

        def length(of, at):
            if of == 15:
                while True:
                    of += data[at]
                    at += 1
                    if data[at - 1] != 255:
                        break
            return of, at

        literals, at = length(token >> 4, at)
        out += data[at:at + literals]
        at += literals
        if at >= len(data):
            break
        back = data[at] | data[at + 1] << 8
        copied, at = length(token & 15, at + 2)
        copied += 4
        start = len(out) - back
        if back >= copied:
            out += out[start:start + copied]
        else:
            piece = bytes(out[start:])
            out += (piece * (copied // back + 1))[:copied]
    assert len(out) == size
    return bytes(out)


def stored_lz4(data):
    """`data` as a block of LZ4 that is one run of literals."""
    rest = len(data) - 15
    if rest < 0:
        return bytes([len(data) << 4]) + data
    return bytes([0xF0]) + b"\xff" * (rest // 255) + bytes([rest % 255]) + data


def checkpoint_contents(file):
    at, length, out = CHECKPOINT_HEAD + 8, struct.unpack_from("<Q", file, CHECKPOINT_HEAD)[0], b""
    while len(out) < length:
        packed = struct.unpack_from("<I", file, at)[0]
        out += lz4(file[at + 4:at + 4 + packed], min(CHECKPOINT_BLOCK, length - len(out)))
        at += 4 + packed
    return out


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & MOST
    return value


def checkpoint_file(contents, r, damage_head=False):
    body = bytearray(len(contents).to_bytes(8, "little"))
    for start in range(0, len(contents), CHECKPOINT_BLOCK):
        block = stored_lz4(contents[start:start + CHECKPOINT_BLOCK])
        body += len(block).to_bytes(4, "little") + block
    if damage_head:
        body = replaced(body, layout(0, [8, 4, 1, 1]), [len(body)], r)
    return CHECKPOINT + (1).to_bytes(4, "little") + fnv(body).to_bytes(8, "little") + bytes(body)


def checkpoint(file, r, of_machine):
    """A checkpoint with a right checksum: numbers of its head, of the sections, or only of the machine's state."""
    contents = checkpoint_contents(file)
    if not of_machine and r.randrange(8) == 0:
        return checkpoint_file(contents, r, damage_head=True)
    # The machine is the last section, as bytes with a length; those before it are short.
    return checkpoint_file(renumbered(contents, r, 0 if not of_machine else len(contents) // 4), r)


# ---------------------------------------------------------------- text


def text(data, r):
    """Any number of a text, decimal or hexadecimal, replaced."""
    source = data.decode("latin-1")
    for _ in range(r.choice([1, 1, 1, 2])):
        spots = list(re.finditer(r"(?<![A-Za-z_.])(-?0x[0-9a-fA-F]+|-?\d+|\b[0-9a-f]{4,8}\b)", source))
        # Each line as often as the others: a header has few numbers, and a trace many.
        by_line = {}
        for spot in spots:
            by_line.setdefault(re.sub(r"\d+", "N", source[source.rfind("\n", 0, spot.start()) + 1:spot.start()])[:24], []).append(spot)
        spot = r.choice(r.choice(list(by_line.values())))
        word = spot.group()
        base = 16 if "x" in word or re.search("[a-f]", word) or (len(word) in (4, 8) and word[0] in "0f") else 10
        value = hostile(abs(int(word, base)), [len(data), 32, 1024], r)
        value = -value if r.randrange(8) == 0 else value
        shown = str(value) if base == 10 else f"{'0x' if 'x' in word else ''}{value:x}"
        source = source[:spot.start()] + shown + source[spot.end():]
    return source.encode("latin-1")


# ---------------------------------------------------------------- compressed files and archives


def gz(data, r):
    """A gzip file with each optional part, with wrong numbers in it, and several members."""
    flags = r.randrange(64)
    body = zlib.compressobj(r.randrange(10), zlib.DEFLATED, -15)
    body = body.compress(data) + body.flush()
    head = bytearray(b"\x1f\x8b\x08" + bytes([flags]) + bytes(6))
    if flags & 4:
        length = r.choice([0, 1, 5, 65535])
        head += length.to_bytes(2, "little") + bytes(r.choice([length, length, 3]))
    for bit in (8, 16):
        if flags & bit:
            head += b"n" * r.choice([0, 10, 100_000]) + r.choice([b"\0", b"\0", b""])
    if flags & 2:
        head += r.choice([(binascii.crc32(head) & 0xFFFF).to_bytes(2, "little"), b"\0\0"])
    member = bytes(head) + body + struct.pack("<II", binascii.crc32(data), len(data))
    if r.randrange(2):
        member = bytes(replaced(member, layout(0, [2, 1, 1, 4, 1, 1]) + layout(len(member) - 8, [4, 4]), [len(data), len(member)], r))
    return member + r.choice([b"", b"", gzip.compress(b"") * r.choice([1, 2000]), bytes(r.randrange(9)), b"\x1f\x8b", member])


def xz(data, r):
    """An xz file with each check and filter, whose numbers are replaced under right checksums; several streams."""
    filters = []
    for _ in range(r.randrange(3)):
        filters.append(r.choice([{"id": lzma.FILTER_DELTA, "dist": r.choice([1, 4, 256])}, {"id": lzma.FILTER_X86}, {"id": lzma.FILTER_ARM},
                                 {"id": lzma.FILTER_ARMTHUMB}, {"id": lzma.FILTER_POWERPC}, {"id": lzma.FILTER_SPARC}, {"id": lzma.FILTER_IA64}]))
    filters.append({"id": lzma.FILTER_LZMA2, "preset": r.randrange(10), "dict_size": r.choice([4096, 1 << 16, 1 << 20, 1 << 26])})
    check = r.choice([lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256])
    stream = bytearray(lzma.compress(data, lzma.FORMAT_XZ, check, filters=filters))
    where = r.randrange(5)
    backward = (struct.unpack_from("<I", stream, len(stream) - 8)[0] + 1) * 4
    index = len(stream) - 12 - backward
    if where == 0:
        set_fixed(stream, (7, 1), r.randrange(256))
        set_fixed(stream, (8, 4), binascii.crc32(stream[6:8]))
    elif where == 1:
        size = (stream[12] + 1) * 4
        head = bytearray(renumbered(stream[12:12 + size - 4], r, 1))[:size - 4].ljust(size - 4, b"\0")
        if r.randrange(4) == 0:
            head[1] |= r.choice([0x40, 0x80, 0xC0, 0x3C, 3])
        stream[12:12 + size] = head + binascii.crc32(head).to_bytes(4, "little")
    elif where == 2:
        content = bytearray(renumbered(stream[index:index + backward - 4], r, 1))
        content += bytes(-len(content) % 4)
        foot = bytearray((len(content) // 4).to_bytes(4, "little") + stream[-4:-2])
        stream[index:] = content + binascii.crc32(content).to_bytes(4, "little") + binascii.crc32(foot).to_bytes(4, "little") + foot + b"YZ"
    elif where == 3:
        set_fixed(stream, (len(stream) - 8, 4), hostile(backward // 4, [len(stream)], r))
        set_fixed(stream, (len(stream) - 12, 4), binascii.crc32(stream[-8:-2]))
    else:
        stream = replaced(stream, [(r.randrange(12, len(stream)), 1)], [255], r)
    more = r.choice([b"", b"", lzma.compress(b"") * r.choice([1, 2000]), bytes(stream)])
    return bytes(stream) + more + bytes(r.choice([0, 0, 4, 3, 8]))


def zstd(data, r):
    """Frames of raw and repeated blocks, one of whose heads has a number that is wrong; skippable frames before them."""
    def frame(content, wrong=None):
        flags = r.randrange(256) if wrong == "flags" else r.choice([0x20, 0x60, 0xA0, 0xE0, 0])
        head = bytearray(struct.pack("<IB", 0xFD2FB528, flags))
        if not flags & 0x20:
            head.append(r.choice([0, 0x88, 0xFF, r.randrange(256)]) if wrong == "window" else 0x58)
        head += r.choice([bytes(4), b"\xff" * 4])[:[0, 1, 2, 4][flags & 3]]
        sized = [1 if flags & 0x20 else 0, 2, 4, 8][flags >> 6]
        said = len(content) - (256 if sized == 2 else 0)
        said = r.choice([0, MOST, said + 1, 1 << 40]) if wrong == "size" else said
        head += (said & ((1 << 8 * sized) - 1)).to_bytes(sized, "little") if sized else b""
        if wrong == "blocks":
            for _ in range(r.choice([1, 40])):
                head += (1 << 1 | r.choice([0, 1, 80, 128 << 10, (1 << 21) - 1]) << 3).to_bytes(3, "little") + b"\n"
        kind = r.choice([1, 2, 3]) if wrong == "kind" else 0
        length = r.choice([0, (1 << 21) - 1, len(content) + 1, len(content) - 1]) & ((1 << 21) - 1) if wrong == "length" else len(content)
        return bytes(head) + (1 | kind << 1 | length << 3).to_bytes(3, "little") + content + (bytes(4) if flags & 4 else b"")

    out = b""
    cut = r.randrange(len(data)) if r.randrange(2) else len(data)
    wrong = r.choice(["flags", "window", "size", "blocks", "kind", "length", "skipped", "none"])
    for _ in range(r.choice([0, 1, 20])):
        length = r.choice([0, 1, 16, 0xFFFFFFFF, 1 << 31]) if wrong == "skipped" else 16
        out += struct.pack("<II", 0x184D2A50 + r.randrange(16), length) + bytes(16)
    return out + frame(data[:cut], wrong) + (frame(data[cut:]) if cut < len(data) else b"")


def tar(data, r):
    """An archive of the trace, in which the head of an entry has other numbers, another type or another name."""
    out = io.BytesIO()
    archive = tarfile.open(fileobj=out, mode="w", format=r.choice([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
    for name, content in [("run/kernelslist.g", b"kernel-1.traceg\n"), ("run/kernel-1.traceg", data)]:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        if archive.format == tarfile.PAX_FORMAT and r.randrange(2):
            info.pax_headers = {r.choice(["path", "size", "linkpath", "GNU.sparse.realsize", "GNU.sparse.major", "mtime", "hdrcharset"]):
                                r.choice(["0", "-1", "18446744073709551615", "x" * 5000, "../out", "run/a", "1e400"])}
        archive.addfile(info, io.BytesIO(content))
    archive.close()
    image = bytearray(out.getvalue())
    heads = [at for at in range(0, len(image) - 512, 512) if image[at + 257:at + 262] == b"ustar"]
    at = r.choice(heads)
    field, length = r.choice([(100, 8), (108, 8), (116, 8), (124, 12), (124, 12), (124, 12), (136, 12), (156, 1), (156, 1), (329, 8), (337, 8), (0, 100), (345, 155)])
    if length == 1:
        image[at + 156] = r.choice(b"0123456789gxLKSMDVNA\0\xff")
    elif length > 12:
        image[at + field:at + field + length] = r.choice([b"../out", b"/tmp/out", b"a/" * 40, b"", b"run", b"\xff\xfe", b"run/../../out", b"x" * length]).ljust(length, b"\0")
    else:
        octal = b"%o" % (hostile(len(data), [len(image), 512], r) & (1 << 3 * (length - 1)) - 1)
        binary = b"\x80" + (hostile(len(data), [len(image)], r)).to_bytes(8, "big").rjust(length - 1, b"\0")[-(length - 1):]
        image[at + field:at + field + length] = r.choice([octal.rjust(length - 1, b"0") + b"\0", binary, b"\xff" * length, b" " * length, b"-" + octal[:length - 2].ljust(length - 1, b"0")])[:length]
    image[at + 148:at + 156] = b" " * 8
    image[at + 148:at + 156] = b"%06o\0 " % sum(image[at:at + 512])
    packed = bytes(image) if r.randrange(4) else bytes(image)[:r.randrange(len(image))]
    return r.choice([packed, gzip.compress(packed, 1), lzma.compress(packed, preset=0)])
