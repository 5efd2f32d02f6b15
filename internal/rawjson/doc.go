// Package rawjson reads and writes JSON as bytes, without a tree and without
// reflection.
//
// Bytes from outside are checked once, by [Check], [CheckMembers] or [Scan].
// What was checked can then be read as often as needed with [Object], [Array],
// [Lookup] and [String], which skip rather than check, report no errors and
// give slices of the bytes they were given. On bytes that were never checked
// these readers still end and never panic, but what they find means nothing.
//
// Strict means: UTF-8 is valid everywhere, no control character stands raw in
// a string, only the escapes of RFC 8259 occur and no \u escape is half of a
// surrogate pair, numbers follow the grammar, no name stands twice in one
// object however it is written, at most [MaxDepth] objects and arrays are open
// at once, and nothing but white space follows the value. Offsets are kept in
// 32 bits, so more than 2 GiB are refused.
package rawjson
