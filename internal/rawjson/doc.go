// Package rawjson reads and writes JSON as bytes, without a tree and without
// reflection.
//
// Check data from a peer once, with [Check], [CheckMembers] or [Scan]. Checked
// data can then be read any number of times with [Object], [Array], [Lookup] and
// [String], which do not check, report no errors and return slices of the data.
// On unchecked data these functions terminate and never panic, but their results
// are meaningless.
//
// Strict means: valid UTF-8, no raw control characters in strings, only the
// escapes of RFC 8259 and no unpaired surrogates, valid numbers, no duplicate
// names in an object however they are written, at most [MaxDepth] levels, and
// only white space after the value. Offsets have 32 bits, so data of more than
// 2 GiB is refused.
package rawjson
