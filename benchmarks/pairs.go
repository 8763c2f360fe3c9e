package main

import "slices"

// pairs are the results of rounds in which both sides ran.
type pairs struct{ a, b, quotients []float64 }

func (p *pairs) add(ours, peer float64) {
	p.a = append(p.a, ours)
	p.b = append(p.b, peer)
	p.quotients = append(p.quotients, ours/peer)
}

func (p *pairs) ours() float64  { return median(p.a) }
func (p *pairs) peers() float64 { return median(p.b) }
func (p *pairs) ratio() float64 { return median(p.quotients) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
