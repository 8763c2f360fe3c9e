package spec3

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"weak"

	"github.com/klauspost/compress/flate"
)

// Fragment is a document in pieces, each compressed on its own: the form in which to
// hold one of many parts of a group-version. Composing fragments costs what copying
// their compressed bytes costs. It is immutable.
type Fragment struct {
	// document has units without values but with pieces.
	document Document
}

// piece is a member in the DEFLATE format (RFC 1951): blocks that refer to nothing
// outside, none of them the last, ending on a byte. Pieces that follow each other are
// a stream again.
type piece struct {
	raw      []byte // the name
	deflated []byte
	size     int    // bytes of the text
	crc      uint32 // of the text
	factor   uint32 // see shift
}

// Pieces holds what fragments have in common once, such as the schemas of meta/v1
// that every CRD refers to. The zero value is ready for use, and safe for concurrent
// use. What no fragment holds any more is collected.
type Pieces struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]weak.Pointer[piece]
	// sweep is the size of known at which entries of collected pieces go.
	sweep int
}

// of returns the piece of a unit, from what is known or made. Units of one section,
// name and value have one piece.
func (p *Pieces) of(section string, u *unit) (*piece, error) {
	identity := make([]byte, 0, len(u.sum)+len(section)+1+len(u.raw))
	identity = append(append(append(append(identity, u.sum[:]...), section...), 0), u.raw...)
	key := sha256.Sum256(identity)
	p.mu.Lock()
	known := p.known[key].Value()
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := newPiece(u.raw, u.value)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.known[key].Value(); known != nil {
		return known, nil // somebody was faster
	}
	if len(p.known) >= p.sweep {
		p.sweepLocked()
	}
	p.known[key] = weak.Make(made)
	return made, nil
}

// sweepLocked forgets pieces that were collected. It runs when the map has doubled.
func (p *Pieces) sweepLocked() {
	const fewest = 1024
	if p.known == nil {
		p.known = map[[sha256.Size]byte]weak.Pointer[piece]{}
	}
	for key, w := range p.known {
		if w.Value() == nil {
			delete(p.known, key)
		}
	}
	p.sweep = max(2*len(p.known), fewest)
}

var deflaters = sync.Pool{New: func() any {
	c := new(deflater)
	// The level is a constant that the library knows, so there is no error.
	c.flate, _ = flate.NewWriter(&c.buf, gzipLevel)
	return c
}}

type deflater struct {
	buf   bytes.Buffer
	flate *flate.Writer
}

func newPiece(raw, value []byte) (*piece, error) {
	p, err := deflate(raw, []byte{':'}, value)
	if err != nil {
		return nil, err
	}
	p.raw = bytes.Clone(raw)
	return p, nil
}

// smallest is the size of a text up to which compressing it gains nothing.
const smallest = 40

// deflate makes a piece of texts that follow each other.
func deflate(texts ...[]byte) (*piece, error) {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	if size <= smallest {
		text := bytes.Join(texts, nil)
		return &piece{
			deflated: appendStored(nil, 0, text), size: size,
			crc: crc32.ChecksumIEEE(text), factor: shift(size),
		}, nil
	}
	c := deflaters.Get().(*deflater)
	c.buf.Reset()
	c.flate.Reset(&c.buf)
	p := &piece{}
	for _, text := range texts {
		if _, err := c.flate.Write(text); err != nil {
			return nil, fmt.Errorf("deflate: %w", err)
		}
		p.crc = crc32.Update(p.crc, crc32.IEEETable, text)
		p.size += len(text)
	}
	if err := c.flate.Flush(); err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	p.factor = shift(p.size)
	p.deflated = make([]byte, c.buf.Len())
	copy(p.deflated, c.buf.Bytes())
	if c.buf.Cap() <= largestPooled {
		deflaters.Put(c)
	}
	return p, nil
}

// NewFragment returns the fragment of a document. It does not hold the document.
func NewFragment(d *Document, shared *Pieces) (*Fragment, error) {
	f := &Fragment{document: Document{
		tag:            d.tag,
		pathsName:      bytes.Clone(d.pathsName),
		componentsName: bytes.Clone(d.componentsName),
	}}
	convert := func(section string, u *unit) (unit, error) {
		p, err := shared.of(section, u)
		if err != nil {
			return unit{}, err
		}
		return unit{name: u.name, ascii: u.ascii, raw: p.raw, sum: u.sum, piece: p}, nil
	}
	convertAll := func(section string, units []unit) ([]unit, error) {
		out := make([]unit, 0, len(units))
		for i := range units {
			u, err := convert(section, &units[i])
			if err != nil {
				return nil, err
			}
			out = append(out, u)
		}
		return out, nil
	}
	var err error
	if f.document.root, err = convertAll("", d.root); err != nil {
		return nil, err
	}
	if f.document.paths, err = convertAll(pathsMember, d.paths); err != nil {
		return nil, err
	}
	for i := range d.sections {
		s := section{whole: d.sections[i].whole, unit: unit{name: d.sections[i].name, raw: bytes.Clone(d.sections[i].raw)}}
		if s.whole {
			s.unit, err = convert(componentsMember, &d.sections[i].unit)
		} else {
			s.entries, err = convertAll(s.name, d.sections[i].entries)
		}
		if err != nil {
			return nil, err
		}
		f.document.sections = append(f.document.sections, s)
	}
	f.document.flat = f.document.flatten()
	return f, nil
}

// Tag returns the tag of the document that the fragment was made of.
func (f *Fragment) Tag() string { return f.document.tag }

// FragmentPart is one of the fragments that [Compose] joins.
type FragmentPart struct {
	// Source names where the fragment came from, for a conflict.
	Source   string
	Fragment *Fragment
}

// Composition is a document that was composed of fragments.
type Composition struct {
	// Tag is that of the document, the same as if it had been parsed.
	Tag string
	// Size is the length of its canonical JSON in bytes.
	Size int
	// Gzip is the canonical JSON as one gzip member. Its bytes are a function of the
	// fragments' content.
	Gzip []byte
}

// Compose joins fragments as [Merge] joins documents, without compressing anything
// again.
func Compose(parts ...FragmentPart) (Composition, []*ConflictError) {
	documents := make([]Part, 0, len(parts))
	for i := range parts {
		documents = append(documents, Part{parts[i].Source, &parts[i].Fragment.document})
	}
	merged, conflicts := merge(documents)
	if merged.tag == "" {
		merged.setTag()
	}
	w := gzipJoiner{}
	// Measured first, so that the memory is exactly what is needed.
	merged.walk(w.measureText, func(u *unit) { w.measurePiece(u.piece) })
	w.begin()
	merged.walk(w.text, func(u *unit) { w.piece(u.piece) })
	return Composition{Tag: merged.tag, Size: w.size, Gzip: w.end()}, conflicts
}

// Chunk is a text in compressed form, for [JoinChunks]. It is immutable.
type Chunk struct{ piece *piece }

// NewChunk compresses a text on its own.
func NewChunk(text []byte) (Chunk, error) {
	p, err := deflate(text)
	return Chunk{p}, err
}

// JoinChunks returns one gzip member (RFC 1952) of the texts of chunks, one after the
// other, without compressing anything again.
func JoinChunks(chunks ...Chunk) []byte {
	var w gzipJoiner
	for _, c := range chunks {
		w.measurePiece(c.piece)
	}
	w.begin()
	for _, c := range chunks {
		w.piece(c.piece)
	}
	return w.end()
}

// gzipJoiner writes a gzip member (RFC 1952) of pieces and the text between them.
type gzipJoiner struct {
	out     []byte
	pending []byte // text that is not written yet
	crc     uint32
	size    int

	length, pendingLength int // of what will be written
}

// A stored block (RFC 1951 section 3.2.4) has five bytes in front of its text.
const (
	storedHeader = 5
	storedMost   = 0xFFFF
	gzipFrame    = 10 + storedHeader + 8
)

func (w *gzipJoiner) measureText(text []byte) { w.pendingLength += len(text) }

func (w *gzipJoiner) measurePiece(p *piece) {
	w.length += storedLength(w.pendingLength) + len(p.deflated)
	w.pendingLength = 0
}

func storedLength(n int) int { return n + (n+storedMost-1)/storedMost*storedHeader }

func (w *gzipJoiner) begin() {
	w.length += storedLength(w.pendingLength) + gzipFrame
	w.out = make([]byte, 0, w.length)
	// No name, no time, an operating system that is not known.
	w.out = append(w.out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)
}

func (w *gzipJoiner) text(text []byte) { w.pending = append(w.pending, text...) }

func (w *gzipJoiner) piece(p *piece) {
	w.flush()
	w.out = append(w.out, p.deflated...)
	w.crc = joinCRC(w.crc, p.crc, p.factor)
	w.size += p.size
}

// flush writes the pending text as it is.
func (w *gzipJoiner) flush() {
	w.crc = crc32.Update(w.crc, crc32.IEEETable, w.pending)
	w.size += len(w.pending)
	for text := w.pending; len(text) > 0; {
		n := min(len(text), storedMost)
		w.stored(0, text[:n])
		text = text[n:]
	}
	w.pending = w.pending[:0]
}

func (w *gzipJoiner) stored(last byte, text []byte) { w.out = appendStored(w.out, last, text) }

func appendStored(out []byte, last byte, text []byte) []byte {
	out = append(out, last)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	out = binary.LittleEndian.AppendUint16(out, ^uint16(len(text)))
	return append(out, text...)
}

func (w *gzipJoiner) end() []byte {
	w.flush()
	w.stored(1, nil)
	w.out = binary.LittleEndian.AppendUint32(w.out, w.crc)
	return binary.LittleEndian.AppendUint32(w.out, uint32(w.size))
}
