package mcp

import (
	"encoding/json"
	"slices"
)

// This file holds the logging feature, which the 2026 revision deprecates.

// A LogLevel is how severe a log line is. Empty means that none are wanted.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use stderr or OpenTelemetry instead.
type LogLevel string

// The log levels, from the least to the most severe.
const (
	LogDebug     LogLevel = "debug"
	LogInfo      LogLevel = "info"
	LogNotice    LogLevel = "notice"
	LogWarning   LogLevel = "warning"
	LogError     LogLevel = "error"
	LogCritical  LogLevel = "critical"
	LogAlert     LogLevel = "alert"
	LogEmergency LogLevel = "emergency"
)

var logLevels = []LogLevel{LogDebug, LogInfo, LogNotice, LogWarning, LogError, LogCritical, LogAlert, LogEmergency}

// ParseLogLevel reads a level that came from outside. The error is an
// [*Error] that lists the levels there are.
func ParseLogLevel(s string) (LogLevel, error) {
	if slices.Contains(logLevels, LogLevel(s)) {
		return LogLevel(s), nil
	}
	return "", InvalidParams("%q is not a log level: use one of %v", clip(s), logLevels)
}

// AtLeast reports whether a line of level l reaches somebody who wants lines
// from level least on. It is false when either is not a level.
func (l LogLevel) AtLeast(least LogLevel) bool {
	have, want := slices.Index(logLevels, l), slices.Index(logLevels, least)
	return want >= 0 && have >= want
}

// A LogMessage is the parameters of a [NotificationMessage].
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use stderr or OpenTelemetry instead.
type LogMessage struct {
	Level LogLevel `json:"level"`
	// Logger names where the line comes from; empty means nothing is said.
	Logger string `json:"logger,omitzero"`
	// Data is any JSON value, often a string or an object.
	Data json.RawMessage `json:"data"`
}
