// Package storetest tests implementations of [cluster.Store].
package storetest
