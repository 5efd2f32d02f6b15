// Package models holds the wires of app/llm against the official SDKs of the
// providers, which are in nobody's binary: this is a module of its own.
//
// Three things are compared. The SDKs, as clients of our local provider
// (app/llm/llmtest), must understand what it sends: it speaks the real format.
// The SDKs and our wires must find the same answer in the same recorded
// streams. And what our wires send must be what the SDKs would send: decoded
// into their types and encoded again, nothing is lost.
package models
