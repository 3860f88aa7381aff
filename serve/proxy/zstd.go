package proxy

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

// openZstd returns a reader of a compressed body of at most a number of bytes.
//
// Go has a decoder of zstd, but no package for it: debug/elf reads compressed sections. So the body
// becomes the only section of an ELF file. Other decoders in Go allocate tables in each start of
// starhost, which no hook needs. The decoder holds at most 8 MiB, as RFC 8878 wants for HTTP.
func openZstd(body []byte, most int64) (io.Reader, error) {
	const headerSize, sectionSize, names = 64, 64, 1
	var file bytes.Buffer
	write := func(parts ...any) {
		for _, part := range parts {
			_ = binary.Write(&file, binary.LittleEndian, part) // a write to a bytes.Buffer cannot fail
		}
	}
	packed := elf.Chdr64{Type: uint32(elf.COMPRESS_ZSTD), Size: uint64(most) + 1, Addralign: 1}
	size := uint64(binary.Size(packed) + len(body))
	header := elf.Header64{
		Type: uint16(elf.ET_REL), Version: uint32(elf.EV_CURRENT), Shoff: headerSize + names + size,
		Ehsize: headerSize, Shentsize: sectionSize, Shnum: 3, Shstrndx: 1,
	}
	copy(header.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}))
	section := elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_COMPRESSED)}
	section.Off, section.Size = headerSize+names, size
	strings := elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: headerSize, Size: names}
	write(header, []byte{0}, packed, body, elf.Section64{}, strings, section)
	f, err := elf.NewFile(bytes.NewReader(file.Bytes()))
	if err != nil {
		return nil, err
	}
	return f.Sections[2].Open(), nil
}
