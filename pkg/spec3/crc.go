package spec3

import "hash/crc32"

// The CRC-32 of joined texts, from those of the texts: gzip wants the sum of all it
// holds, and pieces are compressed long before they are joined. The method is that
// of zlib's crc32_combine_op: a CRC is a polynomial modulo P over GF(2), and a text
// behind another one multiplies the first one's by x to the number of its bits.

// multiply multiplies two polynomials modulo P, in reflected order.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1) << 31; bit != 0 && a != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			a &^= bit
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// squares[k] is x to the power of 2^k.
var squares = func() (table [32]uint32) {
	power := uint32(1) << 30 // x
	for k := range table {
		table[k] = power
		power = multiply(power, power)
	}
	return table
}()

// shift returns the factor by which a text of n bytes moves the CRC in front of it.
func shift(n int) uint32 {
	factor := uint32(1) << 31 // 1
	// x to the power of 8n; the powers of squares repeat after 31.
	for k, bits := 3, uint64(n); bits != 0; k, bits = k+1, bits>>1 {
		if bits&1 != 0 {
			factor = multiply(squares[k%31], factor)
		}
	}
	return factor
}

// joinCRC returns the CRC of a text with another one behind it, given the factor of
// the latter.
func joinCRC(first, second, factor uint32) uint32 { return multiply(factor, first) ^ second }
