package mcp

import (
	"encoding/json"
	"slices"
)

// This file holds the logging feature, which the 2026 revision deprecates.

// A LogLevel is the severity of a log message. Empty means that no log messages
// are wanted.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use stderr or OpenTelemetry instead.
type LogLevel string

// The log levels, in increasing severity.
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

// ParseLogLevel validates a log level. The error is an [*Error] that lists the
// valid levels.
func ParseLogLevel(s string) (LogLevel, error) {
	if slices.Contains(logLevels, LogLevel(s)) {
		return LogLevel(s), nil
	}
	return "", InvalidParams("%q is not a log level: use one of %v", clip(s), logLevels)
}

// AtLeast reports whether l is at least as severe as least. It returns false if
// either is not a valid level.
func (l LogLevel) AtLeast(least LogLevel) bool {
	have, want := slices.Index(logLevels, l), slices.Index(logLevels, least)
	return want >= 0 && have >= want
}

// A LogMessage is the parameters of a [NotificationMessage].
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use stderr or OpenTelemetry instead.
type LogMessage struct {
	Level LogLevel `json:"level"`
	// Logger is the name of the logger; empty means unnamed.
	Logger string `json:"logger,omitzero"`
	// Data is any JSON value, often a string or an object.
	Data json.RawMessage `json:"data"`
}
