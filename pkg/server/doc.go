// Package server puts the parts together: sources that feed a store, a handler
// over its snapshots, and what a server needs beside them, such as health,
// metrics, logs, limits and an orderly end.
//
// Configuration goes in steps: [Options], [Options.Validate], [New], [Server.Run].
package server
