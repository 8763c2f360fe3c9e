package spec3

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipLevel is klauspost's level 5. On Kubernetes' api/v1 it takes a third of the
// time of the standard library's level 6 and gives 9 % more bytes; level 6 takes a
// fifth longer for 2 % less.
const gzipLevel = 5

// largestPooled is the buffer size beyond which a deflater is not kept.
const largestPooled = 4 << 20

// Gzip returns data compressed as one gzip member (RFC 1952) without name or
// time, in memory of exactly its size. Equal data gives equal bytes in every
// process of one build.
func Gzip(data []byte) ([]byte, error) {
	c, err := NewChunk(data)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return JoinChunks(c), nil
}

// Gunzip returns what was given to [Gzip]; size is its length in bytes.
func Gunzip(compressed []byte, size int) ([]byte, error) {
	gz, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("gunzip: %w", err)
	}
	out := make([]byte, size)
	if _, err := io.ReadFull(gz, out); err != nil {
		return nil, fmt.Errorf("gunzip: %w", err)
	}
	return out, nil
}
